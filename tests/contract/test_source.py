"""The simulator's API server read in-process and over HTTP: both keep the contract of informer.source."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dradash.informer.kubernetes_source import KubernetesSource
from dradash.informer.source import Forbidden, Source, Unavailable
from dradash.sim import kubeconfig
from dradash.sim.apiserver import APIServer
from dradash.sim.http import Application
from dradash.sim.listener import Listener
from dradash.sim.source import SimSource
from tests.contract.source_suite import BOOKMARK_INTERVAL, SourceSuite, rest


class TestInProcess(SourceSuite):
    @pytest.fixture
    def source(self, server: APIServer) -> Source:
        return SimSource(server, bookmark_interval=BOOKMARK_INTERVAL)


class TestOverHttp(SourceSuite):
    @pytest.fixture
    def listener(self, server: APIServer) -> Iterator[Listener]:
        with Listener(Application(server, "secret-token", bookmark_interval=BOOKMARK_INTERVAL)) as listener:
            server.faults.on_unreachable = listener.go_away
            yield listener

    @pytest.fixture
    def source(self, listener: Listener, tmp_path: Path) -> Iterator[Source]:
        path = tmp_path / "kubeconfig"
        kubeconfig.write(path, listener.url, "secret-token")
        source = KubernetesSource.from_kubeconfig(str(path))
        yield source
        source.close()

    @pytest.fixture
    def outage(self, listener: Listener) -> threading.Event:
        return listener.returned

    def test_closing_the_source_ends_its_watches(self, server: APIServer, source: Source, watch: Any) -> None:
        stream = iter(watch(str(server.revision)))
        next(stream)
        assert isinstance(source, KubernetesSource)
        source.close()
        assert isinstance(rest(stream), Unavailable)

    def test_without_the_token_nothing_is_shown(self, listener: Listener, tmp_path: Path) -> None:
        path = tmp_path / "other"
        kubeconfig.write(path, listener.url, "another-token")
        source = KubernetesSource.from_kubeconfig(str(path))
        with pytest.raises(Forbidden, match="Unauthorized"):
            source.discover()
        source.close()
