"""From a request to an answer: parameters, ETag, JSON or NDJSON, problems. Only here are Django's views known."""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified, StreamingHttpResponse
from django.utils.encoding import escape_uri_path
from django.views.decorators.csrf import csrf_exempt

from dradash.accepts import quality
from dradash.api import watching
from dradash.api.asking import Ask
from dradash.api.endpoint import OF_NOW, OFTEN, Endpoint
from dradash.api.params import NOT_WATCHED, SINCE, Param, read_all
from dradash.api.schemas import Rows
from dradash.problems import BAD_PARAMETER, CONTENT_TYPE, INTERNAL, NOT_FOUND, UNAVAILABLE, WRONG_METHOD, Refusal
from dradash.reader import current
from dradash.reader.current import SETTLED_AFTER
from dradash.store.model import StoreUnavailable

logger = logging.getLogger(__name__)

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
STREAMED: Final = 500  # rows that are read at once while a list is streamed
# Of NDJSON: what the JSON document has beside its rows.
REVISION: Final = "Dradash-Revision"
INSTANCE: Final = "Dradash-Instance"
TOTAL: Final = "Dradash-Total"
TOTAL_EXACT: Final = "Dradash-Total-Exact"
LINK: Final = "Link"
# What findings and the drivers' record say, and when, is each process's own: so are their tags.
_PROCESS: Final = secrets.token_hex(4)
_WITHOUT_MODEL: Final = frozenset({"health", "reasons"})
NEVER_WATCHED: Final = (
    "no cluster has been watched yet, so that nothing can be said of it: is the watch worker running, and may it read "
    "the API server? Try again in a moment"
)

ANY: Final = "*"
_TAG: Final = re.compile(r"""(?:W/)?("[^"]*")""")

_encoder = msgspec.json.Encoder()

View = Callable[..., HttpResponseBase]


def view_of(endpoint: Endpoint) -> View:
    known = endpoint.params

    def view(request: HttpRequest, **where: str) -> HttpResponseBase:
        try:
            return _answer(endpoint, known, request, where)
        except Refusal as refusal:
            return problem(refusal)
        except StoreUnavailable as error:
            return problem(Refusal(UNAVAILABLE, str(error)))
        except Exception:
            logger.exception("%s failed", request.path)
            return problem(Refusal(INTERNAL, "answering failed; the log of dradash says why"))

    return csrf_exempt(view)  # nothing here changes anything: another method is refused by us, with a problem


def problem(refusal: Refusal) -> HttpResponse:
    found = refusal.problem
    response = HttpResponse(refusal.body, content_type=CONTENT_TYPE, status=found.status)
    if found.status == UNAVAILABLE.status:
        response.headers["Retry-After"] = "2"
    if found.status == WRONG_METHOD.status:
        response.headers["Allow"] = "GET, HEAD"
    return response


@csrf_exempt
def nothing_here(request: HttpRequest, path: str = "") -> HttpResponse:  # noqa: ARG001 - a view
    return problem(Refusal(NOT_FOUND, "there is no such resource; /api/v1/openapi.json lists them"))


def check_method(request: HttpRequest) -> None:
    if request.method not in ("GET", "HEAD"):
        raise Refusal(WRONG_METHOD, f"{request.method} is not answered: this API only reads")


def _answer(
    endpoint: Endpoint, known: Sequence[Param], request: HttpRequest, where: Mapping[str, str]
) -> HttpResponseBase:
    check_method(request)
    params = read_all(known, request.GET.lists())
    here = current.get()
    if here.follower.freshness().state == "loading" and endpoint.name not in _WITHOUT_MODEL:
        raise Refusal(UNAVAILABLE, "the model has not been read yet; try again in a moment")
    if not all(here.follower.version()[:2]) and endpoint.name not in _WITHOUT_MODEL:
        raise Refusal(UNAVAILABLE, NEVER_WATCHED)
    ask = Ask(here, params, where, time.time())
    wants_lines = _wants_lines(request.headers.get("Accept", ""))
    if params.get("watch"):
        return _watch(endpoint, ask, request, lines=wants_lines)
    if wrong := next((n for n in ("since", "instance", "seconds") if n in params), ""):
        raise Refusal(BAD_PARAMETER, f"{wrong} is for watch=1 only")
    tag = etag(endpoint, ask, request.get_full_path(), lines=wants_lines)
    given = request.headers.get("If-None-Match", "").strip()
    if given == ANY:
        endpoint.answer(ask)  # raises Refusal where there is nothing that the reader could have
    if given == ANY or opaque(tag) in _TAG.findall(given):
        response: HttpResponseBase = HttpResponseNotModified()
    elif wants_lines and endpoint.is_list:
        response = _lines(endpoint, ask, request)
    else:
        response = HttpResponse(_encoder.encode(endpoint.answer(ask)), content_type=JSON)
    response.headers["ETag"] = tag
    response.headers["Vary"] = "Accept"
    return response


def _wants_lines(accept: str) -> bool:
    """Lines must be named: whoever takes anything gets the whole document, as who wants both alike and it first."""
    named = any(part.partition(";")[0].strip().lower() == NDJSON for part in accept.split(","))
    lines, whole = quality(accept, NDJSON), quality(accept, JSON)
    return named and lines > 0 and (lines > whole or (lines == whole and _named_before(accept)))


def _named_before(accept: str) -> bool:
    """NDJSON before JSON, or JSON only by a range."""
    names = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return JSON not in names or names.index(NDJSON) < names.index(JSON)


# --- ETag ------------------------------------------------------------------------------------------------------------


def etag(endpoint: Endpoint, ask: Ask, address: str, *, lines: bool) -> str:
    """Equal tags mean equal answers: the revision, and for what changes without one also that."""
    instance, revision, state, _ = ask.here.follower.version()
    parts: list[object] = [address, lines, instance, state]
    if ask.at is None or endpoint.varies in OF_NOW or time.time() - ask.at < SETTLED_AFTER:
        parts.append(revision)
        if endpoint.varies:
            parts.append(_PROCESS)
        if "findings" in endpoint.varies:
            report = ask.here.doctor.report()
            parts += [report.generation, report.at > 0]
        if {"time", "freshness"} & set(endpoint.varies.split()) or "waiting" in ask.params:
            parts.append(int(time.time() / OFTEN))
    return f'W/"{hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()}"'


def opaque(tag: str) -> str:
    """What weak comparison compares (RFC 9110, 8.8.3.2)."""
    return tag.removeprefix("W/")


# --- NDJSON ----------------------------------------------------------------------------------------------------------


def _lines(endpoint: Endpoint, ask: Ask, request: HttpRequest) -> StreamingHttpResponse:
    """A list row by row: with `limit` the rows of that one answer, else to its end.

    The first rows are read here, so that faults are problems, and that headers say what a document has around its rows.
    """
    pages = _pages(endpoint, ask)
    first = next(pages)

    def chunks() -> Iterator[bytes]:
        yield _encoder.encode_lines(first.items)
        yield from (_encoder.encode_lines(rows.items) for rows in pages)

    async def chunks_async() -> AsyncIterator[bytes]:
        yield _encoder.encode_lines(first.items)
        while rows := await sync_to_async(lambda: next(pages, None), thread_sensitive=False)():
            yield _encoder.encode_lines(rows.items)

    body = chunks_async() if isinstance(request, ASGIRequest) else chunks()
    response = StreamingHttpResponse(body, content_type=NDJSON)
    response.headers[REVISION] = str(first.revision)
    response.headers[INSTANCE] = first.instance
    response.headers[TOTAL] = str(first.total.count)
    response.headers[TOTAL_EXACT] = "true" if first.total.exact else "false"
    if first.next is not None and "limit" in ask.params:
        response.headers[LINK] = f'<{_behind(request, first.next)}>; rel="next"'
    return response


def _pages(endpoint: Endpoint, ask: Ask) -> Iterator[Rows[Any]]:
    params = dict(ask.params)
    if endpoint.pageable:
        params.setdefault("limit", STREAMED)
    while True:
        rows: Rows[Any] = endpoint.answer(Ask(ask.here, params, ask.where, max(ask.now, time.time())))
        yield rows
        if rows.next is None or "limit" in ask.params:
            return
        params["cursor"] = rows.next


def _behind(request: HttpRequest, cursor: str) -> str:
    """The address of the following page."""
    query = request.GET.copy()
    query["cursor"] = cursor
    return f"{escape_uri_path(request.path)}?{query.urlencode()}"


# --- watch -----------------------------------------------------------------------------------------------------------


def _watch(endpoint: Endpoint, ask: Ask, request: HttpRequest, *, lines: bool) -> HttpResponseBase:
    if wrong := [name for name in NOT_WATCHED if name in ask.params]:
        why = "watch=1 streams what changes, in the order in which it does, and not the past"
        allowed = tuple(p.name for p in endpoint.params if p.name not in NOT_WATCHED)
        raise Refusal(BAD_PARAMETER, f"{why}: leave out {', '.join(wrong)}", allowed)
    since = ask.params.get("since")
    # An EventSource that comes back asks with the address it began with: where it was is in the header alone.
    if resumed := request.headers.get("Last-Event-ID", "").strip():
        since = _resumed(resumed)
    watch = watching.begin(endpoint, ask, since)
    kind = NDJSON if lines else "text/event-stream; charset=utf-8"
    if request.method == "HEAD":
        watch.end()
        response: HttpResponseBase = HttpResponse(content_type=kind)
    else:
        response = _Stream(watch, watching.as_line if lines else watching.as_event, kind)
    # Compressing would hold events back; so would a proxy's buffer.
    response.headers["Content-Encoding"] = "identity"
    response.headers["X-Accel-Buffering"] = "no"
    response.headers["Cache-Control"] = "no-store"
    return response


class _Stream(StreamingHttpResponse):
    def __init__(self, watch: watching.Watch, encode: Callable[[watching.WatchEvent], bytes], kind: str) -> None:
        super().__init__(watching.stream(watch, encode), content_type=kind)
        self._watch = watch

    def close(self) -> None:
        """A stream that nobody has begun to read has no end of its own."""
        super().close()
        self._watch.end()


def _resumed(text: str) -> int:
    """Beginning with what comes would leave out what has changed since, without a word."""
    try:
        return int(SINCE.read(text))
    except ValueError as error:
        raise Refusal(BAD_PARAMETER, f"Last-Event-ID: {error}, as the events have for their id") from error
