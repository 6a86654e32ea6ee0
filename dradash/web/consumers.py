"""One consumer for every page's socket: join, read, follow."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Final
from urllib.parse import parse_qsl

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.urls import Resolver404, resolve

from dradash.metrics.process import PROCESS
from dradash.reader import current, topics
from dradash.web.auth import Asker, session_of, user_of
from dradash.web.fragments import Renderer, Sent, difference, freshness_of, shown_already
from dradash.web.pages.base import Page, flat

logger = logging.getLogger(__name__)

COALESCE: Final = 0.2  # seconds between two messages; the first one after a quiet time goes out at once
BEAT: Final = 10.0  # seconds without a change after which the page is told that the data is still fresh
SEND_TIMEOUT: Final = 15.0  # seconds; a browser that takes longer is gone, or better starts anew
RELOAD: Final = "reload"  # the page has other blocks now (its object came or went)
POLICY_VIOLATION: Final = 4403  # the browser does not reconnect after this one


class NoSuchSocket(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels ships no types
    """Any other path: refused without a word, instead of a traceback in the log."""

    async def connect(self) -> None:
        await self.close()


class PageConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels ships no types
    async def connect(self) -> None:
        self._following: asyncio.Task[None] | None = None
        self._groups: list[str] = []
        self._changed = asyncio.Event()
        page = self._page()
        if page is None or self._user() is None:
            await self.close(POLICY_VIOLATION)
            return
        current.get().wake.attach(asyncio.get_running_loop())
        # Joined before anything is read: what changes in between wakes us again.
        joined = await asyncio.to_thread(page.topics)  # a page may look at the cluster for them
        self._groups = [topics.group(t) for t in (topics.EVERYTHING, *joined)]
        for group in self._groups:
            await self.channel_layer.group_add(group, self.channel_name)
        await self.accept()
        PROCESS.opened()
        self._following = asyncio.create_task(self._follow(page))

    async def disconnect(self, code: int) -> None:  # noqa: ARG002 - channels calls it so
        for group in self._groups:
            await self.channel_layer.group_discard(group, self.channel_name)
        if self._following is not None:
            PROCESS.closed()
            self._following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._following
        raise StopConsumer

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Without channels' detour through a thread, which is for databases."""
        handler = getattr(self, message["type"].replace(".", "_"), None)
        if handler is not None:
            await handler(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing that a page says matters: everything is in its address."""

    async def changed(self, _: dict[str, Any]) -> None:
        """A wake-up. It returns at once, so that the channel's queue never fills while a slow socket is sent to."""
        self._changed.set()

    # --- following -------------------------------------------------------------------------------------------------

    async def _follow(self, page: Page) -> None:
        try:
            await self._send_changes(page)
        except asyncio.CancelledError:
            raise
        except TimeoutError:
            await self.close(1013)
        except OSError:
            return  # so ASGI servers say that the browser went away while something was sent to it
        except Exception:
            logger.exception("a page's socket ends")
            await self.close(1011)

    async def _send_changes(self, page: Page) -> None:
        sent: dict[str, Sent] | None = None
        params = dict(self._params())
        shape, seen = params.get("_shape", ""), params.get("_seen", "")
        while True:
            self._changed.clear()
            # Shielded: others wait for the same rendering, which must not end with this socket.
            fragment = await asyncio.shield(asyncio.wrap_future(current.get().part(Renderer).fragment(page)))
            known = shown_already(fragment, seen) if sent is None else sent
            if not shape or fragment.shape == shape:
                shape = fragment.shape
                messages, sent = difference(known, fragment)
            elif fragment.unread:
                # The page keeps what it shows of before, and is told how old that is.
                messages, told = difference(known, freshness_of(fragment))
                sent = {**known, **told}
            else:
                await self._send(RELOAD)
                return
            for message in messages:
                await self._send(message)
            if page.fixed and not fragment.unread:
                return
            await asyncio.sleep(COALESCE)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT):
                    await self._changed.wait()

    async def _send(self, message: str) -> None:
        async with asyncio.timeout(SEND_TIMEOUT):
            await self.send(text_data=message)

    # --- who and what ----------------------------------------------------------------------------------------------

    def _params(self) -> list[tuple[str, str]]:
        return parse_qsl(self.scope.get("query_string", b"").decode("utf-8", "replace"))

    def _page(self) -> Page | None:
        try:
            match = resolve(self.scope["url_route"]["kwargs"]["path"])
        except Resolver404:
            return None
        page: type[Page] | None = getattr(match.func, "view_initkwargs", {}).get("page")
        return page(flat(self._params()), **match.kwargs) if page is not None else None

    def _user(self) -> str | None:
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in self.scope.get("headers", [])}
        client = self.scope.get("client")
        asker = Asker(headers, client[0] if client else "", session_of(headers.get("cookie", "")))
        return user_of(settings.DRADASH, asker)
