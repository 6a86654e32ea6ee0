"""Every message that the scheduler's logic can produce has a code of its own, and the docs list them."""

from __future__ import annotations

import gzip
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dradash.scheduling import evaluate, fiterror, nodechecks, reasons
from dradash.scheduling.classic import plugin
from dradash.scheduling.reasons import OTHER, REASONS, code_of, codes_of
from dradash.scheduling.status import Status
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


def test_the_page_in_docs_is_the_table() -> None:
    assert (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8") == reasons.document()
