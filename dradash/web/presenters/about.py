"""What this dradash is: version, what it models, how far it sees, how it is set up. Never a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from dradash.kinds.registry import KINDS
from dradash.reader.world import Freshness, World
from dradash.scheduling.doctor.thresholds import MEANINGS, Thresholds
from dradash.store.model import SyncState
from dradash.web.presenters.overview import is_known
from dradash.web.presenters.words import Chip, sync_chip

_SECRET: Final = re.compile(r"token|secret|password|passwd|credential|(^|_)key(_|$)")
_CREDENTIALS: Final = re.compile(r":[^/\s]*@")  # user:password@host; a context's user@cluster is none
HIDDEN: Final = "set, not shown"

MODELLED: Final = (
    "the DynamicResources plugin of kube-scheduler 1.30, for resource.k8s.io/v1alpha2: every extension point from "
    "PreEnqueue to PostBind, with what it writes",
    "the same of kube-scheduler 1.36, for resource.k8s.io/v1, v1beta2 and v1beta1, with its default feature gates",
    "the queueing hints of both",
    "the checks NodeUnschedulable, NodeName, TaintToleration and NodeAffinity",
    "the sentences of events and conditions",
)
NOT_MODELLED: Final = (
    "resources, host ports, volumes, topology spreading, inter-pod affinity: a node that fits here may be refused for "
    "one of these",
    "scores and preemption",
    "other schedulers, profiles, extenders and plugin arguments",
    "the scheduler's own queue, backoff and assumed pods, which cannot be seen from outside",
    "resource.k8s.io/v1alpha3 (Kubernetes 1.31)",
)


class KindLine(msgspec.Struct, frozen=True):
    """None: not known. What a kind's watch counted is of now only."""

    kind: str
    version: str
    chip: Chip
    since: float
    seen: float
    count: int | None
    events: int | None
    relists: int | None
    malformed: int
    error: str


class Setting(msgspec.Struct, frozen=True):
    name: str
    value: str
    meaning: str = ""
    changed: bool = False  # other than the default


class AboutView(msgspec.Struct, frozen=True):
    """Times are Unix seconds, 0.0 where there is none. due: pods that wait to be judged.

    memory: bytes by part; None: the model cannot be read.
    """

    version: str
    python: str
    cluster: str
    started: float
    revision: int
    instance: str
    changed_at: float
    checked_at: float
    leader: str
    leader_since: float
    due: int
    due_since: float
    epoch: int
    history_start: float
    memory: tuple[tuple[str, int], ...] | None
    memory_total: int
    kinds: tuple[KindLine, ...]
    settings: tuple[Setting, ...]
    thresholds: tuple[Setting, ...]
    modelled: tuple[str, ...]
    not_modelled: tuple[str, ...]
    error: str
    past: bool = False  # the kinds, revision and changed_at are of a moment that is over; all else is of now


class Facts(msgspec.Struct, frozen=True):
    """What the page read beside the world. stored: what only the model says, None when it cannot be read."""

    version: str
    python: str
    cluster: str
    started: float
    freshness: Freshness
    configuration: Mapping[str, Any]
    defaults: Mapping[str, Any]
    thresholds: Thresholds
    stored: Stored | None = None
    error: str = ""
    then: Then | None = None


class Then(msgspec.Struct, frozen=True):
    """What is known of a moment that is over. 0: not kept."""

    revision: int
    changed_at: float


class Stored(msgspec.Struct, frozen=True):
    memory: Mapping[str, int]
    history_start: float
    epoch: int


def kinds(world: World, *, past: bool = False) -> tuple[KindLine, ...]:
    return tuple(_kind(world, plural, past=past) for plural in KINDS)


def _kind(world: World, plural: str, *, past: bool) -> KindLine:
    sync = world.sync.get(plural) or SyncState(plural)
    return KindLine(
        kind=plural,
        version=sync.version,
        chip=sync_chip(sync.state),
        since=sync.since,
        seen=sync.seen,
        count=len(world.cluster.raw[plural]) if is_known(sync) else None,
        events=None if past else sync.events,
        relists=None if past else sync.relists,
        malformed=max(sync.malformed, len(world.cluster.malformed[plural])),
        error=sync.error,
    )


def then(world: World) -> Then:
    return Then(world.revision, world.recent[-1].at if world.recent else 0.0)


def present(facts: Facts, lines: tuple[KindLine, ...], instance: str) -> AboutView:
    fresh, stored = facts.freshness, facts.stored
    of = facts.then or fresh
    memory = sorted(stored.memory.items(), key=lambda part: -part[1]) if stored else None
    return AboutView(
        version=facts.version,
        python=facts.python,
        cluster=facts.cluster,
        started=facts.started,
        revision=of.revision,
        instance=instance,
        changed_at=of.changed_at,
        checked_at=fresh.checked_at,
        leader=fresh.leader,
        leader_since=fresh.leader_since,
        due=fresh.due,
        due_since=fresh.due_since,
        epoch=stored.epoch if stored else 0,
        history_start=stored.history_start if stored else 0.0,
        memory=None if memory is None else tuple(memory),
        memory_total=sum(size for _, size in memory or ()),
        kinds=lines,
        settings=settings(facts.configuration, facts.defaults),
        thresholds=thresholds(facts.thresholds),
        modelled=MODELLED,
        not_modelled=NOT_MODELLED,
        error=facts.error,
        past=facts.then is not None,
    )


def settings(configuration: Mapping[str, Any], defaults: Mapping[str, Any]) -> tuple[Setting, ...]:
    """By the name of the environment variable; what may be a secret is only said to be set."""
    return tuple(
        Setting(variable(name), shown(name, value), changed=value != defaults.get(name))
        for name, value in configuration.items()
    )


def variable(name: str) -> str:
    return "REDIS_URL" if name == "redis_url" else f"DRADASH_{name.upper()}"


def shown(name: str, value: Any) -> str:
    if _SECRET.search(name):
        return HIDDEN if value else "not set"
    if isinstance(value, (tuple, list)):
        return ", ".join(shown(name, v) for v in value) or "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    if "://" in text:
        return without_password(text)
    return HIDDEN if _CREDENTIALS.search(text) else text or "not set"


def without_password(url: str) -> str:
    """The URL without user, password and query: any of them may be secret."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    hidden = "***@" if "@" in parts.netloc else ""
    return f"{parts.scheme}://{hidden}{host}{parts.path}{'?***' if parts.query else ''}"


def thresholds(values: Thresholds) -> tuple[Setting, ...]:
    defaults = Thresholds()
    return tuple(
        Setting(
            f"DRADASH_DOCTOR_{name.upper()}",
            f"{getattr(values, name):g}{'' if name == 'changes' else ' s'}",
            meaning,
            changed=getattr(values, name) != getattr(defaults, name),
        )
        for name, meaning in MEANINGS.items()
    )
