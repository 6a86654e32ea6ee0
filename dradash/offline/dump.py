"""A cluster made of objects that somebody gathered, and what is not in it. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import msgspec

from dradash.kinds.defaults import with_defaults
from dradash.kinds.deviceclaim import ResourceClaimTemplate
from dradash.kinds.pod import Pod
from dradash.kinds.registry import KINDS, STRUCTURED
from dradash.offline.documents import Listed
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.generation import Generation, generations_of
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.structured.extended import is_backed, pod_requests

_BY_NAME: Final = {(k.group, k.kind): k for k in KINDS.values()} | {("events.k8s.io", "Event"): KINDS["events"]}
_DRA: Final = "resource.k8s.io"
_OLDER: Final = ("resourceclasses", "podschedulingcontexts")
_NEWER: Final = ("deviceclasses", "resourceslices")
_SINGULAR: Final = {k.plural: k.kind for k in KINDS.values()}

# What a verdict on claims that are not allocated rests on besides the claims: kind -> what cannot be decided without.
_RESTS_ON: Final = {
    Generation.CLASSIC: {"resourceclasses": "who allocates the claims and on which nodes"},
    Generation.STRUCTURED: {
        "deviceclasses": "which devices the claims may have",
        "resourceslices": "which devices there are",
    },
}


class Missing(msgspec.Struct, frozen=True):
    """A kind (or "file", "object") that the input lacks or that cannot be read.

    decides: without it there is no verdict, else a part is not known.
    """

    kind: str
    what: str
    decides: bool


class Dump:
    """`take` every document, then read. A later state of an object (by resourceVersion) replaces an earlier one."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.known: set[str] = set()  # plurals of kinds of which there is an object, or an empty list
        self.versions: dict[str, str] = {}  # of kinds with structured parameters, the newest that an object has
        self.foreign: Counter[str] = Counter()  # "resource.k8s.io/v1alpha3 ResourceClaim": not judged by this version
        self.other: Counter[str] = Counter()  # kinds that decide nothing here
        self.broken: list[str] = []  # files that held objects which nobody could read
        self.notes: list[str] = []
        self.now = 0.0  # newest time that the objects speak of: the dump was made then or later

    def take(self, listed: Listed, where: str) -> None:
        self.notes += listed.notes
        for name in listed.listed:
            version, _, kind = name.partition(" ")
            if (known := _kind(version, kind)) is not None:
                self.known.add(known)
        for number, obj in enumerate(listed.objects, 1):
            self._take(obj, where, number)

    def leave_out(self, where: str, error: str, *, may_matter: bool) -> None:
        """may_matter: the file held objects, so one that decides may be missing from now on."""
        self.notes.append(f"left out: {error}")
        if may_matter:
            self.broken.append(where)

    def _take(self, obj: dict[str, Any], where: str, number: int) -> None:
        version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
        plural = _kind(version, kind)
        if plural is None:
            of_dra = version.partition("/")[0] == _DRA and _is_ours(kind)
            (self.foreign if of_dra else self.other)[f"{version} {kind}"] += 1
            return
        meta = obj.get("metadata")
        name = meta.get("name") if isinstance(meta, dict) else None
        if not isinstance(meta, dict) or not isinstance(name, str) or not name:
            self.notes.append(f"{where}: object {number}, a {kind} without a name, is left out")
            return
        key = f"{meta.get('namespace') or 'default'}/{name}" if KINDS[plural].namespaced else name
        if KINDS[plural].namespaced and not meta.get("namespace"):
            obj = obj | {"metadata": meta | {"namespace": "default"}}
        self.known.add(plural)
        self.now = max(self.now, _newest(obj))
        old = self.cluster.raw[plural].get(key)
        if old is not None and _version_of(json.loads(old)) > _version_of(obj):
            return
        self._serves(plural, version.rpartition("/")[2])
        obj = with_defaults(_without_managed_fields(obj))  # it may be a manifest, which no API server has seen
        self.cluster.put(plural, key, json.dumps(obj).encode())  # also lone surrogates
        if error := self.cluster.malformed[plural].get(key):
            self.notes.append(f"{where}: {kind} {key} cannot be read: {error}")

    def _serves(self, plural: str, version: str) -> None:
        known = self.versions.get(plural, version)
        if version in STRUCTURED and KINDS[plural].group == _DRA:
            self.versions[plural] = min(version, known, key=STRUCTURED.index)

    @property
    def foregone(self) -> Collection[str]:
        """Kinds of the generation that nothing in the input is of: it would not be gathered where it is not served."""
        cluster = self.cluster
        newer = any(isinstance(t, ResourceClaimTemplate) for t in cluster.templates.values())
        older = any(not isinstance(t, ResourceClaimTemplate) for t in cluster.templates.values())
        newer = newer or bool(cluster.device_claims) or not self.known.isdisjoint(_NEWER)
        older = older or bool(cluster.claims) or not self.known.isdisjoint(_OLDER)
        if newer == older:
            return ()
        return _OLDER if newer else _NEWER

    def claims_made(self) -> None:
        """Claims were put beside those of the input, as from templates."""
        if "resourceclaims" not in self.known:
            self.known.add("resourceclaims")
            self.notes.append("no ResourceClaim in the input: judged as if no other claim had anything allocated")

    def pods(self) -> list[Pod]:
        """Those that use claims, or get devices for an extended resource, by key."""
        return [p for _, p in sorted(self.cluster.pods.items()) if p.spec.resource_claims or self._is_extended(p)]

    def _is_extended(self, pod: Pod) -> bool:
        return is_backed(pod_requests(pod), self.cluster.device_classes)

    def missing(self, pod: Pod) -> Iterator[Missing]:
        """What the verdict on this pod rests on and the input does not hold."""
        if self.broken:
            what = f"{self.broken[0]} cannot be read: cannot decide, an object that the verdict rests on may be in it"
            yield Missing("file", what, True)
        if pod.spec.scheduling_gates:
            return  # refused before anything else is looked at
        if "nodes" not in self.known:
            yield Missing("Node", "no Node in the input: cannot decide which nodes fit", True)
        if pod.spec.resource_claims:
            yield from self._missing_of_claims(pod)
            yield from self._not_vital(pod)
        elif self._is_extended(pod) and "resourceslices" not in self.known:
            yield self._lacking("resourceslices", _RESTS_ON[Generation.STRUCTURED]["resourceslices"])

    def _missing_of_claims(self, pod: Pod) -> Iterator[Missing]:
        if "resourceclaims" not in self.known:
            yield self._lacking("resourceclaims", "whether the pod's claims exist and are allocated")
            return
        for generation in sorted(generations_of(pod, self.cluster)):
            for plural, without in _RESTS_ON[generation].items():
                if plural not in self.known and self._waits_for_allocation(pod):
                    yield self._lacking(plural, without)

    def _lacking(self, plural: str, without: str) -> Missing:
        kind = _SINGULAR[plural]
        other = next((name for name in self.foreign if name.endswith(f" {kind}")), "")
        if other:
            return Missing(kind, f"{other} in the input: cannot decide, judged are {judged_versions(plural)}", True)
        return Missing(kind, f"no {kind} in the input: cannot decide {without}", True)

    def _not_vital(self, pod: Pod) -> Iterator[Missing]:
        if self.cluster.raw["resourceclaims"] and not self._has_claims_in(pod.namespace):
            # A deciding one would hide the commonest answer of all, that the claim was never created.
            what = f"no ResourceClaim of namespace {pod.namespace} in the input: taken as none, was it gathered?"
            yield Missing("ResourceClaim", what, False)
        if "podschedulingcontexts" not in self.known and Generation.CLASSIC in generations_of(pod, self.cluster):
            what = "no PodSchedulingContext in the input: taken as not negotiated yet"
            yield Missing("PodSchedulingContext", what, False)
        if "events" not in self.known:
            what = "no Event in the input: what the scheduler said is only in the pod's condition"
            yield Missing("Event", what, False)
        if "resourceclaimtemplates" not in self.known and any(c.template_name for c in pod.spec.resource_claims):
            what = "no ResourceClaimTemplate in the input: whether the pod's templates exist is not known"
            yield Missing("ResourceClaimTemplate", what, False)

    def _has_claims_in(self, namespace: str) -> bool:
        return any(key.partition("/")[0] == namespace for key in self.cluster.raw["resourceclaims"])

    def _waits_for_allocation(self, pod: Pod) -> bool:
        names = (claim_name(pod, entry).name for entry in pod.spec.resource_claims)
        known = self.cluster.objects("resourceclaims")
        claims = (known.get(f"{pod.namespace}/{name}") for name in names if name)
        return any(c is not None and c.status.allocation is None for c in claims)


def judged_versions(plural: str) -> str:
    """In words: resource.k8s.io/v1, v1beta2 ..."""
    *others, last = KINDS[plural].versions
    return f"{_DRA}/{', '.join(others)} and {last}" if others else f"{_DRA}/{last}"


def _kind(version: str, kind: str) -> str | None:
    """The plural of a kind that is judged in this version; None for others."""
    group, _, bare = version.rpartition("/")
    found = _BY_NAME.get((group, kind))
    if found is None or (found.group == _DRA and bare not in found.versions):
        return None
    return found.plural


def _is_ours(kind: str) -> bool:
    return (_DRA, kind) in _BY_NAME


def _without_managed_fields(obj: dict[str, Any]) -> dict[str, Any]:
    meta = obj["metadata"]
    return obj | {"metadata": {k: v for k, v in meta.items() if k != "managedFields"}}


def _version_of(obj: dict[str, Any]) -> int:
    text = str(obj["metadata"].get("resourceVersion", ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


_TIMES: Final = (
    "allocationTimestamp",
    "creationTimestamp",
    "lastTransitionTime",
    "lastHeartbeatTime",
    "lastTimestamp",
    "eventTime",
    "startTime",
    "time",
)


def _newest(obj: dict[str, Any]) -> float:
    status = obj.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    meta = obj["metadata"]
    allocation = status.get("allocation") if isinstance(status, dict) else None
    places: Iterable[Any] = (
        *(obj, meta, *_dicts([allocation])),
        *_dicts(meta.get("managedFields")),
        *_dicts(conditions),
    )
    texts = (place.get(name) for place in places for name in _TIMES)
    return max((seconds(t) for t in texts if isinstance(t, str)), default=0.0)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
