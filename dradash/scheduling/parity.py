"""Compares our answers with the real plugin's: which vector differs, and where."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dradash.scheduling.classic import vectors as classic
from dradash.scheduling.classic.vectors import SEEDS, without_unset
from dradash.scheduling.structured import vectors as structured


class Mismatch(msgspec.Struct, frozen=True):
    id: str
    diff: str  # readable, several lines


def answer(case: dict[str, Any], seed: int) -> dict[str, Any]:
    """The port's answer: of the plugin whose kinds are in the case."""
    return structured.answer(case, seed) if structured.is_structured(case) else classic.answer(case, seed)


Answerer = Callable[[dict[str, Any], int], dict[str, Any]]


def check(row: dict[str, Any], answer_case: Answerer = answer) -> Mismatch | None:
    """None when every expected answer is one that we may give.

    Where upstream chooses at random, a vector lists what was seen in some runs: each of these must be among our
    possible answers, and none of the others is held against us. An exception is a mismatch that shows it.
    """
    name = str(row.get("id", "?"))
    try:
        typed = _says_types(row["input"])
        accepted = [_comparable(e, typed=typed) for e in row["expected_any_of"]]
        if not accepted:
            return Mismatch(name, "  the vector has no expected answer")
        ours = _comparable(answer_case(row["input"], 0), typed=typed)
        missing = [e for e in accepted if e != ours]
        if missing:
            possible = [_comparable(answer_case(row["input"], seed), typed=typed) for seed in SEEDS]
            missing = [e for e in missing if e not in possible]
    except Exception as fault:  # noqa: BLE001  a broken vector or a bug must not hide the vectors behind it
        return Mismatch(name, f"  {type(fault).__name__}: {fault}")
    return Mismatch(name, _diff(ours, missing)) if missing else None


def _says_types(case: dict[str, Any]) -> bool:
    """Whether all objects that may be updated have apiVersion and kind, which items of a typed list lack."""
    return all(o.get("apiVersion") and o.get("kind") for kind in _UPDATED for o in case.get(kind) or ())


_UPDATED: Final = ("claims", "podSchedulingContexts", "claimsAtBind")
_TYPE: Final = frozenset({"apiVersion", "kind"})


def _comparable(value: dict[str, Any], *, typed: bool) -> dict[str, Any]:
    """typed: else what an update says of its object's type is not compared: it depends on who read the object."""
    writes = [_comparable_write(w, typed=typed) for w in value.get("writes") or ()]
    rest = structured.comparable({k: v for k, v in value.items() if k != "writes"})
    return {**rest, "writes": writes} if writes else rest


def _comparable_write(write: dict[str, Any], *, typed: bool) -> dict[str, Any]:
    body = write.get("body")
    if not isinstance(body, dict):
        return write
    left_out = frozenset() if typed or write.get("verb") != "update" else _TYPE
    return {**write, "body": without_unset({k: v for k, v in body.items() if k not in left_out})}


def _diff(ours: dict[str, Any], accepted: list[dict[str, Any]]) -> str:
    """Against the expected answer that is nearest to ours."""
    our_lines = _lines(ours)
    diffs = [list(difflib.unified_diff(_lines(e), our_lines, "expected", "ours", lineterm="", n=2)) for e in accepted]
    nearest = min(diffs, key=len, default=["no expected answer"])
    more = f"\n  ({len(accepted)} expected answers are not ours; this is the nearest)" if len(accepted) > 1 else ""
    return "\n".join(f"  {line}" for line in nearest) + more


def _lines(value: dict[str, Any]) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
