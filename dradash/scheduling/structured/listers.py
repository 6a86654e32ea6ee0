"""The plugin's view of our cluster: claims are made ready for it one by one, as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from dradash.kinds.deviceversions import to_v1
from dradash.kinds.pod import Pod
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.claimwrites import HeldClaim, canonical
from dradash.scheduling.structured.cycle import Listed
from dradash.scheduling.structured.extended import is_extended_claim_of


class Claims(Mapping[str, HeldClaim]):
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def __getitem__(self, key: str) -> HeldClaim:
        claim = self._cluster.device_claims[key]
        raw = to_v1(msgspec.json.decode(self._cluster.raw["resourceclaims"][key]))
        return HeldClaim(canonical(raw), claim)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cluster.device_claims)

    def __len__(self) -> int:
        return len(self._cluster.device_claims)


def listed(cluster: Cluster) -> Listed:
    claims = Claims(cluster)

    def extended_claim(pod: Pod) -> HeldClaim | None:
        owned = sorted(cluster.claims_by_owner.members(pod.uid)) if pod.uid else ()
        mine = (claims[k] for k in owned if k in cluster.device_claims)
        return next((c for c in mine if is_extended_claim_of(pod, c.claim)), None)

    return Listed(claims, cluster.device_classes, cluster.inventory, extended_claim)
