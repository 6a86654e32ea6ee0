"""Rows of the API as columns. Pure; times are told as ages, so `now` is an argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from dradash.cli.style import TONES, Style, safe
from dradash.scheduling.rfc3339 import seconds

Row = Mapping[str, Any]
LONGEST_CELL: Final = 100  # characters in a plain table; -o wide shows all


class Column(msgspec.Struct, frozen=True):
    """of: the cell's text from a row and the time. wide: only with -o wide."""

    title: str
    of: Callable[[Row, float], str]
    wide: bool = False


def age(at: str | None, now: float) -> str:
    """As kubectl tells ages; "-" where the time is not known."""
    when = seconds(at)
    if not when:
        return "-"
    left = max(0, int(now - when))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if left >= 2 * size:
            return f"{left // size}{unit}"
    return f"{left}s"


def _text(name: str) -> Callable[[Row, float], str]:
    return lambda row, _now: "-" if row.get(name) in (None, "") else str(row[name])


def _of(part: str, whole: str) -> Callable[[Row, float], str]:
    return lambda row, _now: f"{row[part]}/{row[whole]}" if part in row else "-"


def _joined(name: str) -> Callable[[Row, float], str]:
    return lambda row, _now: ",".join(map(str, row.get(name) or ())) or "-"


def _age(name: str) -> Callable[[Row, float], str]:
    return lambda row, now: age(row.get(name), now)


def _acts(row: Row, _now: float) -> str:
    acts = row.get("actsNext") or {}
    return " ".join((str(acts.get("who") or "-"), ",".join(acts.get("names") or ()))).strip()


def _moves(row: Row, _now: float) -> str:
    return ",".join(dict.fromkeys(mover(m) or "?" for m in row.get("moves") or ())) or "-"


def mover(move: Row) -> str:
    """Who must make a negotiation's move, "" for a driver whose name is not known."""
    actor = str(move.get("actor") or "")
    return f"pod {actor}" if move.get("who") == "pod" else actor


def _about(row: Row, _now: float) -> str:
    refs = row.get("objects") or ()
    return f"{refs[0]['kind']}/{refs[0]['key']}" if refs else "-"


def _by_state(name: str) -> Callable[[Row, float], str]:
    return lambda row, _now: ",".join(f"{count} {state}" for state, count in (row.get(name) or {}).items()) or "-"


def _places(row: Row, _now: float) -> str:
    names = row.get("nodes") or ()
    more = row.get("nodesTotal", 0) - len(names)
    return ",".join(map(str, names)) + (f" and {more} more" if more > 0 else "") or "-"


def _holders(row: Row, _now: float) -> str:
    return ",".join(h["claim"]["key"] for h in row.get("holders") or ()) or "-"


def _pods(row: Row, _now: float) -> str:
    return ",".join(p for h in row.get("holders") or () for p in h["pods"]) or "-"


def _taints(row: Row, _now: float) -> str:
    taints = row.get("taints") or ()
    return ",".join(f"{t['key']}{'=' if t['value'] else ''}{t['value']}:{t['effect']}" for t in taints) or "-"


_WHERE: Final = (Column("NAMESPACE", _text("namespace")), Column("NAME", _text("name")))
TABLES: Final[Mapping[str, Sequence[Column]]] = {
    "pods": (
        *_WHERE,
        Column("VERDICT", _text("outcome")),
        Column("FIT", _of("nodesFit", "nodesTotal")),
        Column("ACTS NEXT", _acts),
        Column("FOR", _age("waitingSince")),
        Column("REASONS", _joined("reasonCodes")),
        Column("AGE", _age("created"), wide=True),
        Column("NODE", _text("node"), wide=True),
        Column("SENTENCE", _text("sentence"), wide=True),
    ),
    "claims": (
        *_WHERE,
        Column("STATE", _text("state")),
        Column("CLASS", _text("resourceClass")),
        Column("DRIVER", _text("driver")),
        Column("PODS", _text("pods")),
        Column("AGE", _age("created")),
        Column(
            "RESERVED FOR",
            lambda row, _now: ",".join(c["name"] for c in row.get("reservedFor") or ()) or "-",
            wide=True,
        ),
        Column("FLAGS", _joined("flags"), wide=True),
    ),
    "negotiations": (
        *_WHERE,
        Column("STATE", _text("state")),
        Column("MUST ACT", _moves),
        Column("FOR", _age("silentSince")),
        Column("PROPOSED", _text("proposed")),
        Column("SELECTED", _text("selected")),
        Column("ANSWERED", _of("answered", "claims")),
        Column("AWAITED", lambda row, _now: "; ".join(m["what"] for m in row.get("moves") or ()) or "-", wide=True),
        Column(
            "BROKEN RULES", lambda row, _now: ",".join(b["code"] for b in row.get("broken") or ()) or "-", wide=True
        ),
    ),
    "findings": (
        Column("SEVERITY", _text("severity")),
        Column("CODE", _text("code")),
        Column("OBJECT", _about),
        Column("FOR", _age("since")),
        Column("SENTENCE", _text("sentence")),
        Column("DO", _text("remedy"), wide=True),
        Column("COMMAND", _text("command"), wide=True),
    ),
    "deviceclasses": (
        Column("NAME", _text("name")),
        Column("MATCH", _of("devices", "devicesTotal")),
        Column("FREE", _text("devicesFree")),
        Column("TAINTED", _text("devicesTainted")),
        Column("CLAIMS", _by_state("claims")),
        Column("PODS WAITING", _text("podsWaiting")),
        Column("EXTENDED RESOURCE", _text("extendedResource")),
        Column("AGE", _age("created")),
        Column(
            "SELECTORS",
            lambda row, _now: " && ".join(s["expression"] for s in row.get("selectors") or ()) or "-",
            wide=True,
        ),
    ),
    "pools": (
        Column("DRIVER", _text("driver")),
        Column("POOL", _text("pool")),
        Column("STATE", _text("state")),
        Column("GENERATION", _text("generation")),
        Column("SLICES", _of("slices", "expectedSlices")),
        Column("HELD", _of("taken", "devices")),
        Column("WHY", _text("why")),
        Column("NODES", _places, wide=True),
    ),
    "devices": (
        Column("DRIVER", _text("driver")),
        Column("POOL", _text("pool")),
        Column("DEVICE", _text("device")),
        Column("STATE", _text("state")),
        Column("POOL STATE", _text("poolState")),
        Column("HELD BY", _holders),
        Column("TAINTS", _taints),
        Column("NODE", _text("node"), wide=True),
        Column("PODS", _pods, wide=True),
        Column(
            "ATTRIBUTES",
            lambda row, _now: ",".join(f"{n}={v}" for n, v in (row.get("attributes") or {}).items()) or "-",
            wide=True,
        ),
    ),
    "drivers": (
        Column("NAME", _text("name")),
        Column("OWED", _text("owed")),
        Column("SILENT FOR", _age("silentSince")),
        Column("CLAIMS", _by_state("claims")),
        Column("POOLS", _by_state("pools")),
        Column("HELD", _of("devicesHeld", "devices")),
        Column("ALLOCATIONS", _text("allocations")),
        Column("LAST HEARD", _age("lastHeard")),
        Column("CLASSES", lambda row, _now: ",".join((*row["classes"], *row["deviceClasses"])) or "-", wide=True),
    ),
}


def cells(resource: str, row: Row, now: float, *, wide: bool) -> list[str]:
    found = []
    for column in TABLES[resource]:
        if wide or not column.wide:
            text = " ".join(safe(column.of(row, now)).split())
            found.append(text if wide or len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 3]}...")
    return found


def titles(resource: str, *, wide: bool) -> list[str]:
    return [c.title for c in TABLES[resource] if wide or not c.wide]


def widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*table, strict=True)]


def line(row: Sequence[str], sizes: Sequence[int], style: Style) -> str:
    """A row under its titles; words that are a state have their colour."""
    padded = [text.ljust(size) for text, size in zip(row, sizes, strict=True)]
    padded[-1] = padded[-1].rstrip()
    return "   ".join(style(TONES.get(text, ""), cell) for text, cell in zip(row, padded, strict=True))
