"""One Redis (or Valkey): its clients, how long they wait, scripts and errors. The only module that imports redis."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Final

import redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ConnectionError,  # noqa: A004  redis' own name; the builtin is not used here
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TimeoutError,  # noqa: A004
)
from redis.retry import Retry

from dradash.store import keys
from dradash.store.model import StoreUnavailable
from dradash.store.redis_reader import LONGEST_BLOCK

# An answer that takes longer is a hang; blocking reads get this on top of what they wait at most.
ANSWER_WITHIN: Final = 10.0
# Seconds after an answer that did not come in which whoever is in a hurry does not ask again: a page asks many times.
REST: Final = 2.0


class Connection:
    """One Redis, its errors and its scripts. Thread-safe and fork-safe; connects when first used.

    answer_within: seconds that `call`, `pipe` and `wait` (beyond what it blocks) wait for an answer. Less than
    ANSWER_WITHIN is for people's and machines' questions, which want a "no" soon: when no answer came, they do not ask
    again by themselves, and for REST seconds whatever is asked fails at once. `run` and `call_patiently`, which lose
    much when they give up on a busy machine, have ANSWER_WITHIN.
    """

    def __init__(self, url: str, prefix: str, answer_within: float = ANSWER_WITHIN) -> None:
        self._hurried = answer_within < ANSWER_WITHIN
        # Any: redis-py does not type execute_command, and its typed methods answer "an awaitable or the value".
        self._client: Any = _client(url, answer_within, hurried=self._hurried)
        # redis-py would cut a waiting read after its default 5 s; no limit at all would wait for ever on a dead peer.
        self._waiting: Any = _client(url, LONGEST_BLOCK + answer_within, hurried=self._hurried)
        self._patient: Any = _client(url, ANSWER_WITHIN, hurried=False) if self._hurried else self._client
        self._silent_until = 0.0  # monotonic seconds
        self._silence = ""  # how that showed
        self._where = _where(self._client)
        self._prefix = prefix
        self._scripts: dict[str, tuple[str, bytes]] = {}

    def close(self) -> None:
        for client in (self._client, self._waiting, self._patient):
            client.close()

    def call(self, *command: Any) -> Any:
        with self._soon():
            return self._client.execute_command(*command)

    def call_patiently(self, *command: Any) -> Any:
        with self._errors():
            return self._patient.execute_command(*command)

    def pipe(self, *commands: tuple[Any, ...]) -> list[Any]:
        with self._soon():
            pipe = self._client.pipeline(transaction=True)
            for command in commands:
                pipe.execute_command(*command)
            return list(pipe.execute())

    def wait(self, *command: Any) -> Any:
        with self._soon():
            return self._waiting.execute_command(*command)

    def refusal(self, key: str) -> str:
        try:
            self._client.execute_command("SETRANGE", key, 0, b"")  # a write by its name, which writes nothing
        except RedisError as error:
            if isinstance(error, OutOfMemoryError) or any(word in str(error) for word in ("OOM ", "MISCONF")):
                return _advice(error, self._where)
            # What a reader alone may meet (a replica, a user who may only read) says nothing of the leader.
        return ""

    def run(self, name: str, *args: Any) -> Any:
        """Run lua/<name>.lua."""
        if name not in self._scripts:
            body = _script(name)
            self._scripts[name] = (hashlib.sha1(body, usedforsecurity=False).hexdigest(), body)
        digest, body = self._scripts[name]
        with self._errors():
            try:
                return self._patient.execute_command("EVALSHA", digest, 1, self._prefix, *args)
            except NoScriptError:  # a new Redis, or one that restarted
                return self._patient.execute_command("EVAL", body, 1, self._prefix, *args)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except RedisError as error:
            raise StoreUnavailable(_advice(error, self._where)) from error

    @contextmanager
    def _soon(self) -> Iterator[None]:
        if time.monotonic() < self._silent_until:
            raise StoreUnavailable(self._silence)  # the same words: who tells of each new fault hears of one
        with self._errors():
            try:
                yield
            except TimeoutError as error:
                if self._hurried:
                    self._silence = _advice(error, self._where)
                    self._silent_until = time.monotonic() + REST
                raise


def _client(url: str, timeout: float, *, hurried: bool) -> redis.Redis:
    # For a connection that Redis closed while it was idle. The caller has the backoff for the rest.
    again = (ConnectionError,) if hurried else (ConnectionError, TimeoutError)
    return redis.Redis.from_url(
        url,
        protocol=2,
        decode_responses=False,
        socket_timeout=timeout,
        socket_connect_timeout=3.0,
        health_check_interval=30,
        retry=Retry(ExponentialBackoff(cap=0.1, base=0.01), 1, again),
    )


def _script(name: str) -> bytes:
    folder = files("dradash.store") / "lua"
    parts = (keys.lua_prelude(), *((folder / f"{part}.lua").read_text() for part in ("shared", name)))
    return "\n".join(parts).encode()


def _where(client: redis.Redis) -> str:
    """Where Redis is, without the password that a URL may carry."""
    kwargs = client.connection_pool.connection_kwargs
    return str(kwargs.get("path") or f"{kwargs.get('host', 'localhost')}:{kwargs.get('port', 6379)}")


# What kind of error, or what its text says -> what to do. The first that fits counts.
_ADVICE: Final[tuple[tuple[tuple[type[RedisError], ...], str, str], ...]] = (
    ((BusyLoadingError,), "LOADING", "is still loading its data: wait"),
    (
        (AuthenticationError, NoPermissionError),
        "NOAUTH",
        "refuses the user: put the right user and password into REDIS_URL",
    ),
    ((ReadOnlyError,), "READONLY", "is a read-only replica: point REDIS_URL at the primary"),
    (
        (OutOfMemoryError,),
        "OOM ",
        "is out of memory: raise its maxmemory, or lower DRADASH_HISTORY_BYTES or DRADASH_CHANGES_LENGTH",
    ),
    ((), "MISCONF", "cannot write to its disk and therefore refuses changes: mend that"),
    ((ConnectionError, TimeoutError), "CLUSTERDOWN", "cannot be reached: start it, or set REDIS_URL"),
)


def _advice(error: RedisError, where: str) -> str:
    says = str(error)
    for types, word, advice in _ADVICE:
        if isinstance(error, types) or word in says:
            return f"Redis at {where} {advice} ({says})"
    return f"Redis at {where} refuses: {says}"
