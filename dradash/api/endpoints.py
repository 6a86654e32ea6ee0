"""Every endpoint of /api/v1, in the order of the documentation."""

from __future__ import annotations

from typing import Final

from dradash.api import (
    changes,
    claims,
    classes,
    deviceclasses,
    drivers,
    findings,
    inventory,
    lookup,
    negotiations,
    nodes,
    poddevices,
    pods,
    system,
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
    *inventory.ENDPOINTS,
    *findings.ENDPOINTS,
    *changes.ENDPOINTS,
    *system.ENDPOINTS,
    *lookup.ENDPOINTS,
)
