"""From what an alert, a log or a person knows to addresses: labels, a UID, a name. As /go, but all that there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, projected
from dradash.api.paging import page_of
from dradash.api.schemas import ROOT, Rows, Shape, Total, page, time_of, url
from dradash.problems import UNAVAILABLE, Refusal
from dradash.reader import alertlabels, alertlists, departed
from dradash.reader.alertlabels import KINDS_WITH_PAGES, NAMES, understood
from dradash.reader.moment import APART, ASKED, show
from dradash.reader.nearest import nearest
from dradash.reader.world import World
from dradash.store.model import StoreUnavailable

MOST: Final = 1000  # of what is gone, those that went last
_FIRST: Final = 10_000.0  # rank of what is found by name: behind what labels name


class Found(Shape, frozen=True):
    """gone: when it was deleted, null: it exists. uid: "" of what is no object, and of what is only named by others.

    kind: a plural; drivers, devices (DRIVER/POOL/DEVICE) and pools; findings, whose key is a code; health. key "": a
    list, of which labels leave some rows. at: the moment that url and page are of, null: now. It is another one than
    was asked for where nothing is kept of that, and where another object has the name by now.
    """

    kind: str
    key: str
    uid: str
    gone: str | None
    at: str | None
    url: str | None
    page: str | None


class _Ranked(msgspec.Struct, frozen=True):
    """rank: place among what labels name, or that of the kind."""

    rank: float
    of: alertlabels.Found

    @property
    def identity(self) -> str:
        return "\n".join((self.of.kind, self.of.key, *(f"{name}={value}" for name, value in self.of.filters)))


def lookup(ask: Ask) -> Any:
    found: dict[str, _Ranked] = {}
    labelled, named, is_all = _all(ask)
    ranked = [_Ranked(float(i), one) for i, one in enumerate(labelled)]
    for one in [*ranked, *(_Ranked(_FIRST + KINDS_WITH_PAGES.index(one.kind), one) for one in named)]:
        found.setdefault(one.identity, one)
    with ask.here.follower.world() as world:
        revision, instance = world.revision, world.instance
    rows, count, following = page_of(
        found.values(),
        lambda r: r.identity,
        {"": lambda r: r.rank},
        ask.params,
        ask.question(Found.__name__),
        ask.params.get("limit", params.ROWS),
    )
    return Rows(
        items=tuple(projected(_row(r.of, ask.at, _shown(ask, r.of)), ask) for r in rows),
        total=Total(count=count, exact=is_all),
        next=following,
        revision=revision,
        instance=instance,
    )


def _shown(ask: Ask, found: alertlabels.Found | None) -> float | None:
    try:
        return nearest(ask.here, found, ask.at)
    except StoreUnavailable as error:
        raise Refusal(UNAVAILABLE, f"the history cannot be read: {error}") from error


def _all(ask: Ask) -> tuple[list[alertlabels.Found], list[alertlabels.Found], bool]:
    """What labels name, the most telling first; what has the name or the text; and whether this is all of it."""
    asked = understood({name: value for name, value in ask.params.items() if name in NAMES})
    name, text = ask.get("name"), ask.get("q").casefold()
    labelled: list[alertlabels.Found] = []
    by_name = bool(name or text)
    if not by_name or set(asked) != {"namespace"}:
        labelled = departed.look(ask.here, asked, ask.at)[0]
    if not by_name:
        return labelled, [], True
    wanted = partial(_matches, asked.get("namespace", ""), name, text)
    rows = next((rows for world in _worlds(ask) if (rows := _there(world, wanted))), [])
    gone = ask.here.part(departed.Departed).names(ask.here.model, wanted)
    if ask.at is not None and rows:  # as it was then: of these, what is gone by now
        then = {(one.kind, one.key) for one in rows}
        gone = [one for one in gone if one in then]
    ended = {(one.kind, one.key): one for one in departed.gone_of(ask.here.model, gone[:MOST])}
    rows = [ended.pop((one.kind, one.key), one) for one in rows]
    return labelled, [*rows, *ended.values()], len(gone) <= MOST


def _matches(namespace: str, name: str, text: str, kind: str, key: str) -> bool:  # noqa: ARG001 - of whatever kind
    within, _, bare = key.rpartition("/")
    return (not name or bare == name) and (not namespace or within == namespace) and text in key.casefold()


def _worlds(ask: Ask) -> Iterator[World]:
    """As it was then. Where nothing is kept of then: as it was when the history begins, and as it is now."""
    shown = nearest(ask.here, None, ask.at)
    if shown is not None:
        yield ask.here.past(shown)
    if shown is None or shown != ask.at:
        with ask.here.follower.world() as live:
            yield live


def _there(world: World, wanted: Callable[[str, str], bool]) -> list[alertlabels.Found]:
    return [
        alertlabels.Found(kind, key, there.uid)
        for kind in KINDS_WITH_PAGES
        for key, there in world.cluster.objects(kind).items()
        if wanted(kind, key)
    ]


def _row(found: alertlabels.Found, asked: float | None, shown: float | None) -> Found:
    resource, there = _addresses(found)
    moment = found.last if shown is None else shown
    why = "" if asked is None or (shown is not None and shown - asked < APART) else f"{ASKED}={quote(show(asked), '')}"
    return Found(
        kind=found.kind,
        key=found.key,
        uid=found.uid,
        gone=time_of(found.gone),
        at=time_of(moment),
        url=_of(resource, moment),
        page=_and(_of(there, moment), why),
    )


def _of(address: str | None, moment: float) -> str | None:
    return _and(address, f"at={quote(show(moment), '')}" if moment else "")


def _and(address: str | None, query: str) -> str | None:
    return f"{address}{'&' if '?' in address else '?'}{query}" if address and query else address


def _addresses(found: alertlabels.Found) -> tuple[str | None, str | None]:
    """The resource and the page."""
    key = quote(found.key, "")
    match found.kind:
        case _ if not key:
            resource = ROOT + alertlists.resource_of(found.kind, found.filters)
            return resource, alertlists.page_of(found.kind, found.filters)
        case alertlabels.DEVICES | alertlabels.POOLS:
            place = alertlists.place_of(found.kind, found.key)
            return ROOT + place, place
        case alertlabels.FINDINGS:
            return f"{ROOT}/findings?code={key}", f"/doctor?code={key}"
        case alertlabels.NAMESPACES:
            return f"{ROOT}/pods?namespace={key}", f"/pods?ns={key}"
        case alertlabels.DRIVERS:
            return url(found.kind, found.key), page(found.kind, found.key)
        case _:
            is_known = found.uid or found.gone
            return url(found.kind, found.key) if is_known else None, page(found.kind, found.key)


_LABELS: Final = {
    "uid": "UID of an object that has a page, also of one that is gone. The history has no index of UIDs: of what is "
    f"gone, those are known whose deletion this process has seen (the last {departed.KEPT:,}), and of before, what the "
    f"history keeps of {departed.READ:,} objects (those that are gone before others, then the last changed).",
    "exported_namespace": "The namespace, where `namespace` is the exporter's own.",
    "namespace": "Namespace of what is looked for; alone, it is found itself.",
    "dra_claim_namespace": "As `namespace`, of dcgm-exporter.",
    "exported_pod": "Name of a pod, where `pod` is the exporter's own.",
    "pod": "Name of a pod, or NAMESPACE/NAME. Without a namespace it is found where it is the only one, or where "
    "there is none and it is the only one of those that are gone (and that were there at the alert's time).",
    "claim": "Name of a ResourceClaim, as of a pod.",
    "device": "Name of a device; without `driver` and `pool` it is found where it is the only one (on `node`, if "
    "given too).",
    "slice": "Name of a ResourceSlice.",
    "pool": "Name of a pool; without `driver` it is found where it is the only one.",
    "exported_node": "Name of a node, where `node` is the exporter's own.",
    "node": "Name of a node.",
    "class": "Name of a ResourceClass or DeviceClass, also of one that claims name and that does not exist (`url` is "
    "then null).",
    "deviceclass": "Name of a DeviceClass.",
    "driver": "Name of a driver that a class, a slice or a claim names, or that was heard; other, <any>: the list of "
    "them.",
    "finding": "Code of the doctor.",
    "acts_next": "The list of pods for which this one must act next.",
    "reason": "The list of pods with this reason code.",
    "outcome": "The list of pods with this verdict.",
    "state": "The list of claims in this state.",
    "kind": "A watched kind: the page about dradash itself.",
    "page": f"One of {', '.join(alertlists.PAGES)}; other labels are its filters.",
}


def _told(name: str, ours: str) -> str:
    return _LABELS.get(name) or (f"As `{ours}`." if ours in NAMES else _LABELS[ours])


_EXAMPLES: Final = {"uid": "uid-ml-train", "namespace": "ml"}

ENDPOINTS: Final = (
    Endpoint(
        "lookup",
        "/lookup",
        "system",
        "From a UID, a name, or the labels of an alert to the address of its page",
        Rows[Found],
        lookup,
        (
            *(params.text(name, _told(name, ours), _EXAMPLES.get(name, "")) for name, ours in NAMES.items()),
            params.text("name", "Name of an object of any kind, also of one that is gone.", "train"),
            params.text("q", "Text that a key contains, also of what is gone.", "train"),
            params.ALERTS_AT,
        ),
        row_type=Found,
        varies="now",
        past=False,
    ),
)
