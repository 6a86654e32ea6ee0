"""`describe claim`: the API's answer about one claim as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dradash.cli.style import TONES, Style, safe
from dradash.cli.tables import age

Json = Mapping[str, Any]
SHOWN: Final = 8  # moves of its history


def described_claim(detail: Json, now: float, style: Style) -> str:
    return "\n".join((*_claim(detail, now, style), *_asked(detail, style), *_got(detail, now, style))) + "\n"


def _claim(detail: Json, now: float, style: Style) -> Iterator[str]:
    claim = detail["claim"]
    name = safe(f"{claim['namespace']}/{claim['name']}")
    flags = f" ({', '.join(map(safe, claim['flags']))})" if claim["flags"] else ""
    yield f"{style('bold', f'Claim {name}')}: {safe(claim['state'])}{flags}, created {age(claim['created'], now)} ago"
    if detail.get("gone"):
        yield f"  {style('warn', 'gone')} since {safe(detail['gone'])}: this was its last state"
    yield f"  Class: {safe(claim['resourceClass']) or 'none'}; driver: {safe(claim['driver']) or 'not known'}"
    place = claim["place"]
    if place is not None:
        nodes = ", ".join(map(safe, place["nodes"])) or ("all nodes" if place["everywhere"] else "")
        yield f"  Available on: {nodes or str(place['count']) + ' nodes'}"
    for user in claim["reservedFor"]:
        gone = "" if user["alive"] else style("warn", " (no such pod is known)")
        yield f"  Reserved for: {safe(user['resource'])} {safe(user['name'])}{gone}"
    for pod in detail["pods"]:
        yield f"  Named by: pod {safe(pod['key'])}"
    for finding in detail.get("findings") or ():
        yield f"{style(TONES.get(finding['severity'], 'dim'), finding['severity'])}: {safe(finding['sentence'])}"
        yield f"  Do: {safe(finding['remedy'])}"
    if detail["history"]:
        yield style("bold", "History")
    for turn in detail["history"][:SHOWN]:
        yield f"  {age(turn['at'], now)} ago {safe(turn['actor']) or 'claim'} {safe(turn['text'])}"


def _asked(detail: Json, style: Style) -> Iterator[str]:
    if detail.get("requests"):
        yield style("bold", "Requests")
    for request in detail.get("requests") or ():
        for one in request["alternatives"]:
            count = "all devices" if one["count"] is None else f"{one['count']} x"
            chosen = style("good", " (chosen)") if one["chosen"] and len(request["alternatives"]) > 1 else ""
            admin = ", admin access" if one["adminAccess"] else ""
            yield f"  {safe(one['name'])}: {count} {safe(one['deviceClass'])}{admin}{chosen}"
            yield from (f"    {safe(expression)}" for expression in one["selectors"])


def _got(detail: Json, now: float, style: Style) -> Iterator[str]:
    if detail.get("devices"):
        yield style("bold", "Devices")
    for one in detail.get("devices") or ():
        share = f", share {safe(one['share'])}" if one["share"] else ""
        admin = ", admin access" if one["adminAccess"] else ""
        where = safe("/".join((one["driver"], one["pool"], one["device"])))
        yield f"  {where} for {safe(one['request'])}{share}{admin}"
        if not one["published"]:
            yield f"    {style('bad', 'its pool does not publish it')}"
        told = ", ".join(f"{safe(n)} {safe(v)}" for n, v in (*one["attributes"].items(), *one["consumed"].items()))
        if told:
            yield f"    {told}"
        if one["awaits"]:
            yield f"    {style('warn', 'awaited')}: {', '.join(map(safe, one['awaits']))}"
        for said in one["conditions"]:
            words = ": ".join(safe(w) for w in (said["reason"], said["message"]) if w)
            yield f"    {safe(said['type'])} is {safe(said['status'])} for {age(said['since'], now)} {words}".rstrip()
        if one["sharedWith"]:
            yield f"    shared with {', '.join(safe(c['key']) for c in one['sharedWith'])}"
