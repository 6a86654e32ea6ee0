"""Words, tones and shapes: how states look, everywhere the same. A tone never comes without an icon and a word."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from dradash.scheduling.classic.claimstate import MISSING, UNREADABLE, ClaimState
from dradash.scheduling.status import Code
from dradash.scheduling.verdict import ActsNext, Outcome, Step, StepState

LONGEST: Final = 1000  # characters of a text that others wrote
LONGEST_NAME: Final = 300
SHOWN: Final = 20  # entries of a list that others wrote


def cut(text: str, longest: int = LONGEST) -> str:
    """The text's beginning, with how much was left out: a page must not grow with what others write."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest:,} more characters)"


def few(texts: Sequence[str], shown: int = SHOWN) -> tuple[str, ...]:
    """The first of them, with how many were left out: an object may have thousands."""
    rest = len(texts) - shown
    first = tuple(cut(text, LONGEST_NAME) for text in texts[:shown])
    return (*first, f"… {rest:,} more") if rest > 0 else first


class Chip(msgspec.Struct, frozen=True):
    """tone: good, busy, warn, bad, idle. icon: a symbol of templates/_icons.html. title: a sentence."""

    text: str
    tone: str
    icon: str
    title: str = ""


NOT_JUDGED: Final = Chip("Not judged yet", "idle", "clock", "dradash has not looked at this pod yet")

OUTCOMES: Final[dict[Outcome, Chip]] = {
    Outcome.UNKNOWN: Chip("Unknown", "idle", "question", "What the verdict needs cannot be read now"),
    Outcome.ERROR: Chip("Error", "bad", "alert", "Judging failed, or an extension point answered Error"),
    Outcome.GATED: Chip("Gated", "idle", "lock", "Scheduling gates hold it back"),
    Outcome.BLOCKED: Chip("Blocked", "bad", "stop", "PreEnqueue refuses: not even queued, and no event says so"),
    Outcome.UNSCHEDULABLE: Chip("Unschedulable", "bad", "cross", "No node passes, or PreFilter refuses"),
    Outcome.WAITING: Chip("Waiting", "busy", "turns", "Scheduler and drivers are negotiating"),
    Outcome.SCHEDULABLE: Chip("Schedulable", "good", "arrow", "The next attempt binds it"),
    Outcome.BOUND: Chip("Bound", "good", "check", "Has a node"),
    Outcome.TERMINATING: Chip("Terminating", "idle", "trash", "Ends before it ever had a node"),
}

CLAIM_STATES: Final[dict[str, Chip]] = {
    ClaimState.PENDING: Chip("Pending", "busy", "clock", "Not allocated: waits for its first consumer"),
    ClaimState.IMMEDIATE_UNALLOCATED: Chip(
        "Immediate, unallocated", "warn", "alert", "The driver must allocate before any pod can be scheduled"
    ),
    ClaimState.ALLOCATED: Chip("Allocated", "good", "check", "Allocated, reserved for nobody"),
    ClaimState.RESERVED: Chip("Reserved", "good", "lock", "Allocated and reserved"),
    ClaimState.DEALLOCATION_REQUESTED: Chip(
        "Deallocation requested", "warn", "turns", "The driver must take the allocation back"
    ),
    ClaimState.DELETING: Chip("Deleting", "warn", "trash", "Has a deletion timestamp"),
    MISSING: Chip("Missing", "bad", "question", "There is no such claim"),
    UNREADABLE: Chip("Unreadable", "bad", "alert", "The claim is there, but no valid object"),
}

SYNC_STATES: Final[dict[str, Chip]] = {
    "unknown": Chip("Unknown", "idle", "question", "Nobody has asked the API server yet"),
    "notServed": Chip("Not served", "warn", "stop", "The API server does not know this resource"),
    "forbidden": Chip("Forbidden", "bad", "lock", "The API server refuses: check the role"),
    "syncing": Chip("Syncing", "busy", "turns", "The first list is under way"),
    "synced": Chip("Synced", "good", "check", "Listed and watched"),
    "stale": Chip("Stale", "warn", "clock", "Was synced, and cannot be read now"),
    "notKept": Chip("Not known for this moment", "idle", "question", "The history does not say how far it was known"),
}

CODES: Final[dict[Code, Chip]] = {
    Code.SUCCESS: Chip("Success", "good", "check"),
    Code.SKIP: Chip("Skip", "idle", "skip", "Has nothing to do for this pod"),
    Code.ERROR: Chip("Error", "bad", "alert"),
    Code.UNSCHEDULABLE: Chip("Unschedulable", "bad", "cross"),
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: Chip("Unresolvable", "bad", "cross", "UnschedulableAndUnresolvable"),
    Code.WAIT: Chip("Wait", "busy", "clock"),
    Code.PENDING: Chip("Pending", "busy", "turns"),
}

ACTORS: Final = {
    "scheduler": "gear",
    "driver": "chip",
    "claim controller": "gear",
    "garbage collector": "gear",
    "pod": "box",
    "admin": "person",
    "nobody": "skip",
}


def outcome_chip(outcome: Outcome | None) -> Chip:
    if outcome is None:
        return NOT_JUDGED
    return OUTCOMES.get(outcome, Chip(outcome, "idle", "question"))


def claim_chip(state: str) -> Chip:
    return CLAIM_STATES.get(state, Chip(state or "Unknown", "idle", "question"))


def sync_chip(state: str) -> Chip:
    return SYNC_STATES.get(state, Chip(state, "idle", "question"))


def step_chip(step: Step) -> Chip:
    if step.state is StepState.NOT_REACHED:
        return Chip("Not reached", "idle", "dots", "An earlier point decided")
    if step.state is StepState.NOT_IN_VERSION:
        return Chip("Not in this version", "idle", "skip")
    return CODES[step.code]


class Actor(msgspec.Struct, frozen=True):
    who: str
    icon: str
    names: tuple[str, ...]
    what: str


def actor(acts: ActsNext) -> Actor:
    return Actor(acts.who, ACTORS.get(acts.who, "question"), few(acts.names), cut(acts.what))


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


# --- addresses -------------------------------------------------------------------------------------------------------


def split(key: str) -> tuple[str, str]:
    """namespace and name of a key; the namespace is "" for cluster-wide kinds."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def pod_href(key: str) -> str:
    namespace, name = split(key)
    return f"/ns/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"


def claim_href(key: str) -> str:
    namespace, name = split(key)
    return f"/ns/{quote(namespace, safe='')}/claims/{quote(name, safe='')}"


def negotiation_href(key: str) -> str:
    namespace, name = split(key)
    return f"/ns/{quote(namespace, safe='')}/negotiations/{quote(name, safe='')}"


def node_href(name: str) -> str:
    return f"/nodes/{quote(name, safe='')}"


def class_href(name: str) -> str:
    return f"/classes/{quote(name, safe='')}"


def device_class_href(name: str) -> str:
    return f"/deviceclasses/{quote(name, safe='')}"


def bench_href(expression: str = "", device_class: str = "", driver: str = "") -> str:
    """The selector bench with this filled in."""
    given = {"class": device_class, "driver": driver, "expression": expression}
    query = urlencode({name: value for name, value in given.items() if value})
    return "/selectors" + (f"?{query}" if query else "")


def taint_rule_href(name: str) -> str:
    """What the rule does: it has no other page."""
    return "/taints?" + urlencode({"rule": name})


def slice_href(name: str) -> str:
    return f"/slices/{quote(name, safe='')}"


def pool_href(driver: str, pool: str) -> str:
    """A pool's name may have slashes."""
    return f"/pools/{quote(driver, safe='')}/{quote(pool)}"


def device_href(device: tuple[str, str, str]) -> str:
    """device: driver, pool and name."""
    driver, pool, name = device
    return f"/devices/{quote(driver, safe='')}/{quote(pool)}/{quote(name, safe='')}"


def driver_href(name: str) -> str:
    return f"/drivers/{quote(name, safe='')}"


def _pool_of_key(key: str) -> str:
    driver, _, pool = key.partition("/")
    return pool_href(driver, pool)


def _device_of_key(key: str) -> str:
    """Only the pool's name may have slashes."""
    driver, _, rest = key.partition("/")
    pool, _, name = rest.rpartition("/")
    return device_href((driver, pool, name))


_PAGES: Final = {
    "pools": _pool_of_key,
    "devices": _device_of_key,
    "pods": pod_href,
    "verdicts": pod_href,
    "podschedulingcontexts": negotiation_href,
    "resourceclaims": claim_href,
    "nodes": node_href,
    "resourceclasses": class_href,
    "deviceclasses": device_class_href,
    "resourceslices": slice_href,
    "devicetaintrules": taint_rule_href,
}


def href(kind: str, key: str) -> str:
    """The page of an object; "" for kinds without one."""
    page = _PAGES.get(kind)
    return page(key) if page else ""


def row_id(prefix: str, key: str) -> str:
    """An element id for any key: names from the cluster are not made for ids."""
    return f"{prefix}-{hashlib.blake2b(key.encode(), digest_size=8).hexdigest()}"
