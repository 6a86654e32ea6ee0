"""Recordings: what is read, what is refused, and in which order lines are written."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dradash.informer.recording import BadRecording, Output, Writer, open_for_writing, read
from dradash.management.filekind import RECORDING, looks_like

SHARED = Path(__file__).parents[1] / "parity" / "data"
GOOD = b'{"t":0,"kind":"pods","type":"LIST","object":{"items":[]}}\n'


@pytest.mark.parametrize(("name", "rows"), [("classic-1.30.jsonl", 150), ("structured-1.36.jsonl", 150)])
def test_the_shared_recordings_are_read_whole(name: str, rows: int) -> None:
    read_rows = list(read(SHARED / name))

    assert len(read_rows) == len((SHARED / name).read_text().splitlines()) >= rows
    assert read_rows[0].type == "LIST"
    assert read_rows[-1].t > 60


def test_a_compressed_recording_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "any-name"
    path.write_bytes(gzip.compress(GOOD))

    assert [row.kind for row in read(path)] == ["pods"]


def test_unknown_kinds_and_empty_lines_are_passed_over_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'\n{"t":1.5,"kind":"widgets","type":"ADDED","object":{"a":1},"extra":2}\n\n')

    row = next(iter(read(path)))

    assert (row.t, row.kind, row.type, row.object) == (1.5, "widgets", "ADDED", {"a": 1})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "truncated"),
        (b"[]", "object"),
        (b'{"t":0,"kind":"pods","type":"LIST"}', "object"),
        (b'{"t":"0","kind":"pods","type":"LIST","object":{}}', r"\$\.t"),
        (b'{"t":-1,"kind":"pods","type":"ADDED","object":{}}', "t is -1"),
        (b'{"t":0,"kind":"pods","type":"SHRUNK","object":{}}', "SHRUNK"),
        (b'{"t":0,"kind":"pods","type":"LIST","object":{"items":7}}', "no list"),
        (b'{"t":0,"kind":"pods","type":"ADDED","object":' + b'{"a":' * 5000, "recursion|truncated"),
        (b'{"t":0,"kind":"po\xffds","type":"ADDED","object":{}}', "utf-8|UTF-8"),
    ],
)
def test_a_broken_line_is_named_by_file_and_number(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(GOOD + line + b"\n")
    rows = read(path)

    assert next(rows).kind == "pods"
    with pytest.raises(BadRecording, match=rf"r\.jsonl:2: .*({message})"):
        next(rows)


def test_broken_gzip_data_are_named_too(tmp_path: Path) -> None:
    path = tmp_path / "r.gz"
    packed = bytearray(gzip.compress(GOOD * 1000))
    packed[-8] ^= 1  # the check sum
    path.write_bytes(packed)

    with pytest.raises(BadRecording, match=r"r\.gz:\d+: the gzip data are broken"):
        list(read(path))


def test_a_recording_that_breaks_off_in_its_last_line_is_used_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(GOOD * 3 + GOOD[:30])
    said: list[str] = []

    assert len(list(read(path, said.append))) == 3
    assert said == [f"{path}: the recording breaks off in line 4; what came before is used"]


def test_a_last_line_that_only_lacks_its_newline_is_read_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(GOOD * 2 + GOOD.rstrip(b"\n"))
    said: list[str] = []

    assert len(list(read(path, said.append))) == 3
    assert said == []


def test_a_whole_last_line_that_is_no_row_is_refused_without_its_newline_too(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(GOOD + b'{"t":0,"kind":"pods","type":"SHRUNK","object":{}}')

    with pytest.raises(BadRecording, match=r"r\.jsonl:2: type 'SHRUNK'"):
        list(read(path))


@pytest.mark.parametrize("end", [b"", GOOD[:30]])
def test_a_compressed_recording_that_was_never_closed_is_used_up_to_where_it_ends(tmp_path: Path, end: bytes) -> None:
    whole = io.BytesIO()
    with gzip.GzipFile(fileobj=whole, mode="wb") as file:
        file.write(GOOD * 3 + end)
        file.flush()
        unclosed = whole.getvalue()
    path = tmp_path / "r.gz"
    path.write_bytes(unclosed)
    said: list[str] = []

    assert looks_like(path) == RECORDING
    assert len(list(read(path, said.append))) == 3
    assert said == [f"{path}: the recording breaks off in line 4; what came before is used"]


def test_no_such_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read(tmp_path / "none"))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def written(out: io.BytesIO) -> list[tuple[float, str, str]]:
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    return [(row["t"], row["kind"], row["type"]) for row in rows]


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def test_lists_come_first_and_what_a_watch_brings_meanwhile_waits() -> None:
    out, clock = io.BytesIO(), Clock()
    writer = Writer(out, ["pods", "nodes", "claims"], clock)

    writer.write("pods", "LIST", raw({"items": []}))
    clock.now += 1
    writer.write("pods", "ADDED", raw({}))
    clock.now += 1
    writer.write("nodes", "LIST", raw({"items": []}))
    assert written(out) == [(0, "pods", "LIST"), (0, "nodes", "LIST")]
    writer.give_up("claims")

    assert written(out)[2:] == [(1.0, "pods", "ADDED")]


def test_a_relist_has_its_own_time() -> None:
    out, clock = io.BytesIO(), Clock()
    writer = Writer(out, ["pods"], clock)
    writer.write("pods", "LIST", raw({"items": []}))
    clock.now += 5

    writer.write("pods", "LIST", raw({"items": []}))

    assert written(out) == [(0, "pods", "LIST"), (5.0, "pods", "LIST")]


def test_finish_writes_what_was_held_back_and_nothing_afterwards() -> None:
    out = io.BytesIO()
    writer = Writer(out, ["pods", "nodes"], Clock())
    writer.write("pods", "ADDED", raw({}))

    writer.finish()
    writer.write("pods", "MODIFIED", raw({}))

    assert written(out) == [(0.0, "pods", "ADDED")]


def test_a_full_disk_is_kept_for_who_waits() -> None:
    class Full(io.BytesIO):
        def write(self, _data: Any) -> int:
            raise OSError(28, "No space left on device")

    writer = Writer(Full(), [], Clock())

    writer.write("pods", "ADDED", raw({}))

    assert writer.error is not None
    assert writer.error.errno == 28


class SmallDisk(io.FileIO):
    """Takes 100 bytes in all."""

    def write(self, data: Any, /) -> int:
        left = 100 - self.tell()
        if left <= 0:
            raise OSError(28, "No space left on device")
        return super().write(bytes(data)[:left])


@pytest.mark.parametrize(("zipped", "rows"), [(False, 1), (True, 3)])
def test_a_file_is_cut_back_to_its_last_whole_line_when_the_disk_is_full(
    tmp_path: Path, zipped: bool, rows: int
) -> None:
    path = tmp_path / "r"
    output = Output(lambda: io.BufferedWriter(SmallDisk(path, "wb")), zipped=zipped, path=path)
    with output as out:
        writer = Writer(out, [], Clock())
        for n in range(20):
            writer.write("pods", "ADDED", raw({"n": n}))

    assert isinstance(writer.error, OSError)
    said: list[str] = []
    assert [row.object["n"] for row in read(path, said.append)] == list(range(writer.written))
    assert writer.written >= rows
    assert bool(said) is zipped  # whose end is missing; the plain one ends with a line


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz"])
def test_what_is_written_can_be_read_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with open_for_writing(str(path)) as out:
        Writer(out, ["pods"], Clock()).write("pods", "LIST", raw({"items": [{"n": 1}]}))

    assert [row.object for row in read(path)] == [{"items": [{"n": 1}]}]
    assert path.read_bytes().startswith(b"\x1f\x8b") is name.endswith(".gz")


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz"])
def test_a_recording_of_nothing_leaves_the_file_as_it_was(tmp_path: Path, name: str) -> None:
    old, new = tmp_path / name, tmp_path / f"new-{name}"
    old.write_bytes(GOOD)

    for path in (old, new):
        with open_for_writing(str(path)) as out:
            Writer(out, ["pods"], Clock()).finish()

    assert old.read_bytes() == GOOD
    assert not new.exists()


def test_a_recording_replaces_an_older_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(GOOD * 3)

    with open_for_writing(str(path)) as out:
        Writer(out, ["pods"], Clock()).write("pods", "LIST", raw({"items": [{"n": 1}]}))

    assert [row.object for row in read(path)] == [{"items": [{"n": 1}]}]


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        open_for_writing(str(tmp_path))
    with pytest.raises(FileNotFoundError, match="none"):
        open_for_writing(str(tmp_path / "none" / "r.jsonl"))
