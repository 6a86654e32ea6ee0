"""What machines ask beside the REST API: metrics, health, and where an alert's link leads.

Nothing here changes anything, so there is nothing to forge: another method is 405, before Django asks for its token.
"""

from __future__ import annotations

import functools
import time

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from dradash.metrics.health import Check, readiness, report
from dradash.metrics.scrape import CONTENT_TYPE, Scraper
from dradash.reader import alertlabels, current
from dradash.reader.departed import look
from dradash.reader.moment import BadMoment, parse_alerts
from dradash.reader.nearest import nearest
from dradash.store.model import StoreUnavailable
from dradash.web.presenters import go as going


@functools.cache
def _scraper() -> Scraper:
    return Scraper(settings.DRADASH.metrics_namespaces)


@csrf_exempt
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view
    return HttpResponse(_scraper().text(current.get()), content_type=CONTENT_TYPE)


# --- health ----------------------------------------------------------------------------------------------------------


@csrf_exempt
@require_safe
def livez(request: HttpRequest, check: str = "") -> HttpResponse:
    """Restart this process when it fails; whether Redis or the workers are well is none of it."""
    alive = current.get().follower.is_alive
    return _report(request, "livez", [Check("follower", alive, "the thread that follows the model has ended")], check)


@csrf_exempt
@require_safe
def readyz(request: HttpRequest, check: str = "") -> HttpResponse:
    here = current.get()
    freshness = here.follower.freshness()
    with here.follower.world() as world:
        sync = dict(world.sync)
    checks = readiness(freshness, sync, time.time(), settings.DRADASH.ready_queue_age)
    return _report(request, "readyz", checks, check)


def _report(request: HttpRequest, name: str, checks: list[Check], only: str) -> HttpResponse:
    if only:
        checks = [c for c in checks if c.name == only]
        if not checks:
            return HttpResponse(f"there is no check of this name in /{name}\n", "text/plain", 404)
    body, status = report(name, checks, request.GET.getlist("exclude"), "verbose" in request.GET)
    response = HttpResponse(body, content_type="text/plain; charset=utf-8", status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


# --- links of alerts -------------------------------------------------------------------------------------------------


@csrf_exempt
@require_safe
def go(request: HttpRequest) -> HttpResponse:
    """To the page of what an alert's labels name, at the alert's time; also when it is gone."""
    asked = alertlabels.understood({name: request.GET[name] for name in request.GET})
    text = request.GET.get(going.AT, "")
    now = time.time()
    try:
        at = parse_alerts(text)
    except BadMoment:
        at = None  # an alert's link must lead somewhere: to now, and the page says why
    here = current.get()
    if asked and here.follower.freshness().state == "loading":
        return _try_again("The model was not read yet: try again.")
    try:
        been = at if at is not None and at < now else None
        found, missing = look(here, asked, been) if asked else ([], [])
        first = found[0] if found else None
        shown = nearest(here, first, been)
    except StoreUnavailable as error:
        return _try_again(f"Looking into the history failed: {error}")
    if first or not asked:
        return HttpResponseRedirect(going.target(first, shown, going.asked_moment(text, at, shown, now)))
    view = going.nowhere(asked, missing)
    return render(request, "go/nowhere.html", {"view": view, "accepted": view.accepted}, status=404)


def _try_again(why: str) -> HttpResponse:
    response = HttpResponse(f"{why}\n", content_type="text/plain; charset=utf-8", status=503)
    response.headers["Retry-After"] = "2"
    return response
