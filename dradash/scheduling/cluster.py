"""The cluster in memory, as the scheduler's listers see it, with the reverse indices that change tracking needs.

One writer calls put and remove; readers take what they need at once. Every index is adjusted by the change alone, so a
change costs the same however many objects there are.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim, ResourceClaimTemplate
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.devicetaintrule import DeviceTaintRule
from dradash.kinds.event import Event
from dradash.kinds.meta import KubeObject, controller_uid
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.kinds.resourceclass import ResourceClass
from dradash.kinds.resourceslice import ResourceSlice
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.places import Places
from dradash.scheduling.structured.claimstate import drivers_of
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.requests import class_names

# Events that say why the scheduler did not place a pod; newer ones replace older ones in the index.
FAILED_SCHEDULING: Final = "FailedScheduling"


def claim_keys(pod: Pod) -> set[str]:
    """Keys of the claims that the pod names or that were generated for it, whether they exist or not."""
    generated = {s.name: s.resource_claim_name for s in pod.status.resource_claim_statuses}
    names = (c.claim_name if c.claim_name is not None else generated.get(c.name) for c in pod.spec.resource_claims)
    return {f"{pod.namespace}/{n}" for n in names if n}


def template_keys(pod: Pod) -> set[str]:
    return {f"{pod.namespace}/{c.template_name}" for c in pod.spec.resource_claims if c.template_name}


class Index:
    """A many-to-many index: group -> members, adjusted when a member's groups change."""

    def __init__(self) -> None:
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        self._groups: dict[str, set[str]] = {}

    def set(self, member: str, groups: set[str]) -> None:
        old = self._groups.get(member, set())
        for group in old - groups:
            self._members[group].discard(member)
            if not self._members[group]:
                del self._members[group]
        for group in groups - old:
            self._members[group].add(member)
        if groups:
            self._groups[member] = groups
        else:
            self._groups.pop(member, None)

    def __contains__(self, group: str) -> bool:
        return group in self._members

    def members(self, group: str) -> frozenset[str]:
        return frozenset(self._members.get(group, ()))

    def groups(self) -> frozenset[str]:
        """Groups that have a member."""
        return frozenset(self._members)

    def copy(self) -> Index:
        other = Index()
        other._members.update((group, members.copy()) for group, members in self._members.items())
        other._groups = self._groups.copy()  # its sets are replaced, never changed
        return other


_INDICES: Final = (
    "pods_by_claim",
    "pods_by_template",
    "claims_by_class",
    "claims_by_device_class",
    "claims_by_owner",
    "claims_by_driver",
    "claims_by_reserving_pod",
    "claims_by_reserving_name",
    "events_by_object",
    "pods_by_uid",
)


class Cluster:
    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.claims: dict[str, ResourceClaim] = {}  # v1alpha2
        self.device_claims: dict[str, deviceclaim.ResourceClaim] = {}  # all later versions
        self.classes: dict[str, ResourceClass] = {}
        self.inventory = Inventory()
        self.device_classes = self.inventory.classes
        self.templates: dict[str, ResourceClaimTemplate | deviceclaim.ResourceClaimTemplate] = {}
        self.contexts: dict[str, PodSchedulingContext] = {}
        self.namespaces: dict[str, KubeObject] = {}
        self.events: dict[str, Event] = {}
        self.nodes = NodeTable()
        self.claims_version = ""  # of resource.k8s.io, as claims are watched; "": not known
        self.raw: dict[str, dict[str, bytes]] = {plural: {} for plural in KINDS}
        self.malformed: dict[str, dict[str, str]] = {plural: {} for plural in KINDS}  # kind -> key -> what is wrong
        self.pods_by_claim = Index()
        self.pods_by_template = Index()
        self.claims_by_class = Index()
        self.claims_by_device_class = Index()
        self.claims_by_owner = Index()  # group: UID of a claim's controller
        self.claims_by_driver = Index()  # group: the drivers that allocated it
        self.claims_by_reserving_pod = Index()  # group: UID of the pod in status.reservedFor
        self.claims_by_reserving_name = Index()  # group: key of that pod, whatever its UID
        self.places = Places()  # allocated claims by the nodes where they can be used
        self.events_by_object = Index()  # group: "kind/namespace/name" of what the event is about
        self.pods_by_uid: dict[str, str] = {}
        self._by_kind: dict[str, dict[str, Any]] = {
            "pods": self.pods,
            "resourceclaims": {},
            "resourceclasses": self.classes,
            "deviceclasses": self.device_classes,
            "resourceslices": self.inventory.slices,
            "devicetaintrules": self.inventory.rules,
            "resourceclaimtemplates": self.templates,
            "podschedulingcontexts": self.contexts,
            "namespaces": self.namespaces,
            "events": self.events,
            "nodes": self.nodes.by_name,
        }

    def copy(self) -> Cluster:
        """A cluster of its own with the same objects: they are frozen, so nothing is decoded again."""
        other = Cluster()
        other.nodes = self.nodes.copy()
        other._by_kind["nodes"] = other.nodes.by_name
        other.inventory = self.inventory.copy()
        other._by_kind["resourceslices"] = other.inventory.slices
        other._by_kind["devicetaintrules"] = other.inventory.rules
        other.device_classes = other._by_kind["deviceclasses"] = other.inventory.classes
        for kind, objects in self._by_kind.items():
            if kind not in ("nodes", "resourceslices", "devicetaintrules", "deviceclasses"):
                other._by_kind[kind].update(objects)
        other.claims_version = self.claims_version
        other.places = self.places.copy()
        other.claims.update(self.claims)
        other.device_claims.update(self.device_claims)
        for kind, raw in self.raw.items():
            other.raw[kind].update(raw)
            other.malformed[kind].update(self.malformed[kind])
        for name in _INDICES:
            setattr(other, name, getattr(self, name).copy())
        return other

    # --- changes ---------------------------------------------------------------------------------------------------

    def put(self, kind: str, key: str, raw: bytes, slot: int | None = None) -> tuple[Any, Any]:
        """Add or replace an object; (old, new) as structs, either may be None (absent or malformed).

        A malformed object is kept raw and listed in `malformed`; for the scheduler's logic it does not exist.
        """
        old = self._by_kind[kind].get(key)
        self.raw[kind][key] = raw
        try:
            new = read_object(KINDS[kind], raw)
            if new.key != key:
                raise MalformedObject(f"its metadata names {new.key!r}")
        except MalformedObject as error:
            self._forget(kind, key)
            self.malformed[kind][key] = str(error)
            return old, None
        self.malformed[kind].pop(key, None)
        if isinstance(new, Node):
            self.nodes.put(new, slot)
            self.inventory.node_changed(key)
        elif isinstance(new, ResourceSlice):
            self.inventory.put_slice(key, new)
            new = self.inventory.slices[key]
        elif isinstance(new, DeviceTaintRule):
            self.inventory.put_rule(key, new)
        elif isinstance(new, DeviceClass):
            self.inventory.put_class(key, new)
        else:
            if kind == "pods":
                self._forget_uid(key, old)  # a list may bring another pod of the same name without a deletion between
            self._by_kind[kind][key] = new
            self._index(kind, key, new)
        return old, new

    def remove(self, kind: str, key: str) -> Any:
        """Remove an object; the struct it had, or None."""
        old = self._by_kind[kind].get(key)
        self.raw[kind].pop(key, None)
        self.malformed[kind].pop(key, None)
        self._forget(kind, key)
        return old

    def _forget(self, kind: str, key: str) -> None:
        if kind == "nodes":
            self.nodes.remove(key)
            self.inventory.node_changed(key)
            return
        if kind == "resourceslices":
            self.inventory.put_slice(key, None)
            return
        if kind == "devicetaintrules":
            self.inventory.put_rule(key, None)
            return
        if kind == "deviceclasses":
            self.inventory.put_class(key, None)
            return
        old = self._by_kind[kind].pop(key, None)
        if kind == "pods":
            self._forget_uid(key, old)
        self._index(kind, key, None)

    def _forget_uid(self, key: str, old: Pod | None) -> None:
        if old is not None and self.pods_by_uid.get(old.uid) == key:
            del self.pods_by_uid[old.uid]

    def _index(self, kind: str, key: str, obj: Any) -> None:
        match kind:
            case "pods":
                self.pods_by_claim.set(key, claim_keys(obj) if obj else set())
                self.pods_by_template.set(key, template_keys(obj) if obj else set())
                if obj:
                    self.pods_by_uid[obj.uid] = key
            case "resourceclaims":
                self._index_claim(key, obj)
                reserved = obj.status.reserved_for if obj else ()
                self.claims_by_reserving_pod.set(key, {r.uid for r in reserved})
                self.claims_by_reserving_name.set(key, {f"{obj.namespace}/{r.name}" for r in reserved if r.name})
            case "events":
                self.events_by_object.set(key, {about(obj)} if obj else set())
            case _:
                pass

    def _index_claim(self, key: str, claim: ResourceClaim | deviceclaim.ResourceClaim | None) -> None:
        self.claims.pop(key, None)
        self.device_claims.pop(key, None)
        owner = controller_uid(claim.metadata) if claim else None
        self.claims_by_owner.set(key, {owner} if owner else set())
        by_class: set[str] = set()
        by_device_class: set[str] = set()
        where = None
        if isinstance(claim, deviceclaim.ResourceClaim):
            self.device_claims[key] = claim
            by_device_class = class_names(claim.spec.devices)
            where = claim.status.allocation.node_selector if claim.status.allocation else None
        elif claim is not None:
            self.claims[key] = claim
            by_class = {claim.spec.resource_class_name}
            where = claim.status.allocation.available_on_nodes if claim.status.allocation else None
        self.places.put(key, where, allocated=claim is not None and claim.status.allocation is not None)
        self.claims_by_class.set(key, by_class)
        self.claims_by_device_class.set(key, by_device_class)
        self.claims_by_driver.set(key, _drivers(claim))
        self.inventory.put_claim(key, self.device_claims.get(key))

    # --- the scheduler's listers -----------------------------------------------------------------------------------

    def objects(self, kind: str) -> dict[str, Any]:
        """Well-formed objects of the kind by key."""
        return self._by_kind[kind]

    def claim(self, namespace: str, name: str) -> ResourceClaim | None:
        return self.claims.get(f"{namespace}/{name}")

    def context_of(self, pod: Pod) -> PodSchedulingContext | None:
        return self.contexts.get(pod.key)

    def body(self, kind: str, key: str) -> dict[str, Any]:
        """The object as the API server sent it: the base of an update's body."""
        value: dict[str, Any] = msgspec.json.decode(self.raw[kind][key])
        return value

    def events_about(self, kind: str, key: str) -> list[Event]:
        """Events about an object (kind as in involvedObject: "Pod"), oldest first."""
        events = (self.events[k] for k in self.events_by_object.members(f"{kind}/{key}"))
        return sorted(events, key=lambda e: e.last_seen or "")


def _drivers(claim: ResourceClaim | deviceclaim.ResourceClaim | None) -> set[str]:
    if isinstance(claim, deviceclaim.ResourceClaim):
        return set(drivers_of(claim))
    return {claim.status.driver_name} if claim is not None and claim.status.driver_name else set()


def about(event: Event) -> str:
    ref = event.about
    return f"{ref.kind}/{ref.namespace}/{ref.name}" if ref.namespace else f"{ref.kind}/{ref.name}"
