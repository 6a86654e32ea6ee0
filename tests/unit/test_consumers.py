"""Sockets: a snapshot on each connect, then only what changed, in bursts; and who may open one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.layers import channel_layers
from django.conf import settings
from django.test import override_settings

from dradash.conf import from_environ
from dradash.metrics.process import PROCESS
from dradash.reader import current
from dradash.store.model import StoreUnavailable
from dradash.web import consumers
from dradash.web.fragments import Renderer
from dradash.web.pages.pods import PodPage
from dradash.web.routing import websocket
from dradash.web.sameorigin import is_same
from tests import build, devicescene
from tests.patience import PATIENCE
from tests.scene import Scene

A = build.pod("a", "ml", claims={"gpu": "a-gpu"})
B = build.pod("b", "ml", claims={"gpu": "b-gpu"})


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*build.nodes(3), build.resource_class(), A, B, build.claim("a-gpu", "ml"), build.claim("b-gpu", "ml"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)
    channel_layers.backends.clear()


communicator: Any = ApplicationCommunicator  # its methods carry no types


class Socket:
    """A browser's end of one page's socket."""

    def __init__(self, path: str, *, origin: str = "http://localhost", peer: str = "127.0.0.1", **headers: str) -> None:
        address, _, query = path.partition("?")
        named = {"origin": origin, "host": "localhost"} | {k.replace("_", "-"): v for k, v in headers.items()}
        self._end = communicator(
            websocket,
            {
                "type": "websocket",
                "path": f"/live{address}",
                "query_string": query.encode(),
                "headers": [(k.encode(), v.encode()) for k, v in named.items() if v],
                "client": (peer, 1234),
                "subprotocols": [],
            },
        )

    async def open(self) -> bool:
        await self._end.send_input({"type": "websocket.connect"})
        answer = await self._end.receive_output(PATIENCE)
        return bool(answer["type"] == "websocket.accept")

    async def receive(self) -> str:
        message: dict[str, Any] = await self._end.receive_output(PATIENCE)
        assert message["type"] == "websocket.send", message
        return str(message["text"])

    async def is_quiet(self, seconds: float) -> bool:
        return bool(await self._end.receive_nothing(seconds, 0.05))

    async def close(self) -> None:
        await self._end.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._end.wait(PATIENCE)


@pytest.fixture
async def open_socket(scene: Scene) -> AsyncIterator[Any]:
    opened: list[Socket] = []

    async def make(path: str, **options: str) -> Socket:
        socket = Socket(path, **options)
        assert await socket.open()
        opened.append(socket)
        return socket

    yield make
    for socket in opened:
        await socket.close()


async def test_the_first_message_is_everything(open_socket: Any) -> None:
    socket = await open_socket("/ns/ml/pods/a")
    message = await socket.receive()
    for block in ("freshness", "headline", "pipeline", "nodes", "claims", "negotiation", "effects", "history"):
        assert f'<div id="{block}" class="block" hx-swap-oob="true">' in message


async def test_open_pages_are_counted_for_the_metrics(scene: Scene) -> None:
    def told() -> float | None:
        return PROCESS.registry.get_sample_value("dradash_websocket_clients")

    before = told()
    assert before is not None
    socket, refused = Socket("/pods"), Socket("/no/such/page")
    assert await socket.open()
    assert not await refused.open()
    assert told() == before + 1
    await socket.close()
    await refused.close()
    assert told() == before


async def test_a_page_that_was_just_loaded_is_only_told_that_it_is_live(scene: Scene, open_socket: Any) -> None:
    page = scene.web.part(Renderer).fragment(PodPage({}, namespace="ml", name="a")).result(5)
    socket = await open_socket(f"/ns/ml/pods/a?_shape={page.shape}&_seen={page.seen}")
    message = await socket.receive()
    assert message.count("hx-swap-oob") == 1
    assert 'id="freshness"' in message


async def test_what_changed_since_the_page_was_loaded_is_sent(scene: Scene, open_socket: Any) -> None:
    page = scene.web.part(Renderer).fragment(PodPage({}, namespace="ml", name="a")).result(5)
    scene.put(build.event(A, "meanwhile"))
    scene.look()
    socket = await open_socket(f"/ns/ml/pods/a?_shape={page.shape}&_seen={page.seen}")
    message = await socket.receive()
    assert "meanwhile" in message
    assert 'id="nodes"' not in message


async def test_a_change_sends_only_the_blocks_that_differ(scene: Scene, open_socket: Any) -> None:
    socket = await open_socket("/ns/ml/pods/a")
    await socket.receive()
    scene.put(build.event(A, "something happened"))
    scene.look()
    message = await socket.receive()
    assert "something happened" in message
    assert 'id="agreement"' in message
    assert 'id="nodes"' not in message


async def test_devices_that_change_reach_a_pods_page_without_a_new_verdict(scene: Scene, open_socket: Any) -> None:
    made = devicescene.scene()
    made.look()
    current.use(made.web)
    socket = await open_socket("/ns/team/pods/train")
    assert "6 devices: " not in await socket.receive()
    more = (devicescene.device(f"more-{i}", "a100") for i in range(3))
    fabric = devicescene.pool(*more, name="fabric", allNodes=True)
    made.model.apply(made.epoch, [build.write(fabric)], [], made.now)
    made.look()
    message = await socket.receive()
    assert 'id="devices"' in message
    assert "6 devices: the request wants model" in message
    assert 'id="headline"' not in message


async def test_a_changed_row_is_sent_alone(scene: Scene, open_socket: Any) -> None:
    socket = await open_socket("/pods")
    assert (await socket.receive()).count('<tr id="pod-') == 2
    scene.put(build.context(A, potential=["node-0"], selected="node-0"))
    scene.look()
    messages = [await socket.receive(), await socket.receive()]
    assert "<tr" not in messages[0]
    message = messages[1]
    assert message.startswith('<tr id="pod-')
    assert message.count("<tr") == 1
    assert "/ns/ml/pods/a" in message
    assert "/ns/ml/pods/b" not in message


async def test_a_new_row_sends_the_table(scene: Scene, open_socket: Any) -> None:
    socket = await open_socket("/pods")
    await socket.receive()
    scene.put(build.pod("c", "ml", claims={"gpu": "c-gpu"}))
    scene.look()
    message = await socket.receive()
    assert '<div id="list" class="block" hx-swap-oob="true">' in message
    assert message.count('<tr id="pod-') == 3


async def test_other_pages_are_not_woken(scene: Scene, open_socket: Any) -> None:
    socket = await open_socket("/ns/ml/pods/a")
    await socket.receive()
    scene.put(build.event(B, "about another pod"))
    scene.look()
    assert await socket.is_quiet(0.5)


async def test_a_burst_is_one_message(scene: Scene, open_socket: Any) -> None:
    socket = await open_socket("/ns/ml/pods/a")
    await socket.receive()
    for i in range(20):
        scene.model.apply(scene.epoch, [build.write(build.event(A, f"event {i}", name=f"e{i}"))], [], scene.now + i)
        scene.look()
    assert "event 19" in await socket.receive()
    assert await socket.is_quiet(0.5)


async def test_a_hundred_sockets_are_one_rendering(scene: Scene, open_socket: Any) -> None:
    sockets = [await open_socket("/ns/ml/pods/a") for _ in range(100)]
    for socket in sockets:
        await socket.receive()
    assert scene.web.part(Renderer).rendered == 1


async def test_after_a_reconnect_the_page_has_what_it_missed(scene: Scene, open_socket: Any) -> None:
    first = await open_socket("/ns/ml/pods/a")
    await first.receive()
    scene.put(build.event(A, "while nobody looked"))
    scene.look()
    again = await open_socket("/ns/ml/pods/a")
    assert "while nobody looked" in await again.receive()


async def test_a_change_while_the_snapshot_is_rendered_is_not_lost(
    scene: Scene, open_socket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    render = scene.web.part(Renderer).fragment
    changed = False

    def change_then_render(page: Any) -> Any:
        nonlocal changed
        future = render(page)
        if not changed:
            changed = True
            future.result(5)
            scene.put(build.event(A, "in between"))
            scene.look()
        return future

    monkeypatch.setattr(scene.web.part(Renderer), "fragment", change_then_render)
    # The renderer belongs to a frozen dataclass, so the method was replaced on the object itself.
    socket = await open_socket("/ns/ml/pods/a")
    assert "in between" not in await socket.receive()
    assert "in between" in await socket.receive()


async def test_a_quiet_page_is_told_that_its_data_is_fresh(
    scene: Scene, open_socket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "BEAT", 0.05)
    monkeypatch.setattr("dradash.web.fragments.MAX_AGE", 0.0)
    clock = [build.NOW]
    monkeypatch.setattr(scene.web.follower, "_clock", lambda: clock[0])
    socket = await open_socket("/ns/ml/pods/a")
    await socket.receive()
    clock[0] += 100
    with ThreadPoolExecutor(1) as thread:
        await asyncio.get_running_loop().run_in_executor(thread, scene.look)
    message = await socket.receive()
    assert 'id="freshness"' in message
    assert 'id="headline"' not in message


async def test_a_page_whose_object_appears_is_loaded_anew(scene: Scene, open_socket: Any) -> None:
    socket = await open_socket("/ns/ml/pods/new")
    assert "No Pod" in await socket.receive()
    scene.put(build.pod("new", "ml", claims={"gpu": "x"}))
    scene.look()
    assert await socket.receive() == consumers.RELOAD


async def test_a_page_keeps_what_it_shows_of_what_is_gone_while_its_history_cannot_be_read(
    scene: Scene, open_socket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable("Redis is away")

    scene.delete(A)
    scene.look()
    socket = await open_socket("/ns/ml/pods/a")
    assert "This pod is gone" in await socket.receive()
    with monkeypatch.context() as away:
        for name in ("history", "history_start", "changes"):
            away.setattr(scene.model, name, refuse)
        scene.look()
        message = await socket.receive()
        assert "Redis is away" in message
        assert re.findall(r'<div id="([a-z]+)" class="block"', message) == ["freshness"]
    scene.look()
    message = await socket.receive()
    assert message != consumers.RELOAD
    assert "Redis is away" not in message


async def test_a_page_loaded_with_other_blocks_is_loaded_anew(open_socket: Any) -> None:
    socket = await open_socket("/ns/ml/pods/a?_shape=of-another-time")
    assert await socket.receive() == consumers.RELOAD


async def test_a_closed_socket_leaves_nothing_behind(scene: Scene) -> None:
    socket = Socket("/pods")
    assert await socket.open()
    await socket.receive()
    await socket.close()
    assert not channel_layers["default"].groups
    assert [t for t in asyncio.all_tasks() if t is not asyncio.current_task()] == []


# --- who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("http://LOCALHOST", "localhost:80"),
        ("https://dash.example", "dash.example"),
        ("http://[::1]:8000", "[::1]:8000"),
    ],
)
def test_the_own_page_is_told_by_host_and_port(origin: str, host: str) -> None:
    assert is_same(origin, host)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "",
        "null",
        "http://localhost:8999",  # another server on the same machine
        "ftp://localhost",
        "http://localhost:port",
    ],
)
async def test_another_sites_page_gets_no_socket(origin: str) -> None:
    assert not await Socket("/pods", origin=origin).open()


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("path", ["/nowhere", "/healthz", "/sign-in", "/ns/ml/pods"])
async def test_what_is_no_page_has_no_socket(path: str) -> None:
    assert not await Socket(path).open()


TOKEN = "a-token-of-twenty-four-c"  # noqa: S105 - opens nothing but these tests


@pytest.mark.usefixtures("scene")
async def test_with_a_token_a_socket_needs_it_before_it_is_accepted() -> None:
    conf = from_environ({"DRADASH_AUTH": "token", "DRADASH_AUTH_TOKEN": TOKEN})
    with override_settings(DRADASH=conf):
        assert not await Socket("/pods").open()
        assert not await Socket("/pods", authorization="Bearer wrong").open()
        assert not await Socket("/pods", cookie=f"{settings.SESSION_COOKIE_NAME}=forged").open()
        good = Socket("/pods", authorization=f"Bearer {TOKEN}")
        assert await good.open()
        await good.close()


@pytest.mark.usefixtures("scene")
async def test_a_proxys_header_opens_a_socket_only_from_the_proxy() -> None:
    conf = from_environ({"DRADASH_AUTH": "proxy", "DRADASH_AUTH_PROXY_FROM": "10.0.0.0/8"})
    with override_settings(DRADASH=conf):
        assert not await Socket("/pods", peer="10.1.2.3").open()
        assert not await Socket("/pods", peer="192.168.1.1", x_forwarded_user="mallory").open()
        good = Socket("/pods", peer="10.1.2.3", x_forwarded_user="alice")
        assert await good.open()
        await good.close()
