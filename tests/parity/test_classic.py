"""The port answers as the real plugin did, on every vector there is."""

from __future__ import annotations

import copy
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from dradash.scheduling.classic.vectors import answer
from dradash.scheduling.parity import check

VECTOR = b'{"id": "a", "input": {}, "expected_any_of": [{}]}\n'
OWN = Path(__file__).parent / "data" / "classic.jsonl.gz"


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_all_vectors_pass() -> None:
    mismatches = [m for row in rows(OWN) if (m := check(row))]
    assert not mismatches, "\n".join(f"{m.id}\n{m.diff}" for m in mismatches[:3])


def test_the_command_counts_and_ends_well_when_all_pass(tmp_path: Path) -> None:
    some = tmp_path / "some.jsonl"
    some.write_text("\n".join(json.dumps(row) for row in rows(OWN)[:40]))
    out = io.StringIO()
    call_command("parity", str(some), stdout=out)
    assert out.getvalue() == "40 passed, 0 failed\n"


def test_a_wrong_answer_is_shown_as_a_diff_and_fails(tmp_path: Path) -> None:
    row = copy.deepcopy(next(r for r in rows(OWN) if r["expected_any_of"][0].get("node")))
    row["expected_any_of"] = [row["expected_any_of"][0] | {"node": "node-that-is-not"}]
    wrong = tmp_path / "wrong.jsonl.gz"
    wrong.write_bytes(gzip.compress(json.dumps(row).encode()))
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("parity", str(wrong), stdout=out)
    assert ended.value.code == 1
    assert f"{row['id']}:" in out.getvalue()
    assert '- "node": "node-that-is-not"' in out.getvalue()
    assert out.getvalue().endswith("0 passed, 1 failed\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (VECTOR + b"not json\n", ":2: not JSON"),
        (VECTOR + b"[1]\n", ":2: a vector is a JSON object"),
        (b"\x1f\x8bxx", "cannot read"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(content)
    with pytest.raises(CommandError, match=message):
        call_command("parity", str(broken), stdout=io.StringIO())


def test_a_recording_is_named_as_that_and_no_vector_is_run() -> None:
    out = io.StringIO()
    with pytest.raises(
        CommandError, match=r"classic-1\.30\.jsonl holds no vectors: it looks like a recording"
    ) as refused:
        call_command("parity", str(OWN), str(OWN.with_name("classic-1.30.jsonl")), stdout=out)
    assert refused.value.returncode == 2
    assert out.getvalue() == ""


def test_a_vector_of_another_shape_counts_as_failed_and_says_why() -> None:
    mismatch = check({"id": "odd", "input": {"op": "dance", "pod": {}}, "expected_any_of": [{}]})
    assert mismatch is not None
    assert "unknown op 'dance'" in mismatch.diff


def test_every_recorded_choice_is_one_that_some_seed_makes() -> None:
    several = [row for row in rows(OWN) if len(row["expected_any_of"]) > 1]
    assert several
    for row in several:
        ours = [answer(row["input"], seed) for seed in range(8)]
        assert len({json.dumps(o, sort_keys=True) for o in ours}) >= len(row["expected_any_of"])
