from __future__ import annotations

from typing import Any

import pytest

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.registry import decode
from dradash.scheduling.classic.claimstate import ClaimState, claim_flags, claim_state
from tests import build

ALLOCATED = {"allocation": build.allocation("node-0", shareable=True)}


@pytest.mark.parametrize(
    ("how", "state", "flags"),
    [
        ({}, ClaimState.PENDING, ()),
        ({"mode": "Immediate"}, ClaimState.IMMEDIATE_UNALLOCATED, ("immediate",)),
        (ALLOCATED, ClaimState.ALLOCATED, ("allocated", "shareable")),
        (ALLOCATED | {"mode": "Immediate"}, ClaimState.ALLOCATED, ("allocated", "shareable", "immediate")),
        (ALLOCATED | {"reserved_for": [build.pod()]}, ClaimState.RESERVED, ("allocated", "reserved", "shareable")),
        (
            ALLOCATED | {"deallocation_requested": True, "reserved_for": [build.pod()]},
            ClaimState.DEALLOCATION_REQUESTED,
            ("deallocation requested", "allocated", "reserved", "shareable"),
        ),
        (
            ALLOCATED | {"deallocation_requested": True, "deletionTimestamp": build.CREATED},
            ClaimState.DELETING,
            ("deleting", "deallocation requested", "allocated", "shareable"),
        ),
    ],
)
def test_one_headline_and_everything_that_is_true(
    how: dict[str, Any], state: ClaimState, flags: tuple[str, ...]
) -> None:
    claim = decode(ResourceClaim, build.raw(build.claim(**how)))
    assert claim_state(claim) is state
    assert claim_flags(claim) == flags
