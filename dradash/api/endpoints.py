"""Every endpoint of /api/v1, in the order of the documentation."""

from __future__ import annotations

from typing import Final

from dradash.api import (
    changes,
    claims,
    classes,
    compare,
    deviceclasses,
    devices,
    drivers,
    findings,
    lookup,
    negotiations,
    nodes,
    poddevices,
    pods,
    pools,
    selectors,
    slices,
    system,
    taints,
    verdicts,
)
from dradash.api.endpoint import Endpoint

ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    *pods.ENDPOINTS,
    *verdicts.ENDPOINTS,
    *poddevices.ENDPOINTS,
    *claims.ENDPOINTS,
    *negotiations.ENDPOINTS,
    *nodes.ENDPOINTS,
    *classes.ENDPOINTS,
    *drivers.ENDPOINTS,
    *deviceclasses.ENDPOINTS,
    *pools.ENDPOINTS,
    *slices.ENDPOINTS,
    *devices.ENDPOINTS,
    *selectors.ENDPOINTS,
    *taints.ENDPOINTS,
    *findings.ENDPOINTS,
    *changes.ENDPOINTS,
    *compare.ENDPOINTS,
    *system.ENDPOINTS,
    *lookup.ENDPOINTS,
)
