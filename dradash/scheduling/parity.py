"""Compares our answers with the real plugin's: which vector differs, and where."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from typing import Any

import msgspec

from dradash.scheduling.classic.vectors import answer, without_unset


class Mismatch(msgspec.Struct, frozen=True):
    id: str
    diff: str  # readable, several lines


def check(row: dict[str, Any], answer_case: Callable[[dict[str, Any]], dict[str, Any]] = answer) -> Mismatch | None:
    """None when our answer is one of the expected ones. An exception is a mismatch that shows it."""
    name = str(row.get("id", "?"))
    try:
        ours = answer_case(row["input"])
        accepted = [_comparable(e) for e in row["expected_any_of"]]
    except Exception as fault:  # noqa: BLE001  a broken vector or a bug must not hide the vectors behind it
        return Mismatch(name, f"  {type(fault).__name__}: {fault}")
    comparable = _comparable(ours)
    if comparable in accepted:
        return None
    return Mismatch(name, _diff(comparable, accepted))


def _comparable(value: dict[str, Any]) -> dict[str, Any]:
    writes = [
        {**w, "body": without_unset(w["body"])} if isinstance(w.get("body"), dict) else w
        for w in value.get("writes") or ()
    ]
    rest = {k: v for k, v in value.items() if k != "writes"}
    return {**rest, "writes": writes} if writes else rest


def _diff(ours: dict[str, Any], accepted: list[dict[str, Any]]) -> str:
    """Against the expected answer that is nearest to ours."""
    our_lines = _lines(ours)
    diffs = [list(difflib.unified_diff(_lines(e), our_lines, "expected", "ours", lineterm="", n=2)) for e in accepted]
    nearest = min(diffs, key=len, default=["no expected answer"])
    more = f"\n  ({len(accepted)} answers are right; this is the nearest)" if len(accepted) > 1 else ""
    return "\n".join(f"  {line}" for line in nearest) + more


def _lines(value: dict[str, Any]) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
