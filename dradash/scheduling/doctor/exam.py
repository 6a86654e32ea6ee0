"""What the checks look at: the cluster and what was observed over time, at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from dradash.kinds.meta import KubeObject
from dradash.kinds.pod import Pod
from dradash.scheduling.classic.negotiation import SeenContext
from dradash.scheduling.classic.standing import Standing
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.finding import OBJECTS_KEPT, Finding, Ref, finding_id, get
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.scheduling.generation import readable
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.verdict import Verdict

SEEN: Final = 61  # newest states of a context, or changes of a pod, that Observed has at least, where there are more
LONGEST: Final = 600  # characters of a sentence: it may quote what others wrote


class Sync(Protocol):
    """How far a kind is known (store.model.SyncState)."""

    @property
    def state(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def since(self) -> float: ...
    @property
    def error(self) -> str: ...


class Observed(msgspec.Struct, frozen=True):
    """What only time tells. All times are Unix seconds.

    contexts: recent states of a PodSchedulingContext by its key, oldest first. statuses: by a pod's key, when its
    resourceClaimStatuses changed. gone: UID of a pod that is gone -> since when. asked: (key of a pod, its name for a
    claim) -> since when the driver owes an answer or an allocation, 0.0: not known to. standing: key of a pod -> its
    negotiation up to now, None: not known. flapping: (kind, key) of a
    context or a pod -> the first of the changes that followed each other too quickly, without a pause since. lasting:
    (kind, key, mark of doctor/lasting.py) -> since when the object shows it without a break, 0.0: not known to.
    withdrawn: when a slice went last: of ("driver", name), ("pool", driver, pool), ("node", driver, node).
    """

    contexts: Mapping[str, Sequence[SeenContext]] = {}
    statuses: Mapping[str, Sequence[float]] = {}
    gone: Mapping[str, float] = {}
    asked: Callable[[str, str], float] = lambda _pod, _claim: 0.0
    standing: Callable[[str], Standing | None] = lambda _pod: None
    flapping: Mapping[tuple[str, str], float] = {}
    lasting: Callable[[str, str, str], float] = lambda _kind, _key, _mark: 0.0
    withdrawn: Mapping[tuple[str, ...], float] = {}


# Findings of the run before, by code and key, with what they were made from: they are made again only if that differs.
Memo = dict[tuple[str, str], tuple[object, float, Finding]]


class Exam:
    """The arguments of one run, with the few questions that several checks ask."""

    def __init__(
        self,
        cluster: Cluster,
        verdicts: Mapping[str, Verdict],
        sync: Mapping[str, Sync],
        times: Mapping[str, Mapping[str, float]],
        observed: Observed,
        now: float,
        thresholds: Thresholds,
        memo: Memo | None = None,
    ) -> None:
        self.cluster, self.verdicts, self.sync, self.times = cluster, verdicts, sync, times
        self.observed, self.now, self.thresholds = observed, now, thresholds
        self.memo: Memo = {} if memo is None else memo
        self.readable = readable(sync)
        self.once: dict[str, Any] = {}  # what several findings of this run need and is worked out once

    def pending(self) -> list[Pod]:
        return [p for p in self.cluster.pods.values() if p.is_pending]

    def hanging(self, claims: Iterable[str]) -> tuple[Ref, ...]:
        """Pending pods that use one of the claims (keys): whoever looks for why they hang looks for them."""
        return self.pending_among(pod for key in claims for pod in self.cluster.pods_by_claim.members(key))

    def pending_among(self, pods: Iterable[str]) -> tuple[Ref, ...]:
        """Those of the pods (keys) that are pending, once each, by key."""
        known = ((key, self.cluster.pods.get(key)) for key in sorted(set(pods)))
        return tuple(Ref("pods", key) for key, pod in known if pod is not None and pod.is_pending)

    def exists(self, kind: str, key: str) -> bool:
        """Also true of a malformed object: it is there, only not to be read."""
        return key in self.cluster.raw[kind]

    def changed(self, kind: str, key: str) -> float:
        """When the object last changed, 0.0 when that is not known."""
        return self.times.get(kind, {}).get(key, 0.0)

    def lasts(self, kind: str, key: str, mark: str) -> float:
        """Since when the object shows the mark without a break; when it last changed where that is not known."""
        return self.observed.lasting(kind, key, mark) or self.changed(kind, key)

    def verdict(self, pod: Pod) -> Verdict | None:
        verdict = self.verdicts.get(pod.key)
        return verdict if verdict is not None and verdict.uid == pod.uid else None

    def stuck_since(self, pod: Pod) -> float:
        """Since when the pod hangs as it does: of its verdict, else of its creation."""
        verdict = self.verdict(pod)
        return (verdict.since if verdict else 0.0) or created(pod)

    def for_longer(self, since: float, least: float) -> bool:
        """An unknown time is taken for long ago: better told too early than never."""
        return self.now - since >= least

    def finding(
        self,
        code: str,
        identity: tuple[str, ...],
        sentence: str,
        objects: Iterable[Ref],
        since: float,
        *,
        command: tuple[str, ...] = (),
        remedy: str = "",
        namespace: str = "",
        resource_class: str = "",
        driver: str = "",
    ) -> Finding:
        refs = tuple(objects)
        rule = RULES[code]
        return Finding(
            id=finding_id(code, refs[0], *identity),
            code=code,
            severity=rule.severity,
            sentence=sentence if len(sentence) <= LONGEST else f"{sentence[:LONGEST]}…",
            objects=refs[:OBJECTS_KEPT],
            total=len(refs),
            since=since,
            remedy=remedy or rule.remedy,
            command=command or get(refs[0].kind, refs[0].key),
            namespace=namespace,
            resource_class=resource_class,
            driver=driver,
        )


def created(obj: KubeObject) -> float:
    return seconds(obj.metadata.creation_timestamp)


def identity(obj: KubeObject) -> str:
    return obj.uid or obj.key


def count(number: int, one: str) -> str:
    return f"{number} {one}{'' if number == 1 else 's'}"
