"""Every address. A page's socket is its own path behind /live/ (web/routing.py), resolved by this same table."""

from __future__ import annotations

from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import RedirectView

from dradash.web import machines, views
from dradash.web.pages import (
    about,
    bench,
    changes,
    claims,
    classes,
    compare,
    doctor,
    inventory,
    negotiations,
    nodes,
    overview,
    pods,
    search,
)

_API = csrf_exempt(RedirectView.as_view(url="/api/v1/", http_method_names=("get", "head")))

urlpatterns = [
    path("", views.PageView.as_view(page=overview.OverviewPage), name="overview"),
    path("pods", views.PageView.as_view(page=pods.PodsPage), name="pods"),
    path("ns/<str:namespace>/pods/<str:name>", views.PageView.as_view(page=pods.PodPage), name="pod"),
    path("ns/<str:namespace>/pods/<str:name>/nodes", views.PageView.as_view(page=pods.NodesPage), name="pod-nodes"),
    path("claims", views.PageView.as_view(page=claims.ClaimsPage), name="claims"),
    path("ns/<str:namespace>/claims/<str:name>", views.PageView.as_view(page=claims.ClaimPage), name="claim"),
    path("negotiations", views.PageView.as_view(page=negotiations.NegotiationsPage), name="negotiations"),
    path(
        "ns/<str:namespace>/negotiations/<str:name>",
        views.PageView.as_view(page=negotiations.NegotiationPage),
        name="negotiation",
    ),
    path("nodes", views.PageView.as_view(page=nodes.NodeListPage), name="nodes"),
    path("classes", views.PageView.as_view(page=classes.ClassesPage), name="classes"),
    path("classes/<str:name>", views.PageView.as_view(page=classes.ClassPage), name="class"),
    path("deviceclasses", views.PageView.as_view(page=inventory.DeviceClassesPage), name="deviceclasses"),
    path("deviceclasses/<str:name>", views.PageView.as_view(page=inventory.DeviceClassPage), name="deviceclass"),
    path("pools", views.PageView.as_view(page=inventory.PoolsPage), name="pools"),
    path("pools/<str:driver>/<path:pool>", views.PageView.as_view(page=inventory.PoolPage), name="pool"),
    path("slices", views.PageView.as_view(page=inventory.SlicesPage), name="slices"),
    path("slices/<str:name>", views.PageView.as_view(page=inventory.SlicePage), name="slice"),
    path("devices", views.PageView.as_view(page=inventory.DevicesPage), name="devices"),
    path(
        "devices/<str:driver>/<path:pool>/<str:device>",
        views.PageView.as_view(page=inventory.DevicePage),
        name="device",
    ),
    path("selectors", views.PageView.as_view(page=bench.SelectorsPage), name="selectors"),
    path("taints", views.PageView.as_view(page=bench.TaintsPage), name="taints"),
    path("drivers", views.PageView.as_view(page=classes.DriversPage), name="drivers"),
    path("drivers/<str:name>", views.PageView.as_view(page=classes.DriverPage), name="driver"),
    path("nodes/<str:name>", views.PageView.as_view(page=nodes.NodePage), name="node"),
    path("compare", views.PageView.as_view(page=compare.ComparePage), name="compare"),
    path("doctor", views.PageView.as_view(page=doctor.DoctorPage), name="doctor"),
    path("doctor/<str:id>", views.PageView.as_view(page=doctor.FindingPage), name="finding"),
    path("changes", views.PageView.as_view(page=changes.ChangesPage), name="changes"),
    path("about", views.PageView.as_view(page=about.AboutPage), name="about"),
    path("search", views.PageView.as_view(page=search.SearchPage), name="search"),
    path("api/v1", _API, name="api-root"),
    path("api/v1/", include("dradash.api.urls")),
    path("sign-in", views.sign_in, name="sign-in"),
    path("sign-out", views.sign_out, name="sign-out"),
    path("healthz", views.healthz, name="healthz"),
    path("livez", machines.livez, name="livez"),
    path("livez/<str:check>", machines.livez, name="livez-check"),
    path("readyz", machines.readyz, name="readyz"),
    path("readyz/<str:check>", machines.readyz, name="readyz-check"),
    path("metrics", machines.metrics, name="metrics"),
    path("go", machines.go, name="go"),
]

handler400 = "dradash.web.views.bad_request"
handler404 = "dradash.web.views.not_found"
handler500 = "dradash.web.views.server_error"
