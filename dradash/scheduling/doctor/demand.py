"""Which devices are asked for and not allocated: the selectors of each request, with those of its class."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import DeviceRequest, DeviceSelector, ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.pod import Pod
from dradash.scheduling.cluster import Cluster, claim_keys
from dradash.scheduling.doctor.exam import Exam
from dradash.scheduling.structured.anymatch import Chain
from dradash.scheduling.structured.extended import class_by_resource, is_extended_resource, pod_requests
from dradash.scheduling.structured.requests import requests_of
from dradash.scheduling.verdict import Outcome

_REFUSED: Final = frozenset({Outcome.UNSCHEDULABLE, Outcome.ERROR})


class Alternative(msgspec.Struct, frozen=True):
    """What a subrequest, or the request itself, asks for. chain: the selectors of its class, `of_class` many, first."""

    class_name: str
    chain: Chain
    of_class: int


def expressions(selectors: tuple[DeviceSelector, ...]) -> Chain:
    return tuple(s.cel.expression if s.cel else "" for s in selectors)


def alternatives(request: DeviceRequest, classes: dict[str, DeviceClass]) -> tuple[Alternative, ...]:
    """() where one of them names a class that is not there: what it would match is not known."""
    found = []
    for each in requests_of(request):
        of = classes.get(each.class_name)
        if of is None:
            return ()
        first = expressions(of.spec.selectors)
        found.append(Alternative(each.class_name, first + expressions(each.selectors), len(first)))
    return tuple(found)


def is_wanting(claim: ResourceClaim) -> bool:
    return claim.status.allocation is None and claim.metadata.deletion_timestamp is None


def refused_chains(exam: Exam) -> dict[Chain, list[str]]:
    """What pending pods that no node takes ask for -> the keys of these pods, sorted."""
    found: dict[Chain, set[str]] = {}
    cluster = exam.cluster
    resolver = class_by_resource(cluster.device_classes)
    for pod in exam.pending():
        verdict = exam.verdict(pod)
        if verdict is None or verdict.generation == "classic" or verdict.outcome not in _REFUSED:
            continue
        for chain in _chains(pod, cluster, resolver):
            found.setdefault(chain, set()).add(pod.key)
    return {chain: sorted(pods) for chain, pods in found.items()}


def pods_wanting(exam: Exam, classes: Collection[str]) -> set[str]:
    """Keys of pods, pending or not, that wait for devices of these classes: by a claim, or an extended resource."""
    cluster = exam.cluster
    found: set[str] = set()
    for name in classes:
        for key in cluster.claims_by_device_class.members(name):
            if is_wanting(cluster.device_claims[key]):
                found |= cluster.pods_by_claim.members(key)
    resources = {r for r, name in class_by_resource(cluster.device_classes).items() if name in classes}
    by_resource = _pods_by_resource(exam)
    return found.union(*(by_resource.get(r, ()) for r in resources))


def _pods_by_resource(exam: Exam) -> dict[str, set[str]]:
    """Extended resource -> keys of pending pods that ask for it."""
    found: dict[str, set[str]] | None = exam.once.get("pods by resource")
    if found is None:
        found = exam.once["pods by resource"] = {}
        for pod in exam.pending():
            for name, amount in pod_requests(pod).items():
                if is_extended_resource(name) and not amount.is_zero:
                    found.setdefault(name, set()).add(pod.key)
    return found


def _chains(pod: Pod, cluster: Cluster, resolver: dict[str, str]) -> Iterator[Chain]:
    for key in claim_keys(pod):
        claim = cluster.device_claims.get(key)
        if claim is not None and is_wanting(claim):
            for request in claim.spec.devices.requests:
                yield from (a.chain for a in alternatives(request, cluster.device_classes))
    for name, amount in pod_requests(pod).items():
        if name in resolver and is_extended_resource(name) and not amount.is_zero:
            yield expressions(cluster.device_classes[resolver[name]].spec.selectors)
