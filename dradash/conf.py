"""Every setting of dradash, read from the environment once, with a default that works bare.

A wrong value raises BadSetting with the variable's name and what is allowed: nothing starts half configured.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from dradash.scheduling.doctor.thresholds import Thresholds

T = TypeVar("T")

PREFIX: Final = "DRADASH_"
AUTH_MODES: Final = ("none", "token", "proxy")


class BadSetting(ValueError):
    """An environment variable that cannot be used; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Conf:
    """Times are in seconds, sizes in bytes."""

    cluster: str  # name of the cluster in Redis keys and on pages
    redis_url: str  # redis:// or unix:// URL
    host: str  # address that the web server binds to
    port: int
    auth: str  # none (loopback only), token, proxy
    auth_token: str  # for auth=token: the shared secret that people sign in with
    auth_proxy_header: str  # for auth=proxy: header with the user's name
    auth_proxy_from: tuple[str, ...]  # for auth=proxy: addresses or networks that may set it
    allowed_hosts: tuple[str, ...]
    secret_key: str  # "" makes a random one at start: sessions then end with the process
    lease_ttl: float  # of the informer's leadership: how long a dead leader is waited for
    history_seconds: float
    history_bytes: int
    changes_length: int  # entries kept in the change stream
    kubeconfig: str  # "" is the client's default search
    context: str
    list_limit: int
    watch_timeout: int
    debug: bool
    metrics_namespaces: tuple[str, ...]  # that /metrics may name, beside the figures of all together
    ready_queue_age: float  # how long a pod may wait to be judged before /readyz says no
    doctor: Thresholds  # from when on the doctor calls something wrong: docs/doctor.md


def _value(env: Mapping[str, str], name: str, default: T, parse: Callable[[str], T]) -> T:
    raw = env.get(PREFIX + name, "").strip()
    if not raw:
        return default
    try:
        return parse(raw)
    except ValueError as error:
        raise BadSetting(f"{PREFIX}{name}={raw!r}: {error}") from error


def _list(raw: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in raw.split(",") if part.strip())


def _bool(raw: str) -> bool:
    if raw.lower() in ("1", "true", "yes", "on"):
        return True
    if raw.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError("use true or false")


def _positive(raw: str) -> float:
    number = float(raw)
    if not 0 < number < float("inf"):
        raise ValueError("use a number above zero")
    return number


def _count(raw: str) -> int:
    number = int(raw)
    if number <= 0:
        raise ValueError("use a whole number above zero")
    return number


def _port(raw: str) -> int:
    number = int(raw)
    if not 0 < number < 65536:
        raise ValueError("use a port from 1 to 65535")
    return number


def _auth(raw: str) -> str:
    if raw not in AUTH_MODES:
        raise ValueError(f"use one of {', '.join(AUTH_MODES)}")
    return raw


def _thresholds(env: Mapping[str, str]) -> Thresholds:
    values = {
        name: _value(env, f"DOCTOR_{name.upper()}", default, _count if isinstance(default, int) else _positive)
        for name, default in msgspec.structs.asdict(Thresholds()).items()
    }
    return Thresholds(**values)


def _redis_url(env: Mapping[str, str]) -> str:
    url = env.get("REDIS_URL", "").strip() or "redis://127.0.0.1:6379/0"
    if url.split("://")[0] not in ("redis", "rediss", "unix"):
        # The value is not shown: it may hold a password.
        raise BadSetting("REDIS_URL: begin it with redis://, rediss:// or unix://")
    return url


def from_environ(env: Mapping[str, str] | None = None) -> Conf:
    """Read the settings; raises BadSetting."""
    env = os.environ if env is None else env
    return Conf(
        cluster=_value(env, "CLUSTER", "default", str),
        redis_url=_redis_url(env),
        host=_value(env, "HOST", "127.0.0.1", str),
        port=_value(env, "PORT", 8000, _port),
        auth=_value(env, "AUTH", "none", _auth),
        auth_token=_value(env, "AUTH_TOKEN", "", str),
        auth_proxy_header=_value(env, "AUTH_PROXY_HEADER", "X-Forwarded-User", str),
        auth_proxy_from=_value(env, "AUTH_PROXY_FROM", ("127.0.0.1",), _list),
        allowed_hosts=_value(env, "ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"), _list),
        secret_key=_value(env, "SECRET_KEY", "", str),
        lease_ttl=_value(env, "LEASE_TTL", 5.0, _positive),
        history_seconds=_value(env, "HISTORY_SECONDS", 24 * 3600.0, _positive),
        history_bytes=_value(env, "HISTORY_BYTES", 256 * 1024 * 1024, _count),
        changes_length=_value(env, "CHANGES_LENGTH", 20_000, _count),
        kubeconfig=_value(env, "KUBECONFIG", "", str),
        context=_value(env, "CONTEXT", "", str),
        list_limit=_value(env, "LIST_LIMIT", 500, _count),
        watch_timeout=_value(env, "WATCH_TIMEOUT", 300, _count),
        debug=_value(env, "DEBUG", False, _bool),
        metrics_namespaces=_value(env, "METRICS_NAMESPACES", (), _list),
        ready_queue_age=_value(env, "READY_QUEUE_AGE", 30.0, _positive),
        doctor=_thresholds(env),
    )
