"""Whether this dradash can be relied on: the checks of /livez and /readyz. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.registry import KINDS
from dradash.reader.world import Freshness
from dradash.store.model import SyncState

# A kind that the API server does not have, or that the role leaves out on purpose, is told on every page: it does not
# come back by waiting, so it does not make a dradash unready.
_GIVEN: Final = frozenset({"synced", "notServed", "forbidden"})
CHECKS: Final = ("model", "leader", "kinds", "judging")


class Check(msgspec.Struct, frozen=True):
    """why: one sentence when it is not ok. It names no object and quotes no error: the address is open to everybody."""

    name: str
    ok: bool
    why: str = ""


def readiness(freshness: Freshness, sync: Mapping[str, SyncState], now: float, queue_age: float) -> list[Check]:
    """queue_age: seconds that a pod may wait to be judged."""
    if freshness.state != "live":
        why = "nothing was read yet" if freshness.state == "loading" else "the model in Redis cannot be read"
        return [Check("model", False, why), *(Check(name, False, "not known: see model") for name in CHECKS[1:])]
    return [Check("model", True), _leader(freshness), _kinds(sync), _judging(freshness, now, queue_age)]


def _leader(freshness: Freshness) -> Check:
    if freshness.leader:
        return Check("leader", True)
    why = "Redis refuses writes" if freshness.refusing else "the watching worker's log says why, if one runs"
    return Check("leader", False, f"nobody watches the cluster: {why}")


def _kinds(sync: Mapping[str, SyncState]) -> Check:
    states = {kind: sync[kind].state if kind in sync else "unknown" for kind in KINDS}
    if set(states.values()) <= {"forbidden", "notServed"}:
        return Check("kinds", False, "no kind can be read: see the credentials, the role and the watching worker's log")
    bad = [f"{kind} {state}" for kind, state in states.items() if state not in _GIVEN]
    return Check("kinds", not bad, ", ".join(bad))


def _judging(freshness: Freshness, now: float, queue_age: float) -> Check:
    age = now - freshness.due_since if freshness.due else 0.0
    if age <= queue_age:
        return Check("judging", True)
    pods = "1 pod waits" if freshness.due == 1 else f"{freshness.due} pods wait"
    return Check("judging", False, f"{pods} to be judged, the oldest for {age:.0f} s; {queue_age:g} s are allowed")


def report(name: str, checks: Sequence[Check], excluded: Collection[str], verbose: bool) -> tuple[str, int]:
    """Body and HTTP status, in the form of Kubernetes' own: all checks when one fails or when asked for, else `ok`."""
    lines, failed = [], False
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok")
        elif check.ok:
            lines.append(f"[+]{check.name} ok")
        else:
            failed = True
            lines.append(f"[-]{check.name} failed: {check.why}")
    unknown = sorted(set(excluded) - {c.name for c in checks})
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {', '.join(unknown)}")
    if failed:
        return "\n".join([*lines, f"{name} check failed"]) + "\n", 503
    return ("\n".join([*lines, f"{name} check passed"]) + "\n" if verbose else "ok\n"), 200
