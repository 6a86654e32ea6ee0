"""`describe pod`: answers of the API about one pod as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from dradash.cli.funneltext import funnel_lines
from dradash.cli.style import TONES, Style, safe
from dradash.cli.tables import age, mover
from dradash.scheduling.structured.devicereport import DeviceReport

Json = Mapping[str, Any]
SHOWN: Final = 8  # events, nodes of a group


def described(
    detail: Json, verdict: Json | None, devices: Json | None, negotiation: Json | None, now: float, style: Style
) -> str:
    lines = (
        *_pod(detail, now, style),
        *_verdict(verdict, style),
        *_devices(devices, style),
        *_talk(negotiation, now, style),
    )
    return "\n".join(lines) + "\n"


def _pod(detail: Json, now: float, style: Style) -> Iterator[str]:
    pod = detail["pod"]
    name = safe(f"{pod['namespace']}/{pod['name']}")
    outcome = style(TONES.get(pod["outcome"], ""), str(pod["outcome"]))
    yield f"{style('bold', f'Pod {name}')}: {outcome} for {age(pod['waitingSince'], now)}"
    if detail.get("gone"):
        yield f"  {style('warn', 'gone')} since {safe(detail['gone'])}: this was its last state"
    yield f"  {safe(pod['sentence'])}"
    acts = pod.get("actsNext")
    if acts and acts["who"] != "nobody":
        names = f" {safe(', '.join(acts['names']))}" if acts["names"] else ""
        yield f"  Must act next: {style('bold', acts['who'] + names)}: {safe(acts['what'])}"
    for claim in pod["claims"]:
        parts = (claim["claim"] or "no claim yet", claim["state"], claim["resourceClass"], claim["driver"])
        yield f"  Claim {safe(claim['name'])}: {', '.join(safe(p) for p in parts if p)}"
    for finding in detail.get("findings") or ():
        yield f"{style(TONES.get(finding['severity'], 'dim'), finding['severity'])}: {safe(finding['sentence'])}"
        yield f"  Do: {safe(finding['remedy'])}"
    events = (detail.get("events") or ())[:SHOWN]
    if events:
        yield style("bold", "Events")
    for event in events:
        yield f"  {age(event['at'], now)} ago {safe(event['reporter'])} {safe(event['reason'])}: {safe(event['text'])}"


def _verdict(verdict: Json | None, style: Style) -> Iterator[str]:
    if verdict is None:
        return
    yield style("bold", "Steps")
    for step in verdict["steps"]:
        if step["state"] != "Ran":
            continue
        reasons = "; ".join(safe(r["text"]) for r in step["reasons"])
        yield f"  {step['point']:<10} {step['code']}" + (f" ({safe(step['plugin'])}): {reasons}" if reasons else "")
        for group in step["groups"]:
            nodes = ", ".join(safe(n) for n in group["nodes"][:SHOWN])
            more = ", ..." if group["count"] > SHOWN else ""
            yield f"  {group['count']:>10} {safe((group['reason'] or {}).get('text') or 'fit')} [{nodes}{more}]"
    said = verdict["agreement"]
    if said.get("said"):
        word = {True: "agrees", False: style("bad", "differs")}.get(said.get("agrees"), "not compared")
        yield f"{style('bold', 'The scheduler said')} ({word}): {safe(said['said'])}"


def _devices(devices: Json | None, style: Style) -> Iterator[str]:
    """As `explain` tells them. Nothing for claims of v1alpha2, and where every claim is allocated."""
    if not devices or not devices.get("requests"):
        return
    try:
        whole = {**devices, "node": devices.get("node") or "", "refused": devices.get("refused") or ""}
        report = msgspec.convert(whole, DeviceReport)
    except msgspec.ValidationError as error:
        yield f"{style('bold', 'Devices')}: not told, the server is of another version: {safe(str(error))}"
        return
    yield from funnel_lines(report, style)


def _talk(negotiation: Json | None, now: float, style: Style) -> Iterator[str]:
    if negotiation is None:
        return
    talk = negotiation["negotiation"]
    yield f"{style('bold', 'Negotiation')}: {talk['state']}, {talk['proposed']} nodes proposed, " + (
        f"{safe(talk['selected'])} selected" if talk["selected"] else "none selected"
    )
    for move in talk["moves"]:
        of = f" for {safe(move['claim'])}" if move["claim"] else ""
        actor = safe(mover(move)) or "the driver"
        yield f"  awaited for {age(move['since'], now)}: {actor}{of}: {safe(move['what'])}"
    yield from (f"  warning: {safe(text)}" for text in negotiation.get("warnings") or ())
