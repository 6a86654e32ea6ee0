"""What PreBind, PostFilter and Unreserve need of the API server: claims to read, and writes that may be refused.

The plugin reads the answers of its writes, so effects alone are not enough here. `ClaimWrites` keeps the claims in
memory, answers as the API server would if nobody else wrote, and records what was written.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from dradash.kinds import quantity as quantities
from dradash.kinds.deviceclaim import MAX_RESERVED_FOR, ResourceClaim
from dradash.kinds.deviceversions import V1BETA1, to_v1beta1
from dradash.kinds.quantity import InvalidQuantity
from dradash.kinds.registry import decode
from dradash.scheduling import marshal
from dradash.scheduling.effects import Effect

Raw = dict[str, Any]

CLAIMS: Final = "resourceclaims"
STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"


class APIError(Exception):
    """A refused request: `reason` is the API's (Conflict, NotFound, Invalid)."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class HeldClaim(msgspec.Struct, frozen=True):
    """A claim as it came and as it reads."""

    raw: Raw
    claim: ResourceClaim


def held(raw: Raw) -> HeldClaim:
    """Raises MalformedObject."""
    return HeldClaim(canonical(raw), decode(ResourceClaim, raw))


def canonical(claim: Raw) -> Raw:
    """The claim as Go writes it again: without unset fields, its quantities in canonical form.

    The input is not touched.
    """
    claim = marshal.device_claim(claim)
    return _canonical(claim) if '"consumedCapacity"' in (text := json.dumps(claim)) or '"capacity"' in text else claim


def _canonical(value: Any) -> Any:
    if isinstance(value, list):
        return [_canonical(v) for v in value]
    if not isinstance(value, dict):
        return value
    changed = {k: _canonical(v) for k, v in value.items()}
    if isinstance(consumed := value.get("consumedCapacity"), dict):
        changed["consumedCapacity"] = _quantities(consumed)
    capacity = value.get("capacity")
    if isinstance(capacity, dict) and isinstance(capacity.get("requests"), dict):
        changed["capacity"] = {**capacity, "requests": _quantities(capacity["requests"])}
    return changed


def _body(claim: Raw) -> Raw:
    """Of a write: also what was copied into the claim from elsewhere is written as Go does, in the claim's version."""
    body = copy.deepcopy(marshal.device_claim(claim))
    return to_v1beta1(body) if body.get("apiVersion") == V1BETA1 else body


def _quantities(amounts: Raw) -> Raw:
    return {name: _quantity(text) for name, text in amounts.items()}


def _quantity(text: Any) -> Any:
    try:
        return str(quantities.decoded(str(text)))
    except InvalidQuantity:
        return text


def key_of(raw: Raw) -> str:
    meta = raw["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def retry_on_conflict(attempt: Callable[[], None]) -> None:
    """retry.RetryOnConflict with the default of five tries, without its pauses. `attempt` may raise APIError."""
    for _ in range(4):
        try:
            attempt()
        except APIError as error:
            if error.reason != "Conflict":
                raise
        else:
            return
    attempt()


class ClaimWrites:
    def __init__(
        self,
        claims: Mapping[str, Raw],
        *,
        conflicts: int = 0,
        status_conflicts: int = 0,
    ) -> None:
        """`conflicts`: so many of the next updates are refused with a conflict, whatever they say."""
        self._claims = dict(claims)
        self._conflicts = {"": conflicts, "status": status_conflicts}
        self._version = 1_000_000
        self.effects: list[Effect] = []
        self.refused: dict[int, str] = {}  # place in effects -> reason

    def put(self, claim: Raw) -> None:
        """Somebody else wrote the claim."""
        self._claims[key_of(claim)] = canonical(claim)

    def remove(self, key: str) -> None:
        """Somebody else deleted the claim."""
        self._claims.pop(key, None)

    def get(self, namespace: str, name: str) -> Raw:
        claim = self._claims.get(f"{namespace}/{name}")
        if claim is None:
            raise _not_found(name)
        return copy.deepcopy(claim)

    def update(self, claim: Raw) -> Raw:
        return self._updated(claim, "")

    def update_status(self, claim: Raw) -> Raw:
        return self._updated(claim, "status")

    def create(self, claim: Raw) -> Raw:
        meta = claim["metadata"]
        self._record(Effect("create", CLAIMS, meta["namespace"], "", _body(claim)))
        stored = copy.deepcopy(claim)
        # The names are made up; the API server draws its own.
        stored["metadata"] |= {"name": f"{meta['generateName']}00000", "uid": "created-uid-1"}
        return self._store(stored)

    def delete(self, namespace: str, name: str) -> None:
        self._record(Effect("delete", CLAIMS, namespace, name))
        if self._claims.pop(f"{namespace}/{name}", None) is None:
            self._refuse("NotFound")
            raise _not_found(name)

    def patch_status(self, resource: str, namespace: str, name: str, patch: Raw) -> None:
        self._record(Effect("patch", resource, namespace, name, patch, "status", STRATEGIC_MERGE))
        if resource != CLAIMS:
            return
        claim = self._claims.get(f"{namespace}/{name}")
        if claim is None:
            raise _not_found(name)
        gone = {r["uid"] for r in patch["status"]["reservedFor"]}
        status = claim.get("status", {})
        kept = [r for r in status.get("reservedFor", ()) if r.get("uid") not in gone]
        self._store({**claim, "status": {**status, "reservedFor": kept}})

    def _updated(self, claim: Raw, subresource: str) -> Raw:
        meta = claim["metadata"]
        name = meta["name"]
        self._record(Effect("update", CLAIMS, meta["namespace"], name, _body(claim), subresource))
        try:
            stored = self._accepted(claim, name, subresource)
        except APIError as error:
            if error.reason == "Conflict":
                self._version += 1  # somebody else's write
            self._refuse(error.reason)
            raise
        if subresource:
            return self._store({**stored, "status": copy.deepcopy(claim.get("status", {}))})
        return self._store({**copy.deepcopy(claim), "status": stored.get("status", {})})

    def _accepted(self, claim: Raw, name: str, subresource: str) -> Raw:
        if self._conflicts[subresource] > 0:
            self._conflicts[subresource] -= 1
            raise _conflict(name)
        stored = self._claims.get(key_of(claim))
        if stored is None:
            raise _not_found(name)
        if claim["metadata"].get("resourceVersion") != stored["metadata"].get("resourceVersion"):
            raise _conflict(name)
        reserved = len(claim.get("status", {}).get("reservedFor", ()))
        if subresource and reserved > MAX_RESERVED_FOR:
            wrong = f"status.reservedFor: Too many: {reserved}: must have at most {MAX_RESERVED_FOR} items"
            raise APIError("Invalid", f'ResourceClaim.resource.k8s.io "{name}" is invalid: {wrong}')
        return stored

    def _store(self, claim: Raw) -> Raw:
        self._version += 1
        claim = {**claim, "metadata": {**claim["metadata"], "resourceVersion": str(self._version)}}
        self._claims[key_of(claim)] = claim
        return copy.deepcopy(claim)

    def _record(self, effect: Effect) -> None:
        self.effects.append(effect)

    def _refuse(self, reason: str) -> None:
        self.refused[len(self.effects) - 1] = reason


def _not_found(name: str) -> APIError:
    return APIError("NotFound", f'resourceclaims.resource.k8s.io "{name}" not found')


def _conflict(name: str) -> APIError:
    changed = "the object has been modified; please apply your changes to the latest version and try again"
    return APIError("Conflict", f'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "{name}": {changed}')
