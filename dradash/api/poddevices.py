"""Why a pod's claims get no devices: the funnel of each request, and what would change it."""

from __future__ import annotations

from typing import Any, Final

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, projected
from dradash.api.pods import find
from dradash.api.schemas import Shape, time_of
from dradash.problems import NOT_FOUND, Refusal
from dradash.reader.devicereports import DeviceReports
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.devicereport import DeviceReport, NodesAlike, NodesAnswer
from dradash.scheduling.structured.funnel import RequestFunnel


class PodDevices(Shape, frozen=True):
    """requests is empty for a pod whose claims are all allocated, or are of v1alpha2: no scheduler looks for devices.

    node: null for all nodes; nodes: those that other plugins leave; nodesSeen: on how many of them the devices were
    looked at. refused: why the attempt ends before any node is looked at, null if it does not. answers: what the plugin
    says of the nodes. situations: nodes that look the same to the requests, the nearest to a solution first.
    complete: false where the look at so many devices ended before all requests (requestsLeftOut: the last ones and
    their alternatives) or all nodes were looked at.
    """

    pod: str
    node: str | None
    nodes: int
    nodes_seen: int
    refused: str | None
    answers: tuple[NodesAnswer, ...]
    requests: tuple[RequestFunnel, ...]
    hints: tuple[Hint, ...]
    situations: tuple[NodesAlike, ...]
    complete: bool
    requests_left_out: int
    gone: str | None


_EMPTY: Final = DeviceReport(
    pod="", node="", nodes=0, nodes_seen=0, refused="", answers=(), requests=(), hints=(), situations=()
)


def devices(ask: Ask) -> Any:
    item, gone = find(ask)
    node = ask.get("node")
    report = None
    if not gone:
        with ask.world() as world:
            if node and node not in world.cluster.nodes.by_name:
                raise Refusal(NOT_FOUND, f"node: there is no Node {node[:100]}")
            report = ask.here.part(DeviceReports).report(world, item.pod, ask.now, node, ask.at)
    return projected(_body(item.key, node, report or _EMPTY, gone), ask)


def _body(key: str, node: str, report: DeviceReport, gone: float) -> PodDevices:
    return PodDevices(
        pod=key,
        node=node or None,
        nodes=report.nodes,
        nodes_seen=report.nodes_seen,
        refused=report.refused or None,
        answers=report.answers,
        requests=report.requests,
        hints=report.hints,
        situations=report.situations,
        complete=report.complete,
        requests_left_out=report.requests_left_out,
        gone=time_of(gone),
    )


ENDPOINTS: Final = (
    Endpoint(
        "pod-devices",
        "/pods/{namespace}/{name}/devices",
        "pods",
        "Where the pod's requests lose devices, and what would change it",
        PodDevices,
        devices,
        (params.text("node", "On this node only.", "node-1"),),
        varies="time",
    ),
)
