"""Bodies, fingerprints, hints and keys: what the stores write, byte for byte."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dradash.store.encoding import DICTIONARY_1, BadBody, fingerprint, join_hints, pack, split_hints, unpack
from dradash.store.history import select
from dradash.store.keys import Keys, lua_prelude, text, untext
from dradash.store.model import VERDICTS, HistoryEntry, Write
from dradash.store.records import BYTES_PER_SCRIPT, WRITES_PER_SCRIPT, change_of, entry_of, parts


@given(st.binary(max_size=3000))
def test_every_body_comes_back(body: bytes) -> None:
    assert unpack(pack(body)) == body


@given(st.binary(max_size=3000))
def test_packing_never_adds_more_than_its_mark(body: bytes) -> None:
    assert len(pack(body)) <= len(body) + 1


def test_a_large_body_comes_back() -> None:
    body = json.dumps({"images": [{"names": [f"registry/{i}"]} for i in range(5000)]}).encode()
    assert unpack(pack(body)) == body
    assert len(pack(body)) < len(body) / 3


def test_a_claim_takes_less_than_half_of_what_plain_deflate_takes() -> None:
    claim = json.dumps(
        {
            "apiVersion": "resource.k8s.io/v1alpha2",
            "kind": "ResourceClaim",
            "metadata": {
                "name": "gpu",
                "namespace": "default",
                "uid": "9a5c8b39-2e9a-4e0b-bf0e-1d2c3b4a5f60",
                "resourceVersion": "4711",
                "creationTimestamp": "2026-11-30T04:32:08Z",
            },
            "spec": {"resourceClassName": "gpu.example.com", "allocationMode": "WaitForFirstConsumer"},
            "status": {},
        },
        separators=(",", ":"),
    ).encode()
    assert len(pack(claim)) < len(zlib.compress(claim, 1)) / 2


def test_the_dictionary_never_changes() -> None:
    # It is part of what is stored: add a DICTIONARY_2 with a mark of its own instead.
    assert hashlib.blake2b(DICTIONARY_1, digest_size=8).hexdigest() == "f205940b1cbe1461"


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (b"", "another version"),
        (b"\x07abc", "another version"),
        (b"\x01abc", "damaged"),
        (pack(b'{"kind":"Pod"}' * 20)[:-3], "damaged"),
    ],
)
def test_bytes_that_are_no_body_are_named(packed: bytes, message: str) -> None:
    with pytest.raises(BadBody, match=message):
        unpack(packed)


def test_a_fingerprint_overlooks_what_says_nothing_new() -> None:
    one = fingerprint(b'{"sentence": "a", "revision": 1, "judgedAt": 1.0, "hints": []}')
    assert one == fingerprint(b'{"revision":2,"judgedAt":3.5,"sentence":"a"}')
    assert one != fingerprint(b'{"sentence":"b","revision":1}')
    assert one != fingerprint(b'{"sentence":"a","since":1}')


def test_fields_that_run_into_each_other_have_different_fingerprints() -> None:
    assert fingerprint(b'{"a":"b","c":"d"}') != fingerprint(b'{"a":"b\\",\\"c","d":""}')


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b'{"a":\xff}'])
def test_what_is_no_verdict_has_no_fingerprint(body: bytes) -> None:
    with pytest.raises(ValueError, match="JSON object"):
        fingerprint(body)


def test_hints_are_split_to_one_a_line_and_joined_again() -> None:
    notes = split_hints(b'[ {"a":\n 1}, {"b": "x\\ny"} ]')
    assert notes == [b'{"a":1}', b'{"b":"x\\ny"}']
    assert join_hints(notes) == b'[{"a":1},{"b":"x\\ny"}]'
    assert split_hints(b"[]") == []
    assert join_hints([]) == b"[]"


def test_keys_of_a_cluster_share_one_hash_tag() -> None:
    keys = Keys("prod-1")
    assert keys.current("pods") == "dradash:{prod-1}:objects:pods"
    assert keys.current(VERDICTS) == keys.verdicts == "dradash:{prod-1}:verdicts"
    assert keys.history("pods", "ns/p") == b"dradash:{prod-1}:history:pods:ns/p"


@pytest.mark.parametrize("name", ["", "a}b", "{", "a b", "a\nb", "x" * 254])
def test_a_cluster_name_that_would_break_the_hash_tag_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="DRADASH_CLUSTER"):
        Keys(name)


def test_scripts_name_keys_as_python_does() -> None:
    keys = Keys("c")
    for name in ("meta", "lease", "kinds", "changes", "sync", "node_slots", "due_info", "verdicts", "node_sets"):
        suffix = getattr(keys, name).removeprefix(keys.prefix)
        assert f"local {name} = KEYS[1] .. '{suffix}'\n" in lua_prelude()


def test_scripts_name_no_key_themselves() -> None:
    for script in (Path(__file__).parents[2] / "dradash/store/lua").glob("*.lua"):
        assert "dradash:" not in script.read_text()
        assert "KEYS" not in script.read_text()


@given(st.text(st.characters(codec=None)))
def test_any_name_comes_back(name: str) -> None:
    assert untext(text(name)) == name


def entries(*times: float) -> list[HistoryEntry]:
    return [HistoryEntry(n, at, "MODIFIED", b"") for n, at in enumerate(times)][::-1]


@pytest.mark.parametrize(
    ("start", "end", "limit", "want"),
    [
        (0, 99, 9, [1, 2, 3]),
        (2.5, 99, 9, [2, 3]),
        (2, 2, 9, [2]),
        (0, 0.5, 9, []),
        (9, 9, 1, [3]),
        (0, 99, 2, [2, 3]),
        (0, 99, 0, []),
    ],
)
def test_history_begins_with_the_state_in_force(start: float, end: float, limit: int, want: list[float]) -> None:
    assert [e.at for e in select(entries(1, 2, 3), start, end, limit)] == want


def test_records_and_changes_are_read_back() -> None:
    assert entry_of(b"7 1.5 D\n" + pack(b"x\ny")) == HistoryEntry(7, 1.5, "DELETED", b"x\ny")
    fields = {b"k": b"pods", b"y": b"ns/p", b"t": b"ADDED", b"o": pack(b"{}"), b"a": b"2.25"}
    change = change_of(b"12-0", fields)
    assert (change.revision, change.kind, change.key, change.type, change.object, change.at) == (
        12,
        "pods",
        "ns/p",
        "ADDED",
        b"{}",
        2.25,
    )


def test_batches_are_cut_by_number_and_by_size() -> None:
    small = [Write("pods", str(i), "ADDED", b"{}") for i in range(WRITES_PER_SCRIPT + 1)]
    assert [len(part) for part in parts(small)] == [WRITES_PER_SCRIPT, 1]
    noise = hashlib.shake_128(b"").digest(BYTES_PER_SCRIPT // 2 + 1)
    large = [Write("pods", str(i), "ADDED", noise) for i in range(3)]
    assert [len(part) for part in parts(large)] == [1, 1, 1]
    assert list(parts([])) == []
