"""Views: thin. A page is rendered from the same blocks that its socket sends."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import URLPattern, get_resolver
from django.utils.decorators import method_decorator
from django.utils.encoding import escape_uri_path
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import View
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dradash.reader import current
from dradash.reader.moment import understand
from dradash.web.auth import SESSION_PROOF, SESSION_USER, proof, token_fits
from dradash.web.carry import carry
from dradash.web.fragments import Fragment, Renderer
from dradash.web.jsonlink import ROOT
from dradash.web.pages.base import AT, WITH, Page, flat
from dradash.web.pages.base import context as context_of
from dradash.web.pages.findings import FINDINGS, ShowsFindings
from dradash.web.pages.overview import OverviewPage
from dradash.web.pages.pods import NodesPage

RENDER_TIMEOUT = 30.0  # seconds
MOMENT = "moment"  # what somebody typed into the form that goes to a time
_PLACE: Final = re.compile(r"<\w+:(\w+)>")  # in a route, for what differs


@method_decorator(csrf_exempt, "dispatch")  # it only reads: another method is 405, and no request a forged one
class PageView(View):
    page: type[Page] = OverviewPage
    http_method_names = ("get", "head", "options")

    def get(self, request: HttpRequest, **where: str) -> HttpResponse:
        if typed := request.GET.get(MOMENT):
            return _go_to(request, {AT: typed})
        asked = {name: request.GET.get(name, "").strip() for name in self.page.typed}
        if any(understand(text, time.time()) != text for text in asked.values()):
            return _go_to(request, asked)
        page = self.page(flat((k, v) for k, values in request.GET.lists() for v in values), **where)
        fragment = current.get().part(Renderer).fragment(page).result(RENDER_TIMEOUT)
        if page.piece and request.headers.get("HX-Target") == page.piece and fragment.status == 200:
            return HttpResponse(fragment.blocks[-1].html)
        if isinstance(page, NodesPage) and request.headers.get("HX-Request") and fragment.status == 200:
            return HttpResponse(page.grid(fragment))
        query = page.query.encoded  # only what the page understands, and cut
        asks = f"{query}{'&' if query else ''}_shape={fragment.shape}&_seen={fragment.seen}"
        context = context_of(page) | {
            "title": fragment.title,
            "blocks": fragment.by_id,
            "live": f"/live{escape_uri_path(request.path)}?{asks}",
            "kept": [(k, v) for k, v in page.query.params if k not in (AT, WITH, "page")],
        }
        if fragment.status in (400, 404):
            context["json_href"] = _json_of_missing(page, fragment)
        if page.fixed and not fragment.unread:
            context["live"] = ""  # what is over does not change: there is nothing to follow
        # Without its own blocks (loading, missing) the page has one block in the middle.
        template = "plain.html" if "page" in context["blocks"] else page.template
        response = render(request, template, context, status=fragment.status)
        if page.carried:
            response.content = carry(response.content.decode(), page.carried).encode()
        if fragment.status == 503:
            response.headers["Retry-After"] = "2"
        return response


def _json_of_missing(page: Page, fragment: Fragment) -> str:
    """There is no resource of what there is not, only the findings that the page shows, if it shows any."""
    told = any(b.id == FINDINGS and b.html.strip() for b in fragment.blocks)
    if not told or not isinstance(page, ShowsFindings) or page.subject is None:
        return ""
    asked = {"about": "/".join(page.subject)} | ({AT: page.query.get(AT)} if page.at is not None else {})
    return f"{ROOT}/findings?{urlencode(asked)}"


def _go_to(request: HttpRequest, typed: Mapping[str, str]) -> HttpResponse:
    """To the same page at the times that were typed, under an address that goes on meaning these times.

    typed: by the name of the parameter; another moment to compare with is forgotten where it is not among them.
    """
    query, now = request.GET.copy(), time.time()
    for name in (MOMENT, AT, WITH):
        query.pop(name, None)
    for name, text in typed.items():
        if text:
            query[name] = understand(text, now)
    return HttpResponseRedirect(f"{escape_uri_path(request.path)}?{query.urlencode()}")


@csrf_exempt
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view
    """For load balancers: one word, no data. 503 until the model was read, and while it cannot be read."""
    state = current.get().follower.freshness().state
    return HttpResponse(f"{state}\n", content_type="text/plain", status=200 if state == "live" else 503)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])  # asked first: a method that there is none of is no forged request
@csrf_protect
def sign_in(request: HttpRequest) -> HttpResponse:
    conf = settings.DRADASH
    after = _local_address(request, request.POST.get("next") or request.GET.get("next") or "/")
    if conf.auth != "token":
        return HttpResponseRedirect(after)
    wrong = False
    if request.method == "POST":
        if token_fits(conf, request.POST.get("token", "").strip()):
            request.session.cycle_key()
            request.session[SESSION_USER] = "token"
            request.session[SESSION_PROOF] = proof(conf)
            return HttpResponseRedirect(after)
        wrong = True
    return render(request, "sign_in.html", {"next": after, "wrong": wrong}, status=401 if wrong else 200)


def _local_address(request: HttpRequest, address: str) -> str:
    """Never send anybody to another site after signing in."""
    local = url_has_allowed_host_and_scheme(address, allowed_hosts={request.get_host()})
    return address if local and not urlsplit(address).path.startswith("/sign-") else "/"


@csrf_exempt
@require_POST
@csrf_protect
def sign_out(request: HttpRequest) -> HttpResponse:
    request.session.flush()
    return HttpResponseRedirect("/sign-in")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - a handler
    return render(request, "404.html", {"path": request.path, "addresses": addresses()}, status=404)


@cache
def addresses() -> tuple[str, ...]:
    """Of the pages of single objects, with words in capitals for what differs: /ns/NAMESPACE/pods/NAME."""
    patterns = [p for p in get_resolver().url_patterns if isinstance(p, URLPattern)]
    routes = [str(p.pattern) for p in patterns if "page" in getattr(p.callback, "view_initkwargs", {})]
    return tuple(f"/{_PLACE.sub(lambda m: m[1].upper(), route)}" for route in routes if _PLACE.search(route))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - a handler
    # Without context processors: they look at the parameters, which may be what was refused.
    return HttpResponse(render_to_string("400.html"), status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {"debug": settings.DEBUG}
    return render(request, "500.html", context, status=500)
