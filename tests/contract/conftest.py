"""Both stores for the one suite. A `Store` makes models over the same data and can lose all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from dradash.store.memory import MemoryModel
from dradash.store.model import Model
from dradash.store.redis_store import RedisModel
from tests.redis_server import running_redis


@dataclass
class Store:
    name: str
    wipe: Callable[[], None]
    open: Callable[[], Model]  # another process's view of the same data (in memory: the same object)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with running_redis() as url:
        yield url


@pytest.fixture(params=["memory", "redis"])
def make_store(request: pytest.FixtureRequest) -> Iterator[Callable[..., Store]]:
    """make_store(changes_length=..., history_seconds=..., history_bytes=...), empty."""
    opened: list[RedisModel] = []

    def make(**limits: Any) -> Store:
        if request.param == "memory":
            model = MemoryModel(**limits)
            return Store("memory", model.wipe, lambda: model)
        url = request.getfixturevalue("redis_url")

        def flush() -> None:
            with redis.Redis.from_url(url) as client:
                client.flushall()

        def open_model() -> Model:
            opened.append(RedisModel(url, cluster="test", **limits))
            return opened[-1]

        flush()
        return Store("redis", flush, open_model)

    yield make
    for model in opened:
        model.close()


@pytest.fixture
def store(make_store: Callable[..., Store]) -> Store:
    return make_store()


@pytest.fixture
def model(store: Store) -> Model:
    return store.open()
