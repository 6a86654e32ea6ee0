"""Claims that ask for too much by their words alone: known without a look at any device."""

from __future__ import annotations

from collections.abc import Iterable

from dradash.kinds.deviceclaim import ALL, MAX_RESULTS, ResourceClaim
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.requests import requests_of


def oversized(claims: Iterable[ResourceClaim]) -> tuple[Hint, ...]:
    """A hint for each claim that asks for more devices than one may have, whatever node it is on.

    Nothing where any of the claims asks for all devices: how many these are depends on the node.
    """
    found = []
    for claim in claims:
        requests = [requests_of(r) for r in claim.spec.devices.requests]
        if any(r.mode == ALL for of in requests for r in of):
            return ()
        least = sum(min(r.count for r in of) for of in requests)
        if least > MAX_RESULTS:
            found.append(over_limit(claim, least))
    return tuple(found)


def over_limit(claim: ResourceClaim, least: int, node: str = "", *, named: bool = False) -> Hint:
    """least: devices that it asks for at least. node: on which, "" where it is the same on all; named: say so."""
    name, where = object_name(claim), f" on {node}" if node and named else ""
    sentence = f"claim {name} asks for {least} devices{where}, and a claim may have {MAX_RESULTS} at most"
    return Hint(kind="limit", sentence=sentence, claim=name, request="", node=node, verified=False)
