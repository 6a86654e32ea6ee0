"""What may have ended a finding about an object: the (kind, key) of it and of what it depends on, now or once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim, ResourceClaimTemplate
from dradash.kinds.pod import Pod
from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.scheduling.cluster import Cluster, claim_keys, template_keys
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.structured.requests import class_names
from dradash.store.model import SYNC, VERDICTS, ReadModel

Name = tuple[str, str]

CLAIMS: Final = "resourceclaims"
TEMPLATES: Final = "resourceclaimtemplates"
CLASSES: Final = "resourceclasses"
DEVICE_CLASSES: Final = "deviceclasses"
CONTEXTS: Final = "podschedulingcontexts"
USERS: Final = 50  # of an object, whose histories are looked at
GONE: Final = 300  # objects that are gone, whose last state is looked at for what it named


def names_of(obj: object) -> Iterator[Name]:
    """What the object names, whether it exists or not."""
    if isinstance(obj, Pod):
        yield from ((CLAIMS, key) for key in claim_keys(obj))
        yield from ((TEMPLATES, key) for key in template_keys(obj))
    elif isinstance(obj, ResourceClaim):
        yield CLASSES, obj.spec.resource_class_name
        yield from (("pods", f"{obj.namespace}/{ref.name}") for ref in obj.status.reserved_for)
    elif isinstance(obj, deviceclaim.ResourceClaim):
        yield from ((DEVICE_CLASSES, name) for name in class_names(obj.spec.devices))
        yield from (("pods", f"{obj.namespace}/{ref.name}") for ref in obj.status.reserved_for)
    elif isinstance(obj, ResourceClaimTemplate):
        yield CLASSES, obj.spec.spec.resource_class_name
    elif isinstance(obj, deviceclaim.ResourceClaimTemplate):
        yield from ((DEVICE_CLASSES, name) for name in class_names(obj.spec.spec.devices))


def last_states(model: ReadModel, names: Iterable[Name], end: float) -> Iterator[tuple[Name, object]]:
    """Of what is gone, the state that it had last before `end`. Raises StoreUnavailable."""
    for kind, key in names:
        for entry in model.history(kind, key, end, end, 1):
            try:
                yield (kind, key), read_object(KINDS[kind], entry.object)
            except MalformedObject:
                continue


def once_named(model: ReadModel, name: Name, end: float) -> set[Name]:
    """What the object named in any of its newest states before `end`. Raises StoreUnavailable."""
    kind, key = name
    found: set[Name] = set()
    for entry in model.history(kind, key, 0.0, end, USERS) if kind in KINDS and key else ():
        try:
            found.update(names_of(read_object(KINDS[kind], entry.object)))
        except MalformedObject:
            continue
    return found


def neighbours(name: Name, named: set[Name], cluster: Cluster, gone: Mapping[Name, object]) -> set[Name]:
    """named: by the object. gone: what does not exist any more, with its last state."""
    kind, key = name
    if not key:
        return {(SYNC, kind)}
    found = {name, *named, *(("resourceslices", item) for item in _slices(kind, key, cluster))}
    if kind in ("pods", CONTEXTS):
        return found | _around_pod(key, cluster, gone)
    users = {("pods", pod) for pod in _users(kind, key, cluster)} | {n for n in named if n[0] == "pods"}
    users |= {n for n, obj in gone.items() if name in names_of(obj)}
    for user in sorted(users)[:USERS]:
        found.add(user)
        if user[0] == "pods":
            found |= _around_pod(user[1], cluster, gone)
    return found


def _around_pod(key: str, cluster: Cluster, gone: Mapping[Name, object]) -> set[Name]:
    pod = cluster.pods.get(key) or gone.get(("pods", key))
    events = (("events", event) for event in cluster.events_by_object.members(f"Pod/{key}"))
    return {("pods", key), (VERDICTS, key), (CONTEXTS, key), *events, *names_of(pod)}


def _slices(kind: str, key: str, cluster: Cluster) -> list[str]:
    """Of the pool that a slice is part of, of a node, of the pools whose devices a claim has; some of them."""
    inventory = cluster.inventory
    pools: set[PoolID] = set()
    if kind == "resourceslices" and key in inventory.slices:
        spec = inventory.slices[key].spec
        pools.add(PoolID(spec.driver, spec.pool.name))
    elif kind == CLAIMS and key in cluster.device_claims:
        allocation = cluster.device_claims[key].status.allocation
        pools |= {PoolID(r.driver, r.pool) for r in allocation.devices.results} if allocation else set()
    found = {item.name for pool in pools for item in inventory.slices_of(pool)}
    if kind == "nodes":
        found |= {item.name for item in inventory.slices_naming(key)}
    return sorted(found)[:USERS]


def _users(kind: str, key: str, cluster: Cluster) -> Iterable[str]:
    if kind == CLAIMS:
        return cluster.pods_by_claim.members(key)
    if kind == TEMPLATES:
        return cluster.pods_by_template.members(key)
    if kind in (CLASSES, DEVICE_CLASSES):
        index = cluster.claims_by_class if kind == CLASSES else cluster.claims_by_device_class
        claims = sorted(index.members(key))[:USERS]
        return {pod for claim in claims for pod in cluster.pods_by_claim.members(claim)}
    return ()
