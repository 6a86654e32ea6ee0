"""How far devices get for each request, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dradash.cli.style import Style, safe
from dradash.scheduling.structured.devicereport import DeviceReport
from dradash.scheduling.structured.funnel import FunnelStage, Loss, RequestFunnel

LOSSES: Final = 5  # of a stage
NAMED: Final = 4  # devices of a loss


def funnel_lines(report: DeviceReport, style: Style) -> Iterator[str]:
    where = f"on {safe(report.node)}" if report.node else f"on {report.nodes_seen} of {report.nodes} nodes"
    yield style("bold", f"Devices ({where})")
    if report.requests_left_out:
        told = len(report.requests)
        yield "  " + style(
            "warn", f"incomplete: the first {told} of {told + report.requests_left_out} requests are told"
        )
    for request in report.requests:
        yield f"  {_title(request, style)}"
        yield from (f"    {line}" for stage in request.stages for line in _stage(stage, style))
    for answer in report.answers:
        effect = " (ends the whole attempt)" if answer.stops else ""
        yield f"  {answer.nodes:>6} {safe(answer.message) or 'fit'}{effect}"
    fixes, facts = ([h for h in report.hints if h.verified is helps] for helps in (True, False))
    if fixes:
        yield style("bold", "What would make it fit")
    for hint in fixes:
        notes = [safe(hint.request)] * bool(hint.request) + [style("good", "tried")]
        yield f"  {safe(hint.sentence)} ({'; '.join(notes)})"
    if facts:
        yield style("bold", "What is in the way, of which no single change was seen to be enough")
    for hint in facts:
        yield f"  {safe(hint.sentence)}" + (f" ({safe(hint.request)})" if hint.request else "")


def _title(request: RequestFunnel, style: Style) -> str:
    needed = "all devices" if request.needed is None else str(request.needed)
    enough = f"enough on {request.nodes_enough}" if request.nodes_enough else "too few everywhere"
    word = style("good" if request.nodes_enough else "bad", enough)
    return (
        f"{safe(request.claim)}, {safe(request.request)}: needs {needed} of class {safe(request.device_class)}, {word}"
    )


def _stage(stage: FunnelStage, style: Style) -> Iterator[str]:
    lost = f" (-{stage.lost})" if stage.lost else ""
    yield f"{stage.left:>6} {stage.stage}{lost}"
    for loss in stage.losses[:LOSSES]:
        yield f"{'':>9}{loss.count}: {_loss(loss)}" + (
            f" {style('bad', 'ends the whole attempt')}" if loss.stops else ""
        )
    if len(stage.losses) > LOSSES:
        yield f"{'':>9}and {len(stage.losses) - LOSSES} more reasons"


def _loss(loss: Loss) -> str:
    met = ", ".join(f"{safe(v.text)} ({v.count})" for v in loss.values)
    devices = ", ".join(f"{safe(d.pool)}/{safe(d.device)}" + _held(d.claims) for d in loss.devices[:NAMED])
    more = ", ..." if loss.count > NAMED else ""
    return safe(loss.why) + (f"; met {met}" if met else "") + (f" [{devices}{more}]" if devices else "")


def _held(claims: tuple[str, ...]) -> str:
    return f" held by {', '.join(map(safe, claims))}" if claims else ""
