"""The APIServer over HTTP, as an ASGI application: who may, what is asked, and watches as streams of JSON lines."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import msgspec

from dradash.sim import apierrors, discovery, openapi, requests
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.endpoints import Answer, Call, answer, printed
from dradash.sim.faults import Fault
from dradash.sim.watch import Event, Watch, bookmark, watch_line

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log = logging.getLogger(__name__)

BOOKMARK_INTERVAL: Final = 60.0  # seconds, about what the real server does
WATCH_TIMEOUT: Final = 1800.0  # seconds, for a watch that names none
_OPEN: Final = ("/readyz", "/livez", "/healthz", "/version")  # readable without a token, as on a real server
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def json_answer(body: Any, code: int = 200, content_type: str = "application/json") -> Answer:
    return Answer(code, msgspec.json.encode(body), content_type)


def error_answer(error: ApiError) -> Answer:
    headers = (("retry-after", str(error.retry_after)),) if error.retry_after is not None else ()
    return Answer(error.code, msgspec.json.encode(error.status()), headers=headers)


class Application:
    """`token` (URL-safe characters) is required of everybody; None lets in every program that reaches the port."""

    def __init__(
        self, server: APIServer, token: str | None = None, *, bookmark_interval: float = BOOKMARK_INTERVAL
    ) -> None:
        self._server = server
        self._token = token
        self._bookmark_interval = bookmark_interval

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if not self._server.faults.reachable:
            # The listener is about to break this connection; until then nothing is answered.
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        try:
            found = await self._answer(scope, receive, send)
        except ApiError as error:
            found = error_answer(error)
        except Exception:  # the border: one broken request must not take the server with it
            log.exception("answering %s %s", scope["method"], scope["path"])
            found = error_answer(apierrors.internal("see the simulator's log"))
        if found is not None:
            await _respond(send, found)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        """None when the answer has been streamed already."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        path = self._authorized_path(scope["path"], headers)
        body = await _body(receive)
        if path.rstrip("/") == "/sim/faults":
            return self._faults(scope["method"], body)
        if scope["method"] == "GET" and (found := self._document(path, headers)) is not None:
            return found
        call = self._call(scope, path, headers, body)
        delay = self._server.faults.admit(call.target.resource, call.verb, call.target.namespace)
        if delay:
            await asyncio.sleep(delay)
        if call.verb == "watch":
            await self._watch(call, receive, send)
            return None
        return answer(self._server, call)

    def _authorized_path(self, path: str, headers: dict[str, str]) -> str:
        """The path less the token that may lead it. Raises ApiError 401.

        kubectl does not send a bearer token over plain HTTP, so its kubeconfig has the token in the server's URL.
        """
        if self._token is None:
            # Without a token only the address protects us: a web page in a local browser must not get through.
            host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
            if "origin" in headers or host not in _LOOPBACK:
                raise apierrors.unauthorized()
            return path
        first, _, rest = path[1:].partition("/")
        if hmac.compare_digest(first.encode(), self._token.encode()):
            return f"/{rest}"
        bearer = headers.get("authorization", "")
        if not _is_open(path) and not hmac.compare_digest(bearer.encode(), f"Bearer {self._token}".encode()):
            raise apierrors.unauthorized()
        return path

    def _call(self, scope: Scope, path: str, headers: dict[str, str], body: bytes) -> Call:
        where = requests.target(path, self._server.resources)
        options = requests.options(scope["query_string"], where.namespace)
        return Call(
            verb=requests.verb(scope["method"], where, watch=options.watch),
            target=where,
            options=options,
            body=body,
            content_type=headers.get("content-type", ""),
            as_table=requests.wants_table(headers.get("accept", "")),
            manager=options.field_manager or headers.get("user-agent", "").partition("/")[0],
        )

    def _faults(self, method: str, body: bytes) -> Answer:
        if method == "POST":
            try:
                self._server.inject(msgspec.json.decode(body, type=Fault))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise apierrors.bad_request(f"no fault: {error}") from error
        elif method != "GET":
            raise apierrors.method_not_allowed()
        return json_answer({"active": [msgspec.to_builtins(f) for f in self._server.faults.active()]})

    def _document(self, path: str, headers: dict[str, str]) -> Answer | None:
        """Health, version, discovery and OpenAPI; None when the path is none of these."""
        accept = headers.get("accept", "")
        parts = [part for part in path.split("/") if part]
        if _is_open(path):
            if parts != ["version"]:
                return Answer(200, b"ok", "text/plain")
            return json_answer(discovery.version(self._server.resources.values()))
        if parts[:1] == ["openapi"]:
            return self._openapi(parts[1:], accept)
        form = requests.aggregated_form(accept)
        if path.rstrip("/") in ("/api", "/apis") and form:
            body = discovery.aggregated(self._server.resources.values(), core=parts == ["api"], form=form)
            content_type = f"application/json;g={discovery.AGGREGATED};v={form};as=APIGroupDiscoveryList"
            return json_answer(body, content_type=content_type)
        return self._plain_discovery(parts, headers.get("host", ""))

    def _plain_discovery(self, parts: list[str], host: str) -> Answer | None:
        resources = self._server.resources.values()
        body: Any = None
        match parts:
            case ["api"]:
                body = discovery.api_versions(host)
            case ["apis"]:
                body = discovery.api_groups(resources)
            case ["apis", group]:
                body = discovery.api_group(resources, group)
            case ["api", version]:
                body = discovery.resource_list(resources, "", version)
            case ["apis", group, version]:
                body = discovery.resource_list(resources, group, version)
        return json_answer(body) if body is not None else None

    def _openapi(self, parts: list[str], accept: str) -> Answer | None:
        resources = self._server.resources.values()
        match parts:
            case ["v2"]:
                if "protobuf" in accept:
                    return Answer(200, openapi.v2_protobuf(), openapi.PROTOBUF_V2)
                return json_answer(openapi.v2())
            case ["v3"]:
                return json_answer(openapi.v3_paths(resources))
            case ["v3", "api", version]:
                document = openapi.v3(resources, "", version)
            case ["v3", "apis", group, version]:
                document = openapi.v3(resources, group, version)
            case _:
                document = None
        return json_answer(document) if document is not None else None

    async def _watch(self, call: Call, receive: Receive, send: Send) -> None:
        if call.options.initial_events:
            raise apierrors.initial_events_forbidden()
        stream = _Stream(self._server, call, send, self._bookmark_interval)
        await stream.run(receive)


class _Stream:
    """One watch over HTTP."""

    def __init__(self, server: APIServer, call: Call, send: Send, bookmark_interval: float) -> None:
        self._server = server
        self._call = call
        self._send = send
        self._interval = bookmark_interval
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._left = False
        self._revision = 0
        self._first = True

    def _wake_up(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody reads any more
            self._loop.call_soon_threadsafe(self._wake.set)

    async def run(self, receive: Receive) -> None:
        """Raises ApiError as long as nothing has been sent."""
        query, resource = self._call.options.query, self._call.target.resource
        try:
            watch = self._server.watch(
                resource.plural,
                query.namespace,
                query.resource_version,
                label_selector=query.label_selector,
                field_selector=query.field_selector,
                wake=self._wake_up,
            )
        except ApiError as error:
            if error.code != 410:
                raise
            # The real server has begun its answer when it finds out, so this is an event.
            await self._start()
            await self._write(watch_line("ERROR", msgspec.json.encode(error.status())), more=False)
            return
        leaving = asyncio.create_task(self._until_disconnect(receive))
        try:
            await self._start()
            await self._follow(watch)
            if self._server.faults.reachable:
                await self._write(b"", more=False)
            else:
                await leaving  # a server that is gone ends nothing in an orderly way
        finally:
            watch.close()
            leaving.cancel()

    async def _until_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._left = True
        self._wake.set()

    async def _follow(self, watch: Watch) -> None:
        deadline = self._loop.time() + (self._call.options.timeout or WATCH_TIMEOUT)
        bookmark_at = self._loop.time() + self._interval if self._call.options.bookmarks else deadline
        while not self._left:
            self._wake.clear()
            events, revision = watch.drain()
            self._revision = max(self._revision, revision)
            if events:
                await self._write(b"".join([self._line(event) for event in events]))
                continue
            if watch.error is not None:
                await self._write(watch_line("ERROR", msgspec.json.encode(watch.error.status())))
            if watch.closed:
                return
            now = self._loop.time()
            if now >= bookmark_at:
                await self._bookmark()
                bookmark_at = now + self._interval
            if now >= deadline:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(min(deadline, bookmark_at)):
                    await self._wake.wait()

    def _line(self, event: Event) -> bytes:
        where = self._call.target
        if not self._call.as_table:
            return event.line(where.resource, where.version)
        metadata = {"resourceVersion": event.stored.metadata["resourceVersion"]}
        raw = printed(self._call, [event.stored], metadata, with_columns=self._first)
        self._first = False
        return watch_line(event.type, raw)

    async def _bookmark(self) -> None:
        if self._revision and self._call.options.bookmarks:
            where = self._call.target
            await self._write(watch_line("BOOKMARK", bookmark(where.resource, where.version, self._revision)))

    async def _start(self) -> None:
        headers = [(b"content-type", b"application/json")]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _write(self, body: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


def _is_open(path: str) -> bool:
    return path.rstrip("/") in _OPEN


async def _body(receive: Receive) -> bytes:
    """The whole request body. Raises ApiError 413."""
    chunks, size, more = [], 0, True
    while more:
        message = await receive()
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > requests.MAX_BODY:
            raise apierrors.too_large(requests.MAX_BODY)
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)


async def _respond(send: Send, found: Answer) -> None:
    headers = [
        (b"content-type", found.content_type.encode()),
        (b"content-length", str(len(found.body)).encode()),
        (b"cache-control", b"no-cache, private"),
        *((name.encode(), value.encode()) for name, value in found.headers),
    ]
    await send({"type": "http.response.start", "status": found.code, "headers": headers})
    await send({"type": "http.response.body", "body": found.body})
