"""Which of our files one is, by its first line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dradash.management.filekind import DUMP, RECORDING, VECTORS, WrongFile, expect, looks_like

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/parity/data"
LONG = json.dumps({"t": 0, "kind": "pods", "type": "LIST", "object": {"items": [{"n": "x" * 100}] * 1000}})


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ((DATA / "classic-1.30.jsonl").read_bytes(), RECORDING),
        (b"\n\n" + (DATA / "structured-1.36.jsonl").read_bytes(), RECORDING),
        (LONG.encode(), RECORDING),  # its first line is longer than what is looked at
        (gzip.compress(LONG.encode()), RECORDING),
        ((DATA / "classic.jsonl.gz").read_bytes(), VECTORS),
        ((DATA / "structured.jsonl.gz").read_bytes(), VECTORS),
        (b"\xef\xbb\xbf" + (DATA / "classic-1.30.jsonl").read_bytes(), RECORDING),
        (gzip.compress(LONG.encode() + b"\n{}\n")[:-9], RECORDING),  # breaks off
        (b"apiVersion: v1\nkind: List\nitems: []\n", DUMP),
        (b'{\n    "apiVersion": "v1",\n    "items": []}', DUMP),
        (b'{"kind":"List","apiVersion":"v1"}', DUMP),
        ((ROOT / "README.md").read_bytes(), "text that is not JSON"),
        (b"[1]", "other JSON"),
        (b'{"a":' * 100_000, "other JSON"),
        (b"\x7fELF\0\0", "binary data"),
        (b"\n \n", "an empty file"),
    ],
)
def test_a_file_is_known_by_its_first_line(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)

    assert looks_like(path) == kind


def test_who_gives_the_wrong_file_is_told_what_it_is_and_what_is_wanted(tmp_path: Path) -> None:
    expect(DATA / "classic-1.30.jsonl", RECORDING)
    with pytest.raises(WrongFile) as refused:
        expect(ROOT / "pyproject.toml", RECORDING)
    assert str(refused.value) == (
        f"{ROOT}/pyproject.toml is no recording: it looks like text that is not JSON; "
        "wanted is a recording (by `record`), one JSON object a line"
    )
    with pytest.raises(WrongFile, match=r"cannot read .*none"):
        expect(tmp_path / "none", VECTORS)
