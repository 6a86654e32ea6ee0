"""An explanation as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dradash.cli.funneltext import funnel_lines
from dradash.cli.style import TONES, Style, safe
from dradash.offline.explain import Explanation, Group, Talk

NAMED: Final = 8  # nodes of a group that are named


def told(found: Explanation, style: Style) -> str:
    return "\n".join(_lines(found, style)) + "\n"


def _lines(found: Explanation, style: Style) -> Iterator[str]:
    yield f"{style('bold', f'Pod {safe(found.pod)}')}: {style(TONES.get(found.outcome, ''), found.outcome)}"
    yield f"  {safe(found.sentence)}"
    if found.acts_next and found.acts_next.who != "nobody":
        names = f" {safe(', '.join(found.acts_next.names))}" if found.acts_next.names else ""
        yield f"  Must act next: {style('bold', found.acts_next.who + names)}: {safe(found.acts_next.what)}"
    yield from _titled("Missing in the input", [style("warn", m) for m in found.missing], style)
    yield from _titled(
        "Claims", [_claim(c.name, c.claim, c.resource_class, c.driver, c.state) for c in found.claims], style
    )
    yield from _titled("Steps", list(_steps(found)), style)
    yield from _titled(
        f"Nodes ({found.nodes_fit} of {found.nodes_total} fit)", [_group(g) for g in found.groups], style
    )
    if found.devices:
        yield from funnel_lines(found.devices, style)
    if found.asked_node:
        node = found.asked_node
        word = style("good", "fits") if node.fits else style("bad", f"does not fit: {safe(node.reason)}")
        yield f"{style('bold', f'Node {safe(node.name)}')} {word}"
    if found.negotiation:
        yield from _titled("Negotiation", list(_talk(found.negotiation)), style)
    said = found.agreement
    if said.said:
        word = {True: "agrees", False: style("bad", "differs"), None: "not compared"}[said.agrees]
        yield from _titled(f"The scheduler said ({said.source}, {word})", [safe(said.said)], style)
    for finding in found.findings:
        yield f"{style(TONES.get(finding.severity, 'dim'), finding.severity)}: {safe(finding.sentence)}"
        yield f"  Do: {safe(finding.remedy)}"
        if finding.command:
            yield f"  {safe(finding.command)}"
    yield from _titled("Notes", [safe(n) for n in found.notes], style)


def _titled(title: str, lines: list[str], style: Style) -> Iterator[str]:
    if lines:
        yield style("bold", title)
        yield from (f"  {line}" for line in lines)


def _claim(name: str, claim: str, resource_class: str, driver: str, state: str) -> str:
    parts = [f"{safe(name)}: {safe(claim or 'no claim yet')} {state}"]
    parts += [f"class {safe(resource_class)}"] if resource_class else []
    parts += [f"driver {safe(driver)}"] if driver else []
    return ", ".join(parts)


def _steps(found: Explanation) -> Iterator[str]:
    for step in found.steps:
        if step.state == "Ran":
            why = f" ({safe(step.plugin)}): {safe('; '.join(step.reasons))}" if step.reasons else ""
            yield f"{step.point:<10} {step.status}{why}"
            yield from (f"{'':<10} would {safe(effect)}" for effect in step.effects)


def _group(group: Group) -> str:
    names = ", ".join(safe(n) for n in group.nodes[:NAMED])
    more = f", ... {len(group.nodes) - NAMED} more" if len(group.nodes) > NAMED else ""
    return f"{group.count:>6} {safe(group.reason) or 'fit'}" + (f" [{names}{more}]" if names else "")


def _talk(talk: Talk) -> Iterator[str]:
    yield f"proposed: {len(talk.potential_nodes)} nodes, selected: {safe(talk.selected_node) or 'none'}"
    for claim, nodes in talk.answers.items():
        yield f"{safe(claim)}: {len(nodes)} of them unsuitable"
    for move in talk.awaited:
        of = f" for {safe(move.claim)}" if move.claim else ""
        yield f"awaited: {safe(move.actor) or 'the driver'}{of}: {safe(move.what)}"
    yield from (f"warning: {safe(text)}" for text in talk.warnings)
