"""The real client against a small HTTP server that answers as scripted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from kubernetes import client

from dradash.informer import kubernetes_source
from dradash.informer.kubernetes_source import BadConfig, KubernetesSource, load_config, retry_after
from dradash.informer.source import (
    MALFORMED,
    Forbidden,
    Gone,
    NotServed,
    SourceError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    WatchEvent,
    in_batches,
)
from dradash.kinds.registry import KINDS
from tests.patience import PATIENCE

PODS, EVENTS, CLAIMS = KINDS["pods"], KINDS["events"], KINDS["resourceclaims"]


class Script:
    """What the server does with each request; `requests` are the paths with their queries, in order."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answers: list[Callable[[BaseHTTPRequestHandler], None]] = []
        self.url = ""
        self.authorization = ""
        self.release = threading.Event()

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        self.raw(json.dumps(value).encode(), status, **headers)

    def raw(self, body: bytes, status: int = 200, **headers: str) -> None:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, text in ({"Content-Length": str(len(body))} | headers).items():
                handler.send_header(name.replace("_", "-"), text)
            handler.end_headers()
            handler.wfile.write(body)

        self.answers.append(answer)

    def stream(self, *pieces: bytes, end: bool = True, hold: bool = False) -> None:
        """A chunked answer, one chunk a piece; end=False drops the connection, hold=True first keeps it open."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            for piece in pieces:
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if hold:
                self.release.wait()
            if end and not hold:
                handler.wfile.write(b"0\r\n\r\n")
            else:
                handler.close_connection = True

        self.answers.append(answer)

    def hang(self) -> None:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            self.release.wait()
            handler.close_connection = True

        self.answers.append(answer)


@pytest.fixture
def script() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            script.authorization = self.headers.get("Authorization", "")
            script.requests.append((parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()}))
            script.answers.pop(0)(self)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield script
    script.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def source(script: Script) -> Iterator[KubernetesSource]:
    source = KubernetesSource(client.Configuration(host=script.url))
    yield source
    source.close()


def line(type_: str, name: str, **more: Any) -> bytes:
    return json.dumps({"type": type_, "object": {"metadata": {"name": name}, **more}}).encode() + b"\n"


def test_discovery_asks_for_the_groups_of_our_kinds_only(script: Script, source: KubernetesSource) -> None:
    groups = ["resource.k8s.io/v1alpha2", "metrics.k8s.io/v1beta1"]
    script.json({"groups": [{"versions": [{"groupVersion": g}]} for g in groups]})
    script.json({"resources": [{"name": "pods"}, {"name": "pods/status"}, {"name": "nodes"}]})
    script.json({"resources": [{"name": "resourceclaims"}]})

    assert source.discover() == {
        "v1": frozenset({"pods", "nodes"}),
        "resource.k8s.io/v1alpha2": frozenset({"resourceclaims"}),
    }
    assert [path for path, _ in script.requests] == ["/apis", "/api/v1", "/apis/resource.k8s.io/v1alpha2"]


def test_a_list_is_asked_for_in_chunks_and_items_stay_as_sent(script: Script, source: KubernetesSource) -> None:
    script.raw(b'{"metadata":{"resourceVersion":"7","continue":"t/1"},"items":[{"metadata":{"name":"a"}, "x":1.50}]}')
    script.json({"metadata": {"resourceVersion": "7"}, "items": None})

    first = source.list(CLAIMS, "v1alpha2", 1, "")
    second = source.list(CLAIMS, "v1alpha2", 1, first.continue_token)

    assert first.items == (b'{"metadata":{"name":"a"}, "x":1.50}',)
    assert (first.resource_version, second.items, second.continue_token) == ("7", (), "")
    path = "/apis/resource.k8s.io/v1alpha2/resourceclaims"
    assert script.requests == [(path, {"limit": "1"}), (path, {"limit": "1", "continue": "t/1"})]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotServed),
        (410, Gone),
        (429, TooManyRequests),
        (500, Unavailable),
        (503, Unavailable),
        (302, Unavailable),
    ],
)
def test_a_status_becomes_our_error_with_the_servers_message(
    script: Script, source: KubernetesSource, status: int, error: type[SourceError]
) -> None:
    script.json({"kind": "Status", "message": "no such luck"}, status)

    with pytest.raises(error, match="no such luck"):
        source.list(PODS, "v1", 0, "")


@pytest.mark.parametrize(("header", "seconds"), [("3000", 3000.0), (None, None), ("soon", None)])
def test_retry_after_is_given_on_and_not_slept_through(
    script: Script, source: KubernetesSource, header: str | None, seconds: float | None
) -> None:
    script.raw(b"too much", 429, **({"Retry_After": header} if header else {}))
    with pytest.raises(TooManyRequests, match="HTTP 429: too much") as caught:
        source.list(PODS, "v1", 0, "")

    assert caught.value.retry_after == seconds


def test_retry_after_may_be_a_date() -> None:
    assert retry_after("Wed, 21 Oct 2015 07:28:30 GMT", 1445412480.0) == 30.0
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1445412490.0) == 0.0


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"items":7}', b'{"items":[{]}', b"<html>"])
def test_an_answer_that_is_not_understood_is_unavailable(script: Script, source: KubernetesSource, body: bytes) -> None:
    script.raw(body)

    with pytest.raises(Unavailable, match="not understood"):
        source.list(PODS, "v1", 0, "")


def test_a_list_that_breaks_off_is_unavailable(script: Script, source: KubernetesSource) -> None:
    script.stream(b'{"metadata":{"resourceVersion":"7"},"items":[', end=False)

    with pytest.raises(Unavailable, match="broke off"):
        source.list(PODS, "v1", 0, "")


def test_the_token_of_the_kubeconfig_is_sent(script: Script) -> None:
    configuration = client.Configuration(host=script.url, api_key={"BearerToken": "Bearer s3cret"})
    source = KubernetesSource(configuration)
    script.json({"metadata": {"resourceVersion": "7"}})

    source.list(PODS, "v1", 0, "")
    source.close()

    assert script.authorization == "Bearer s3cret"


def written(path: Path, server: str, token: str) -> str:
    path.write_text(
        json.dumps(
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "users": [{"name": "u", "user": {"token": token}}],
            }
        )
    )
    return str(path)


@pytest.fixture
def refused(script: Script, tmp_path: Path) -> Iterator[KubernetesSource]:
    """Its credentials were valid and are not accepted any more."""
    source = KubernetesSource.from_kubeconfig(written(tmp_path / "config", script.url, "old"))
    script.json({"message": "Unauthorized"}, 401)
    with pytest.raises(Unauthorized, match=r"does not accept the credentials \(any more\): Unauthorized. Renew"):
        source.list(PODS, "v1", 0, "")
    yield source
    source.close()


def test_credentials_that_are_renewed_in_the_kubeconfig_are_taken_at_the_next_try(
    script: Script, refused: KubernetesSource, tmp_path: Path
) -> None:
    written(tmp_path / "config", script.url, "new")
    script.json({"metadata": {"resourceVersion": "7"}})

    assert refused.list(PODS, "v1", 0, "").resource_version == "7"
    assert script.authorization == "Bearer new"


def test_the_kubeconfig_is_read_once_for_each_refusal_and_not_without_one(script: Script, tmp_path: Path) -> None:
    path, reads = written(tmp_path / "config", script.url, "old"), []

    def reload() -> client.Configuration:
        reads.append(path)
        return load_config(path)

    source = KubernetesSource(load_config(path), reload)
    for status in (401, 401, 403, 200, 200):
        script.json({"metadata": {"resourceVersion": "7"}}, status)
    for _ in range(3):
        with pytest.raises(Forbidden):
            source.list(PODS, "v1", 0, "")
    for _ in range(2):
        source.list(PODS, "v1", 0, "")
    source.close()

    assert len(reads) == 2


def test_a_kubeconfig_that_cannot_be_read_anew_is_told_without_its_text(
    script: Script, refused: KubernetesSource, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("users: [{name: u, user: {token: s3cret")

    with pytest.raises(Unauthorized, match="cannot be read anew") as caught:
        refused.list(PODS, "v1", 0, "")
    assert "s3cret" not in str(caught.value)

    written(tmp_path / "config", script.url, "new")
    script.json({"metadata": {"resourceVersion": "7"}})
    assert refused.list(PODS, "v1", 0, "").resource_version == "7"


def test_a_kubeconfig_that_names_another_server_is_not_followed(
    script: Script, refused: KubernetesSource, tmp_path: Path
) -> None:
    written(tmp_path / "config", "http://127.0.0.1:1", "new")

    with pytest.raises(Unauthorized, match="names another server now: start dradash again"):
        refused.list(PODS, "v1", 0, "")
    assert len(script.requests) == 1


def test_no_server_is_unavailable() -> None:
    source = KubernetesSource(client.Configuration(host="http://127.0.0.1:1"))

    with pytest.raises(Unavailable, match=r"cannot reach http://127.0.0.1:1: Failed .*refused"):
        source.discover()


def test_a_watch_asks_for_bookmarks_and_a_time_out(script: Script, source: KubernetesSource) -> None:
    script.stream(line("ADDED", "a"), line("BOOKMARK", ""))

    events = list(source.watch(CLAIMS, "v1alpha2", "42", 300))

    assert [event.type for event in events] == ["ADDED", "BOOKMARK"]
    assert events[0].object == b'{"metadata": {"name": "a"}}'
    assert script.requests[0][1] == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "42",
        "timeoutSeconds": "300",
    }


def test_lines_may_be_cut_anywhere_and_be_megabytes_long(script: Script, source: KubernetesSource) -> None:
    long = line("ADDED", "a", data="x" * 3_000_000)
    script.stream(long[:10], long[10:2_000_000], long[2_000_000:] + line("ADDED", "b")[:5], line("ADDED", "b")[5:])

    events = list(source.watch(PODS, "v1", "1", 300))

    assert [len(event.object) > 3_000_000 for event in events] == [True, False]


def test_events_that_came_together_are_one_batch(script: Script, source: KubernetesSource) -> None:
    script.stream(b"".join(line("ADDED", str(n)) for n in range(100)))

    batches = list(in_batches(source.watch(PODS, "v1", "1", 300)))

    assert [len(batch) for batch in batches] == [100]


def test_a_line_that_is_no_event_is_handed_on_as_malformed(script: Script, source: KubernetesSource) -> None:
    script.stream(b"{nonsense\n", b"\n", b"[1]\n", line("ADDED", "a"))

    events = list(source.watch(PODS, "v1", "1", 300))

    assert events[:2] == [WatchEvent(MALFORMED, b"{nonsense"), WatchEvent(MALFORMED, b"[1]")]
    assert events[2].type == "ADDED"


def test_a_watch_that_breaks_in_the_middle_of_an_event_is_unavailable(script: Script, source: KubernetesSource) -> None:
    script.stream(line("ADDED", "a"), line("ADDED", "b")[:10])
    stream = iter(source.watch(PODS, "v1", "1", 300))

    assert next(stream).type == "ADDED"
    with pytest.raises(Unavailable, match="middle of an event"):
        next(stream)


def test_a_lost_connection_is_unavailable_but_what_came_before_counts(script: Script, source: KubernetesSource) -> None:
    script.stream(line("ADDED", "a"), end=False)
    stream = iter(source.watch(PODS, "v1", "1", 300))

    assert next(stream).type == "ADDED"
    with pytest.raises(Unavailable, match="lost"):
        next(stream)


def test_a_watch_that_is_answered_whole_ends_with_its_body(script: Script, source: KubernetesSource) -> None:
    script.raw(line("ADDED", "a") + line("ADDED", "b"))
    script.raw(b"")

    assert len(list(source.watch(PODS, "v1", "1", 300))) == 2
    assert list(source.watch(PODS, "v1", "1", 300)) == []


def test_close_ends_a_quiet_watch_at_once(script: Script, source: KubernetesSource) -> None:
    script.stream(line("ADDED", "a"), hold=True)
    stream = source.watch(PODS, "v1", "1", 300)
    seen: list[WatchEvent] = []
    first = threading.Event()

    def read() -> None:
        for event in stream:
            seen.append(event)
            first.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert first.wait(PATIENCE)
    stream.close()
    reader.join(PATIENCE)

    assert not reader.is_alive()
    assert len(seen) == 1


def test_close_of_the_source_ends_a_request_that_hangs(script: Script, source: KubernetesSource) -> None:
    script.hang()
    failures: list[SourceError] = []

    def read() -> None:
        try:
            source.list(PODS, "v1", 0, "")
        except SourceError as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    while not script.requests:
        time.sleep(0.005)
    source.close()
    reader.join(PATIENCE)

    assert not reader.is_alive()
    assert [type(failure) for failure in failures] == [Unavailable]


def test_a_silent_watch_ends_in_the_read_time_out(
    script: Script, source: KubernetesSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second in all: the same time-out holds for the answer's head, which a busy machine does not send in a tenth.
    monkeypatch.setattr(kubernetes_source, "WATCH_GRACE", 0.0)
    script.stream(hold=True)

    with pytest.raises(Unavailable, match="broke off"):
        list(source.watch(PODS, "v1", "1", 1))


def test_events_are_filtered_by_the_server_where_it_can(script: Script, source: KubernetesSource) -> None:
    script.json({"metadata": {"resourceVersion": "7"}})
    script.json({"message": "field label not supported"}, 400)
    script.json({"metadata": {"resourceVersion": "7"}})
    script.json({"metadata": {"resourceVersion": "7"}})
    for _ in range(3):
        source.list(EVENTS, "v1", 0, "")

    selectors = [query.get("fieldSelector", "") for _, query in script.requests]
    assert "involvedObject.kind!=Node" in selectors[0]
    assert [bool(selector) for selector in selectors] == [True, True, False, False]


def test_get_reads_one_object_or_none(script: Script, source: KubernetesSource) -> None:
    script.raw(b'{"metadata":{"name":"a"}}')
    script.json({"message": "not found"}, 404)

    assert source.get(PODS, "v1", "team-a", "a") == b'{"metadata":{"name":"a"}}'
    assert source.get(PODS, "v1", "", "x/../y?z") is None
    assert source.get(PODS, "v1", "..", "a") is None
    assert [path for path, _ in script.requests] == ["/api/v1/namespaces/team-a/pods/a", "/api/v1/pods/x%2F..%2Fy%3Fz"]


def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Any) -> None:
    missing = tmp_path / "none"
    wrong = tmp_path / "wrong"
    wrong.write_text("clusters: 7")

    with pytest.raises(BadConfig, match=str(missing)):
        load_config(str(missing))
    with pytest.raises(BadConfig, match=str(wrong)):
        load_config(str(wrong))


def test_a_context_of_a_kubeconfig_is_used(tmp_path: Any) -> None:
    path = tmp_path / "config"
    path.write_text(
        json.dumps(
            {
                "current-context": "one",
                "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in ("one", "two")],
                "clusters": [{"name": n, "cluster": {"server": f"https://{n}.invalid"}} for n in ("one", "two")],
                "users": [{"name": n, "user": {"token": f"token-{n}"}} for n in ("one", "two")],
            }
        )
    )

    assert load_config(str(path)).host == "https://one.invalid"
    assert load_config(str(path), "two").host == "https://two.invalid"
    assert load_config(str(path), "two").api_key["BearerToken"] == "Bearer token-two"
    with pytest.raises(BadConfig, match="three"):
        load_config(str(path), "three")
