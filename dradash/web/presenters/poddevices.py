"""Why a pod gets no devices: what would change it, and the funnel of each request, on all nodes or on one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.devicereport import DeviceReport, NodesAlike
from dradash.scheduling.structured.extended import SPECIAL_NAME
from dradash.scheduling.structured.funnel import FunnelStage, Loss, LostDevice, RequestFunnel
from dradash.scheduling.structured.requests import requests_of
from dradash.scheduling.verdict import Outcome, Verdict
from dradash.web.presenters.query import Query
from dradash.web.presenters.steps import untold
from dradash.web.presenters.words import (
    Chip,
    bench_href,
    claim_href,
    device_class_href,
    device_href,
    plural,
    pod_href,
    split,
)

NODE: Final = "node"
SHOWN: Final = 12  # devices of a loss that are named
KINDS: Final[Mapping[str, str]] = {
    "devices": "question",
    "class": "question",
    "pool": "chip",
    "free": "box",
    "capacity": "gear",
    "tolerate": "lock",
    "constraint": "stop",
    "selector": "pen",
    "together": "turns",
    "limit": "stop",
}
NO_SELECTORS: Final[Mapping[tuple[str, str], str]] = {}
_ENDS: Final = "such a device ends the attempt, whatever other nodes have"


class Link(msgspec.Struct, frozen=True):
    """href: "" for what is no object, and has no page."""

    text: str
    href: str


class HintView(msgspec.Struct, frozen=True):
    icon: str
    sentence: str
    request: str
    pods: tuple[Link, ...]


class DeviceView(msgspec.Struct, frozen=True):
    name: str
    title: str
    href: str
    claims: tuple[Link, ...]


class LossView(msgspec.Struct, frozen=True):
    id: str
    why: str
    count: int
    values: str
    stops: str
    devices: tuple[DeviceView, ...]
    unlisted: int


class StageView(msgspec.Struct, frozen=True):
    name: str
    lost: int
    left: int
    share: int  # of what was seen, in percent
    losses: tuple[LossView, ...]


class RequestView(msgspec.Struct, frozen=True):
    name: str
    claim: Link
    device_class: Link
    needed: str
    chip: Chip
    stages: tuple[StageView, ...]
    bench_href: str  # its selectors, to be tried


class NodesRow(msgspec.Struct, frozen=True):
    node: str
    href: str
    nodes: int
    missing: str
    message: str


class AnswerRow(msgspec.Struct, frozen=True):
    message: str
    nodes: str
    effect: str


class DevicesView(msgspec.Struct, frozen=True):
    """nothing: why there is no funnel, "" if there is one. of: on how many nodes. incomplete: what is not told."""

    nothing: str
    node: str = ""
    no_node: bool = False
    all_href: str = ""
    of: str = ""
    refused: str = ""
    answers: tuple[AnswerRow, ...] = ()
    fixes: tuple[HintView, ...] = ()  # changes that were tried, with which it fits
    facts: tuple[HintView, ...] = ()  # what is in the way too, or was not tried
    requests: tuple[RequestView, ...] = ()
    situations: tuple[NodesRow, ...] = ()
    incomplete: str = ""


def present(
    report: DeviceReport | None,
    query: Query,
    selectors: Mapping[tuple[str, str], str] = NO_SELECTORS,
    *,
    gone: bool = False,
    no_node: bool = False,
    verdict: Verdict | None = None,
) -> DevicesView:
    """no_node: there is no such node as the query names. selectors: of (claim key, request), as one expression.
    verdict: the one in force."""
    node = query.get(NODE)
    all_href = query.link(node=None)
    if no_node:
        return DevicesView("There is no such node.", node, no_node=True, all_href=all_href)
    if report is None:
        return DevicesView("The pod is gone." if gone else _nothing(verdict))
    return DevicesView(
        nothing="",
        node=node,
        all_href=all_href,
        of=_of(report),
        refused=report.refused,
        answers=tuple(_answer(a.message, a.nodes, stops=a.stops) for a in report.answers),
        fixes=tuple(_hint(h) for h in report.hints if h.verified),
        facts=tuple(_hint(h) for h in report.hints if not h.verified),
        requests=tuple(
            _request(i, r, report, selectors.get((r.claim, r.request), "")) for i, r in enumerate(report.requests)
        ),
        situations=tuple(_situation(s, query) for s in report.situations) if not node else (),
        incomplete=_incomplete(report),
    )


def _nothing(verdict: Verdict | None) -> str:
    """Why there is no report on a pod that is there."""
    if verdict is not None and verdict.outcome is Outcome.UNKNOWN:
        return untold(verdict, gone=False)
    return "No claim of the pod waits for devices."


def _of(report: DeviceReport) -> str:
    if report.node:
        return f"on {report.node}"
    seen = f"looked at on {report.nodes_seen} of " if report.nodes_seen < report.nodes else "on "
    return f"{seen}{plural(report.nodes, 'node')}"


def _incomplete(report: DeviceReport) -> str:
    """ "" where everything is told, and where only some nodes were looked at, which `of` says."""
    if not report.requests_left_out:
        return ""
    told = len(report.requests)
    return f"The first {told} of {told + report.requests_left_out} requests are told: the rest was not looked at."


def _answer(message: str, nodes: int, *, stops: bool) -> AnswerRow:
    effect = "ends the whole attempt" if stops else "excludes these nodes alone" if message else "the claims fit"
    return AnswerRow(message or "fits", plural(nodes, "node"), effect)


def _hint(hint: Hint) -> HintView:
    pods = tuple(Link(p, pod_href(p)) for p in hint.pods)
    return HintView(KINDS.get(hint.kind, "question"), hint.sentence, hint.request, pods)


def _request(place: int, request: RequestFunnel, report: DeviceReport, selector: str) -> RequestView:
    seen = request.stages[0].left
    return RequestView(
        name=request.request,
        claim=Link(request.claim, "" if split(request.claim)[1] == SPECIAL_NAME else claim_href(request.claim)),
        device_class=Link(request.device_class, device_class_href(request.device_class)),
        needed="all" if request.needed is None else str(request.needed),
        chip=_chip(request, report),
        stages=tuple(_stage(f"{place}-{i}", s, seen) for i, s in enumerate(request.stages)),
        bench_href=bench_href(selector, request.device_class),
    )


def selectors_of(claims: Mapping[str, ResourceClaim], report: DeviceReport | None) -> dict[tuple[str, str], str]:
    """Of each request of the report, what its claim's selectors ask for together."""
    keys = {r.claim for r in report.requests} if report else set()
    found = {}
    for key in keys & claims.keys():
        for request in (r for of in claims[key].spec.devices.requests for r in requests_of(of)):
            parts = [s.cel.expression for s in request.selectors if s.cel is not None]
            found[key, request.full_name] = parts[0] if len(parts) == 1 else " && ".join(f"({p})" for p in parts)
    return found


def _chip(request: RequestFunnel, report: DeviceReport) -> Chip:
    if not request.nodes_enough:
        return Chip("too few", "bad", "cross", "No node has enough devices left for this request")
    if report.node:
        return Chip("enough", "good", "check", "The node has enough devices left for this request alone")
    title = "Nodes that have enough devices left for this request alone"
    return Chip(f"enough on {plural(request.nodes_enough, 'node')}", "good", "check", title)


def _stage(id_: str, stage: FunnelStage, seen: int) -> StageView:
    losses = tuple(_loss(f"lost-{id_}-{i}", one) for i, one in enumerate(stage.losses))
    return StageView(stage.stage, stage.lost, stage.left, round(100 * stage.left / seen) if seen else 0, losses)


def _loss(id_: str, loss: Loss) -> LossView:
    shown = loss.devices[:SHOWN]
    return LossView(
        id=id_,
        why=loss.why,
        count=loss.count,
        values=", ".join(f"{v.text} ({v.count})" for v in loss.values),
        stops=_ENDS if loss.stops else "",
        devices=tuple(_device(d) for d in shown),
        unlisted=loss.count - len(shown),
    )


def _device(device: LostDevice) -> DeviceView:
    where = f" on {device.node}" if device.node else ""
    title = f"{device.driver}/{device.pool}/{device.device}{where}"
    name = f"{device.pool}/{device.device}"
    href = device_href((device.driver, device.pool, device.device))
    return DeviceView(name, title, href, tuple(Link(c, claim_href(c)) for c in device.claims))


def _situation(alike: NodesAlike, query: Query) -> NodesRow:
    missing = plural(alike.missing, "device") if alike.missing else "none by themselves" if alike.message else "none"
    return NodesRow(alike.node, query.link(node=alike.node), alike.nodes, missing, alike.message)
