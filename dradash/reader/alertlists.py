"""What of an alert's labels names no object: lists and their filters, pools and devices. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar
from urllib.parse import quote, urlencode

from dradash.kinds.registry import KINDS
from dradash.reader.talks import STATES
from dradash.reader.world import World
from dradash.scheduling import states
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.reasons import REASONS
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.verdict import Outcome

NO_REASON: Final = "None"  # for a reason's code: nothing refuses the pod
NOT_JUDGED: Final = "NotJudged"  # for an outcome: there is no verdict yet
HEALTH: Final = "health"  # the page about dradash itself, no kind of the API
_Id = TypeVar("_Id", DeviceID, PoolID)
Filters = tuple[tuple[str, str], ...]  # (our name, value)

# The page of a list -> its kind, its resource, and our names -> the page's and the resource's parameter.
PAGES: Final[Mapping[str, tuple[str, str, Mapping[str, tuple[str, str]]]]] = {
    "pods": (
        "pods",
        "pods",
        {
            "namespace": ("ns", "namespace"),
            "acts_next": ("who", "who"),
            "outcome": ("outcome", "outcome"),
            "reason": ("reason", "reason"),
            "class": ("class", "class"),
            "driver": ("driver", "driver"),
            "node": ("node", "node"),
        },
    ),
    "claims": (
        "resourceclaims",
        "claims",
        {
            "namespace": ("ns", "namespace"),
            "state": ("state", "state"),
            "class": ("class", "class"),
            "driver": ("driver", "driver"),
        },
    ),
    "negotiations": (
        "podschedulingcontexts",
        "negotiations",
        {
            "namespace": ("ns", "namespace"),
            "driver": ("driver", "driver"),
            "state": ("state", "state"),
            "node": ("node", "node"),
        },
    ),
    "doctor": (
        "findings",
        "findings",
        {
            "namespace": ("ns", "namespace"),
            "finding": ("code", "code"),
            "driver": ("driver", "driver"),
            "class": ("class", "class"),
        },
    ),
    "about": (HEALTH, "health", {}),
    "nodes": ("nodes", "nodes", {"class": ("class", "class")}),
    "drivers": ("drivers", "drivers", {}),
    "classes": ("resourceclasses", "classes", {}),
    "devices": (
        "devices",
        "devices",
        {"driver": ("driver", "driver"), "pool": ("pool", "pool"), "node": ("node", "node")},
    ),
    "pools": ("pools", "pools", {"driver": ("driver", "driver")}),
}
_BY_KIND: Final = {kind: (page, resource, filters) for page, (kind, resource, filters) in PAGES.items()}

# Labels of dradash's own metrics that leave some rows of a list -> that list.
_LEAVE: Final = {"acts_next": "pods", "reason": "pods", "outcome": "pods", "state": "claims"}
# What these may say; another exporter's label of the same name says something else.
_VALUES: Final[Mapping[str, frozenset[str]]] = {
    "acts_next": frozenset(code for code, _, _ in states.ACTORS),
    "reason": frozenset((*REASONS, NO_REASON)),
    "outcome": frozenset((*Outcome, NOT_JUDGED)),
    "state": frozenset(map(str, ClaimState)),
    "finding": frozenset(RULES),
}


def lists(asked: Mapping[str, str], world: World) -> Iterator[tuple[str, Filters]]:
    """(kind, filters) of the lists that the labels name: the page that is asked for, then what labels leave rows of."""
    page = asked.get("page", "")
    wanted = [page] if page in PAGES else []
    wanted += [of for label, of in _LEAVE.items() if asked.get(label, "") in _VALUES[label]]
    if page in PAGES and _is_mistyped(page, asked):
        wanted = [of for of in wanted if of != page]
    if asked.get("kind", "") in KINDS:
        wanted.append("about")
    for of in dict.fromkeys(wanted):
        kind, _, filters = PAGES[of]
        yield kind, tuple((name, asked[name]) for name in filters if _leaves(of, name, asked, world))


def _is_mistyped(page: str, asked: Mapping[str, str]) -> bool:
    """A filter of the page says what nothing can: all rows would be another answer than the one asked for."""
    closed = (name for name in PAGES[page][2] if name in _VALUES)
    # A state may be a claim's or a negotiation's, whichever list it stands beside.
    return any(value not in _VALUES[name] and value not in STATES for name in closed if (value := asked.get(name, "")))


def _leaves(of: str, name: str, asked: Mapping[str, str], world: World) -> bool:
    value = asked.get(name, "")
    if of == "negotiations" and name == "state":
        return value in STATES
    if name == "namespace":  # often that of the exporter; of dradash itself, where its own metrics are meant
        return bool(value) and any(key.startswith(f"{value}/") for key in world.cluster.raw["pods"])
    return value not in ("", NO_REASON) and (name not in _VALUES or value in _VALUES[name])


def page_of(kind: str, filters: Filters) -> str:
    """The address of a list's page."""
    page, _, names = _BY_KIND[kind]
    return _address(page, ((names[name][0], value) for name, value in filters))


def resource_of(kind: str, filters: Filters) -> str:
    """The same of the resource, behind the root of the API."""
    _, resource, names = _BY_KIND[kind]
    return _address(resource, ((names[name][1], value) for name, value in filters))


def _address(path: str, query: Iterable[tuple[str, str]]) -> str:
    text = urlencode(tuple(query))
    return f"/{path}?{text}" if text else f"/{path}"


# --- devices ---------------------------------------------------------------------------------------------------------


def place_of(kind: str, key: str) -> str:
    """The path of a device or pool, the same for its page and, behind the root of the API, its resource."""
    driver, _, rest = key.partition("/")
    return f"/{kind}/{quote(driver, safe='')}/{quote(rest, safe='/')}"


def device(asked: Mapping[str, str], world: World) -> DeviceID | None:
    """The device; where driver or pool are not named, the only one of its name (on the node, where that is named)."""
    name, driver, pool = asked.get("device", ""), asked.get("driver", ""), asked.get("pool", "")
    if not name:
        return None
    inventory = world.cluster.inventory
    if driver and pool:
        id_ = DeviceID(driver, pool, name)
        return id_ if _is_published(id_, world) or inventory.holders(id_) else None
    node = asked.get("node", "")
    return _only(
        DeviceID(s.spec.driver, s.spec.pool.name, name)
        for s in inventory.slices.values()
        if driver in ("", s.spec.driver)
        and pool in ("", s.spec.pool.name)
        and (not node or s.spec.node_name in (node, None, ""))  # or of devices that several nodes see
        and any(d.name == name for d in s.spec.devices)
    )


def _is_published(id_: DeviceID, world: World) -> bool:
    slices = world.cluster.inventory.slices_of(PoolID(id_.driver, id_.pool))
    return any(d.name == id_.device for s in slices for d in s.spec.devices)


def pool(asked: Mapping[str, str], world: World) -> PoolID | None:
    """The pool; where no driver is named, the only one of its name."""
    name, driver = asked.get("pool", ""), asked.get("driver", "")
    ids = world.cluster.inventory.pool_ids if name else ()
    return _only(id_ for id_ in ids if id_.pool == name and driver in ("", id_.driver))


def _only(found: Iterable[_Id]) -> _Id | None:
    different = set(found)
    return different.pop() if len(different) == 1 else None
