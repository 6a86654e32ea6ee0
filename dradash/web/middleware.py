"""Nobody sees a page before it is known who asks. Static files are for everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware

from dradash.accepts import quality
from dradash.problems import CONTENT_TYPE, NOT_ALLOWED, NOT_SIGNED_IN, Refusal
from dradash.web.auth import Asker, user_of

# Health checks and the sign-in form itself; static files never come here (WhiteNoise answers before).
OPEN: Final = frozenset({"/healthz", "/livez", "/readyz", "/sign-in"})
_OPEN_BELOW: Final = ("/livez/", "/readyz/")
# Programs are told in their own form: a scraper that follows a redirect would take the form for its metrics.
_OF_PROGRAMS: Final = ("/api/", "/metrics")


class HostMiddleware:
    """Refuses every request for a host that is not ours, before anything else looks at it.

    Django checks the host only where something asks for it, which no page does. Without this a site whose name is made
    to resolve to 127.0.0.1 could read the pages of a dradash on the reader's own machine.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.get_host()  # raises DisallowedHost, which Django answers with 400
        return self.get_response(request)


class StaticMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise ships no types
    """WhiteNoise with whole answers: its file iterators would be read in a thread, piece by piece, under ASGI."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponseBase:
        streamed = WhiteNoiseMiddleware.serve(static_file, request)
        try:
            content = b"".join(streamed)
        finally:
            streamed.close()
        response = HttpResponse(content, status=streamed.status_code)
        response.headers = streamed.headers
        return response


class CompressionMiddleware(GZipMiddleware):
    """Django's, which takes `gzip;q=0` for a wish and knows neither `*` nor `GZIP`."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if quality(request.headers.get("Accept-Encoding", ""), "gzip") > 0:
            request.META["HTTP_ACCEPT_ENCODING"] = "gzip"
            return super().process_response(request, response)
        patch_vary_headers(response, ("Accept-Encoding",))
        return response


class AuthMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not _is_open(request.path) and user_of(settings.DRADASH, _asker(request)) is None:
            return _refusal(request)
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(_OPEN_BELOW)


def _problem(by_token: bool) -> HttpResponse:
    if by_token:
        refusal = Refusal(NOT_SIGNED_IN, "send the header Authorization: Bearer <token>")
    else:
        refusal = Refusal(NOT_ALLOWED, "the proxy names no user")
    return HttpResponse(refusal.body, content_type=CONTENT_TYPE, status=refusal.problem.status)


def _asker(request: HttpRequest) -> Asker:
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Asker(headers, str(request.META.get("REMOTE_ADDR", "")), dict(request.session.items()))


def _refusal(request: HttpRequest) -> HttpResponse:
    conf = settings.DRADASH
    if request.path.startswith(_OF_PROGRAMS) and not _is_page_of_api(request):
        return _challenged(_problem(conf.auth == "token"))
    if conf.auth == "token" and request.method == "GET" and "authorization" not in request.headers:
        after = urlencode({"next": request.get_full_path()})
        return HttpResponseRedirect(f"{reverse('sign-in')}?{after}")
    status = 401 if conf.auth == "token" else 403
    context = {"header": conf.auth_proxy_header, "auth": conf.auth}
    return _challenged(render(request, "refused.html", context, status=status))


def _is_page_of_api(request: HttpRequest) -> bool:
    """A browser that opens the page on which the API is tried out; all else below /api/ is for programs."""
    accept = request.headers.get("Accept", "")
    is_named = any(part.partition(";")[0].strip().lower() == "text/html" for part in accept.split(","))
    return request.path == reverse("api") and is_named and quality(accept, "text/html") > 0


def _challenged(response: HttpResponse) -> HttpResponse:
    if response.status_code == NOT_SIGNED_IN.status:
        response.headers["WWW-Authenticate"] = 'Bearer realm="dradash"'
    return response
