"""What machines ask beside the REST API: metrics, health, and where an alert's link leads."""

from __future__ import annotations

import functools
import time
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dradash.metrics.health import Check, readiness, report
from dradash.metrics.scrape import CONTENT_TYPE, Scraper
from dradash.reader import current
from dradash.reader.moment import EXAMPLE, BadMoment, parse, show
from dradash.store.model import StoreUnavailable
from dradash.web.presenters import go as going

AT: Final = "at"


@functools.cache
def _scraper() -> Scraper:
    return Scraper(settings.DRADASH.metrics_namespaces)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view
    return HttpResponse(_scraper().text(current.get()), content_type=CONTENT_TYPE)


# --- health ----------------------------------------------------------------------------------------------------------


@require_safe
def livez(request: HttpRequest, check: str = "") -> HttpResponse:
    """Restart this process when it fails; whether Redis or the workers are well is none of it."""
    alive = current.get().follower.is_alive
    return _report(request, "livez", [Check("follower", alive, "the thread that follows the model has ended")], check)


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


@require_safe
def go(request: HttpRequest) -> HttpResponse:
    """To the page of what an alert's labels name, at the alert's time; also when it is gone."""
    asked = going.understood({name: request.GET[name] for name in request.GET})
    try:
        at = _moment(request.GET.get(AT, ""), time.time())
    except BadMoment as error:
        context = {"problem": f"at: {error}, or Unix seconds or milliseconds.", "accepted": tuple(going.NAMES)}
        return render(request, "go/nowhere.html", context, status=400)
    here = current.get()
    if here.follower.freshness().state == "loading":
        response = HttpResponse("The model was not read yet: try again.\n", content_type="text/plain", status=503)
        response.headers["Retry-After"] = "2"
        return response
    with here.follower.world() as world:
        path = going.target(asked, world, lambda _kind, _key: False)
    if not path:
        with here.follower.world() as world:
            path = going.target(asked, world, _in_history(here))
    if path:
        return HttpResponseRedirect(f"{path}{'&' if '?' in path else '?'}{urlencode({AT: at})}" if at else path)
    with here.follower.world() as world:
        view = going.nowhere(asked, world)
    return render(request, "go/nowhere.html", {"view": view, "accepted": view.accepted}, status=404)


def _in_history(here: current.Current) -> going.Known:
    def known(kind: str, key: str) -> bool:
        try:
            return bool(here.model.history(kind, key, 0.0, float("inf"), 1))
        except StoreUnavailable:
            return False

    return known


def _moment(text: str, now: float) -> str:
    """RFC 3339 or Unix time in seconds or milliseconds, as RFC 3339; "" for now and for what has not come yet."""
    text = text.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        number = float(text)
        number = number / 1000 if number > 1e11 else number
        if number > 1e11:
            raise BadMoment(f"“{text[:40]}” is no time, as in {EXAMPLE}")
        return show(number) if number < now else ""
    if text in ("", "<no value>"):
        return ""
    when = parse(text)
    return show(when) if when is not None and when < now else ""
