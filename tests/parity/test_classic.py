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

OWN = Path(__file__).parent / "data" / "classic.jsonl.gz"


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_all_vectors_pass() -> None:
    mismatches = [m for row in rows(OWN) if (m := check(row))]
    assert not mismatches, "\n".join(f"{m.id}\n{m.diff}" for m in mismatches[:3])


def test_objects_that_do_not_say_their_type_are_v1alpha2_as_in_a_list() -> None:
    """apiVersion and kind are not in the items of a typed list, nor then in what the plugin writes of them."""
    for row in rows(OWN)[:600]:
        bare = copy.deepcopy(row)
        for field in ("nodes", "classes", "claims", "podSchedulingContexts"):
            for obj in bare["input"][field]:
                del obj["apiVersion"], obj["kind"]
        assert check(bare) is None, row["id"]
        for expected in bare["expected_any_of"]:
            for write in expected.get("writes", ()):
                if write["verb"] == "update":
                    del write["body"]["apiVersion"], write["body"]["kind"]
        assert check(bare) is None, row["id"]


def test_a_write_of_another_type_is_a_mismatch() -> None:
    row = copy.deepcopy(next(r for r in rows(OWN) if '"verb":"update"' in json.dumps(r, separators=(",", ":"))))
    assert check(row) is None
    for expected in row["expected_any_of"]:
        for write in expected["writes"]:
            write.get("body", {})["apiVersion"] = "resource.k8s.io/v1"
    assert check(row) is not None


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


def run_parity(path: Path) -> tuple[int, list[str]]:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("parity", str(path), stdout=out)
    return int(str(ended.value.code)), out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json", "not JSON: Expecting value"),
        (b"[1]", "a vector is a JSON object"),
        (b'{"id": "\xff"}', "not JSON: 'utf-8' codec can't decode"),
    ],
)
def test_a_broken_line_is_named_counts_as_failed_and_hides_no_other(tmp_path: Path, line: bytes, message: str) -> None:
    vector = json.dumps(rows(OWN)[0]).encode() + b"\n"
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(vector + line + b"\n" + vector)
    code, lines = run_parity(broken)
    assert code == 1
    assert lines[0].startswith(f"{broken}:2: {message}")
    assert lines[1:] == ["2 passed, 1 failed"]


def test_of_a_gzip_file_that_breaks_off_the_counts_so_far_are_kept(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(OWN.read_bytes()[:20_000])
    code, lines = run_parity(cut)
    assert code == 1
    assert lines[0].endswith(
        "cannot read it from here on: Compressed file ended before the end-of-stream marker was reached"
    )
    passed = int(lines[0].removeprefix(f"{cut}:").partition(":")[0]) - 1
    assert passed > 10
    assert lines[1:] == [f"{passed} passed, 1 failed"]


def test_a_small_file_that_breaks_off_is_known_for_vectors(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    vectors = "".join(json.dumps(row) + "\n" for row in rows(OWN)[:20])
    cut.write_bytes(gzip.compress(vectors.encode())[:-10])
    code, lines = run_parity(cut)
    assert (code, len(lines)) == (1, 2)
    assert lines[1].endswith(" passed, 1 failed")


def test_a_byte_order_mark_is_no_part_of_the_first_vector(tmp_path: Path) -> None:
    marked = tmp_path / "marked.jsonl"
    marked.write_text("\ufeff" + json.dumps(rows(OWN)[0]) + "\n", encoding="utf-8")
    out = io.StringIO()
    call_command("parity", str(marked), stdout=out)
    assert out.getvalue() == "1 passed, 0 failed\n"


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
