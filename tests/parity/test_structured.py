"""The port of Kubernetes 1.36's plugin answers every recorded case as the real one did."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from dradash.scheduling.parity import check

VECTORS = Path(__file__).parent / "data" / "structured.jsonl.gz"


def rows() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_all_vectors_pass() -> None:
    wrong = [m for row in rows() if (m := check(row)) is not None]
    assert not wrong, "\n".join(f"{m.id}\n{m.diff}" for m in wrong[:3])


def test_objects_that_do_not_say_their_type_are_v1_as_in_a_list() -> None:
    written = 0
    for row in rows()[:400]:
        for value in row["input"].values():
            for obj in value if isinstance(value, list) else ():
                if isinstance(obj, dict) and "metadata" in obj:
                    del obj["apiVersion"], obj["kind"]
        assert check(row) is None, row["id"]
        for expected in row["expected_any_of"]:
            for write in expected.get("writes", ()):
                if write["verb"] == "update" and write["body"].pop("apiVersion", None):
                    written += 1
                    del write["body"]["kind"]
        assert check(row) is None, row["id"]
    assert written


def test_a_changed_answer_is_found() -> None:
    row = next(r for r in rows() if "allocations" in r["expected_any_of"][0])
    row["expected_any_of"][0]["allocations"][0]["claim"] = "another"
    assert check(row) is not None
