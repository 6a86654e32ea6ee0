"""Every message that the scheduler's logic can produce has a code of its own, and the docs list them."""

from __future__ import annotations

import ast
import enum
import gzip
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dradash import scheduling
from dradash.api.pods import NOT_JUDGED
from dradash.metrics.families import STATES
from dradash.reader import talks
from dradash.scheduling import codes, evaluate, fiterror, nodechecks
from dradash.scheduling.classic import awaiting, plugin
from dradash.scheduling.classic import hints as classic_hints
from dradash.scheduling.classic.claimstate import MISSING, UNREADABLE, ClaimState
from dradash.scheduling.classic.invariants import InvariantCode
from dradash.scheduling.classic.standing import Sign
from dradash.scheduling.classic.turns import TurnKind
from dradash.scheduling.doctor.finding import Severity
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.generation import Generation
from dradash.scheduling.reasons import OTHER, REASONS, code_of, codes_of
from dradash.scheduling.status import Code, Status
from dradash.scheduling.structured import fates, taintpreview
from dradash.scheduling.structured import hints as structured_hints
from dradash.scheduling.verdict import Outcome, StepState
from dradash.web.presenters.poddevices import KINDS as HINTS
from tests import build

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "parity" / "data"
NOT_IN_A_VERDICT = "sign"  # whether pods are batched


def _said(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (str(r) for r in value.get("reasons") or ())
        for name, part in value.items():
            if name != NOT_IN_A_VERDICT:
                yield from _said(part)
    elif isinstance(value, list):
        for part in value:
            yield from _said(part)


@pytest.mark.parametrize("vectors", ["classic.jsonl.gz", "structured.jsonl.gz"])
def test_everything_that_the_real_plugin_was_recorded_to_say_has_a_code(vectors: str) -> None:
    with gzip.open(DATA / vectors, "rt", encoding="utf-8") as file:
        texts = {t for line in file for t in _said(json.loads(line)["expected_any_of"])}
    assert len(texts) > 50
    assert {t for t in texts if code_of(t) == OTHER} == set()


@pytest.mark.parametrize("module", [plugin, nodechecks])
def test_every_status_that_the_checks_declare_has_a_code(module: ModuleType) -> None:
    declared = [r for _, s in inspect.getmembers(module) if isinstance(s, Status) for r in s.reasons]
    assert len(declared) >= 5
    assert [r for r in declared if code_of(r) == OTHER] == []


def test_sentences_of_the_framework_have_codes() -> None:
    assert code_of(fiterror.GATED) == "SchedulingGated"
    assert code_of(fiterror.NO_NODES) == "NoNodes"
    assert code_of(fiterror.PREEMPTION_NOT_HELPFUL) == "PreemptionNotHelpful"
    assert code_of(fiterror.filter_error("DynamicResources", "resourceclaim in use")) == "ClaimInUse"
    assert code_of(fiterror.plugin_error("PreFilter", "DynamicResources", "nodeSelectorTerms[0].matchFields[0].x")) == (
        "InvalidNodeSelector"
    )


def test_verdicts_that_dradash_words_itself_have_codes() -> None:
    for made, code in (
        (evaluate.failed("ml/a", "u", 1, "KeyError: 'x'"), "JudgingFailed"),
        (evaluate.malformed("ml/a", 1, "Expected `str`\nin $.spec"), "PodMalformed"),
        (evaluate.unknown("ml/a", "u", 1, {"resourceclaims": "forbidden"}), "NotKnown"),
    ):
        assert codes_of(made.verdict) == (code,)


def test_settled_pods_are_told_apart() -> None:
    empty = build.cluster()
    bound = build.struct(build.pod("a", "ml", node="node-1"))
    finished = build.struct(build.pod("a", "ml", phase="Failed"))
    deleting = build.struct(build.pod("a", "ml", deletionTimestamp=build.CREATED))
    assert codes_of(evaluate.evaluate(bound, empty, 1).verdict) == ()  # type: ignore[arg-type]  # a Pod
    assert codes_of(evaluate.evaluate(finished, empty, 1).verdict) == ("PodTerminating",)  # type: ignore[arg-type]
    assert codes_of(evaluate.evaluate(deleting, empty, 1).verdict) == ("PodTerminating",)  # type: ignore[arg-type]


def test_what_nobody_knows_is_other() -> None:
    assert code_of("Insufficient cpu") == OTHER
    assert code_of("") == OTHER
    assert code_of("resourceclaim in use by somebody") == OTHER


def test_each_reason_is_the_first_that_fits_its_own_example() -> None:
    assert [c for c, r in REASONS.items() if code_of(r.example) != c] == []


def test_each_reason_says_what_it_means_and_what_to_do() -> None:
    for code, reason in REASONS.items():
        assert code.isalnum()
        assert code[0].isupper()
        for text in (reason.meaning, reason.remedy):
            assert text.endswith((".", "?", ").", "do."))


# --- every other code ------------------------------------------------------------------------------------------------


def test_the_page_in_docs_is_the_table() -> None:
    assert (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8") == codes.document()


def listed(kind: str) -> set[str]:
    return {c.code for c in codes.ALL if c.kind == kind}


def enumerations() -> Iterator[type[enum.StrEnum]]:
    for found in pkgutil.walk_packages(scheduling.__path__, "dradash.scheduling."):
        module = importlib.import_module(found.name)
        for _, made in inspect.getmembers(module, inspect.isclass):
            if issubclass(made, enum.StrEnum) and made.__module__ == found.name:
                yield made


# enumeration -> the kind of code that its values are, and what else is of that kind; "": no answer shows them.
SHOWN: dict[type[enum.StrEnum], tuple[str, set[str]]] = {
    Code: ("status", set()),
    Outcome: ("outcome", {NOT_JUDGED}),
    StepState: ("step", set()),
    ClaimState: ("claim", {MISSING, UNREADABLE}),
    InvariantCode: ("rule", set()),
    awaiting.Stage: ("negotiation", {talks.BOUND, talks.ENDING}),
    TurnKind: ("turn", set()),
    fates.Stage: ("deviceStage", set()),
    taintpreview.Fate: ("taintFate", set()),
    classic_hints.Hint: ("queueingHint", set()),
    structured_hints.Hint: ("queueingHint", set()),
    Sign: ("", set()),
    Generation: ("", set()),
    Severity: ("", set()),  # how bad a finding is, not what it is
}


def test_each_enumeration_of_the_scheduling_code_is_listed_whole_or_shown_nowhere() -> None:
    found = set(enumerations())
    assert found == set(SHOWN)
    assert {kind for kind, _ in SHOWN.values()} - {""} <= set(codes.KINDS)
    wrong = {e: kind for e, (kind, more) in SHOWN.items() if kind and listed(kind) != set(map(str, e)) | more}
    assert wrong == {}


def constants(keyword: str, function: str, place: int | None = None) -> set[str]:
    """What the scheduling code calls `function` with, as text in place."""
    said: set[object] = set()
    for path in (ROOT / "dradash" / "scheduling").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == function:
                values = [k.value for k in node.keywords if k.arg == keyword]
                values += [] if place is None else node.args[place : place + 1]
                said |= {c.value for v in values for c in ast.walk(v) if isinstance(c, ast.Constant)}
    return {value for value in said if isinstance(value, str) and value}


def test_the_codes_that_are_written_in_place_are_listed() -> None:
    assert constants("who", "ActsNext") == listed("actor")
    assert constants("kind", "hint", 0) | constants("kind", "Hint") == listed("deviceHint") == set(HINTS)
    assert listed("finding") == set(RULES)
    assert listed("reason") == set(REASONS)
    assert listed("watch") == set(STATES)


def test_a_code_is_unique_within_its_kind_and_each_kind_is_told() -> None:
    pairs = [(c.kind, c.code) for c in codes.ALL]
    assert len(set(pairs)) == len(pairs)
    assert list(dict.fromkeys(c.kind for c in codes.ALL)) == list(codes.KINDS)
    for code in codes.ALL:
        for text in (code.meaning, code.remedy):
            assert text.endswith((".", "?", ")"))


# The fields of answers that hold codes, by the path of their names -> kind.
FIELDS = {
    "reasonCodes": "reason",
    "reason.code": "reason",
    "reasons.code": "reason",
    "outcome": "outcome",
    "broken.code": "rule",
    "actsNext.who": "actor",
    "steps.code": "status",
    "steps.state": "step",
    "groups.code": "status",
    "stages.stage": "deviceStage",
    "turns.kind": "turn",
    "kinds.state": "watch",
}


def _coded(value: Any, parent: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for part in value:
            yield from _coded(part, parent)
    elif isinstance(value, dict):
        for name, part in value.items():
            for path in (f"{parent}.{name}", name):
                for one in part if isinstance(part, list) else [part]:
                    if path in FIELDS and isinstance(one, str) and one:
                        yield path, one
            yield from _coded(part, name)


def test_every_code_in_the_answers_about_the_demo_is_listed() -> None:
    seen = set(_coded(json.loads((ROOT / "dradash" / "api" / "examples.json").read_text(encoding="utf-8"))))
    assert len({path for path, _ in seen}) >= 9
    assert {(path, code) for path, code in seen if code not in listed(FIELDS[path])} == set()
