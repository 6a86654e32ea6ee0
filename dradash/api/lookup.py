"""From what an alert, a log or a person knows to addresses: labels, a UID, a name. As /go, but all that there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint
from dradash.api.schemas import ROOT, Rows, Shape, Total, page, time_of, url
from dradash.reader import alertlabels, departed
from dradash.reader.alertlabels import KINDS_WITH_PAGES, NAMES, understood
from dradash.reader.moment import show

MOST: Final = 100


class Found(Shape, frozen=True):
    """gone: when it was deleted, null: it exists. uid: "" of what is no object, and of what is only named by others.

    kind: a plural; drivers (key "": the list of them); findings, whose key is a code. With `at`, and where another
    object has the name by now, url and page are of a moment at which it was there.
    """

    kind: str
    key: str
    uid: str
    gone: str | None
    url: str | None
    page: str | None


def lookup(ask: Ask) -> Any:
    found: dict[tuple[str, str], alertlabels.Found] = {}
    for one in _all(ask):
        found.setdefault((one.kind, one.key), one)
    with ask.here.follower.world() as world:
        revision, instance = world.revision, world.instance
    rows = tuple(_row(one, ask.at) for one in list(found.values())[:MOST])
    total = Total(count=len(found), exact=len(found) < MOST)
    return Rows(items=rows, total=total, next=None, revision=revision, instance=instance)


def _all(ask: Ask) -> Iterator[alertlabels.Found]:
    asked = understood({name: value for name, value in ask.params.items() if name in NAMES})
    name, text = ask.get("name"), ask.get("q")
    by_name = bool(name or text)
    if not by_name or set(asked) != {"namespace"}:
        yield from departed.look(ask.here, asked)[0]
    if by_name:
        yield from _by_name(ask, asked.get("namespace", ""), name, text.casefold())


def _by_name(ask: Ask, namespace: str, name: str, text: str) -> Iterator[alertlabels.Found]:
    count = 0
    with ask.world() as world:
        for kind in KINDS_WITH_PAGES:
            for key, there in world.cluster.objects(kind).items():
                if (name and there.name != name) or (namespace and there.namespace != namespace):
                    continue
                if text in key.casefold() and count < MOST:
                    count += 1
                    yield alertlabels.Found(kind, key, there.uid)


def _row(found: alertlabels.Found, at: float | None) -> Found:
    address, there = _addresses(found)
    moment = found.last if at is None else at
    return Found(
        kind=found.kind,
        key=found.key,
        uid=found.uid,
        gone=time_of(found.gone),
        url=_of(address, moment),
        page=_of(there, moment),
    )


def _of(address: str | None, moment: float) -> str | None:
    if not address or not moment:
        return address
    return f"{address}{'&' if '?' in address else '?'}at={quote(show(moment), '')}"


def _addresses(found: alertlabels.Found) -> tuple[str | None, str | None]:
    """The resource and the page."""
    key = quote(found.key, "")
    match found.kind:
        case alertlabels.FINDINGS:
            return f"{ROOT}/findings?code={key}", f"/doctor?code={key}"
        case alertlabels.NAMESPACES:
            return f"{ROOT}/pods?namespace={key}", f"/pods?ns={key}"
        case alertlabels.DRIVERS if not key:
            return f"{ROOT}/drivers", "/drivers"
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
    "exported_pod": "Name of a pod, where `pod` is the exporter's own.",
    "pod": "Name of a pod, or NAMESPACE/NAME. Without a namespace it is found where it is the only one.",
    "claim": "Name of a ResourceClaim, as of a pod.",
    "resourceclaim": "As `claim`.",
    "node": "Name of a node.",
    "class": "Name of a ResourceClass, also of one that claims name and that does not exist (`url` is then null).",
    "resourceclass": "As `class`.",
    "driver": "Name of a driver that a class or a claim names, or that was heard; other: the list of them.",
    "finding": "Code of the doctor.",
}
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
            *(params.text(name, _LABELS[name], _EXAMPLES.get(name, "")) for name in NAMES),
            params.text("name", "Name of an object of any kind.", "train"),
            params.text("q", "Text that a key contains.", "train"),
            params.ALERTS_AT,
        ),
        varies="now",
        past=False,
    ),
)
