"""The chunked coding and lines, fed in every way that a socket may cut them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dradash.informer import chunked as chunked_module
from dradash.informer.chunked import BrokenChunks, Dechunker, Lines


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(at)]


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.lists(st.integers(0, 10_000), max_size=12))
def test_the_body_is_the_same_wherever_the_socket_cuts_it(parts: list[bytes], places: list[int]) -> None:
    dechunker = Dechunker()

    body = b"".join(dechunker.feed(piece) for piece in cut(chunked(*parts), places))

    assert body == b"".join(parts)
    assert dechunker.finished


def test_without_the_last_chunk_it_is_not_finished() -> None:
    dechunker = Dechunker()

    assert dechunker.feed(b"3\r\nabc\r\n") == b"abc"
    assert not dechunker.finished


def test_extensions_of_a_chunk_are_ignored() -> None:
    assert Dechunker().feed(b"3;x=1\r\nabc\r\n") == b"abc"


@pytest.mark.parametrize("data", [b"xyz\r\n", b"\r\n", b"-3\r\n", b"+3\r\n", b"0x3\r\n", b"a" * 5000])
def test_what_is_no_chunk_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenChunks):
        Dechunker().feed(data)


@given(
    st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b" ")), max_size=6), st.lists(st.integers(0, 999))
)
def test_lines_are_the_same_wherever_they_are_cut(texts: list[bytes], places: list[int]) -> None:
    lines = Lines()

    read = [line for piece in cut(b"".join(text + b"\n" for text in texts), places) for line in lines.feed(piece)]

    assert read == [text for text in texts if text.strip()]
    assert lines.unfinished == b""


def test_an_unfinished_line_is_told_apart() -> None:
    lines = Lines()

    assert lines.feed(b"one\ntw") == [b"one"]
    assert lines.unfinished == b"tw"


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_module, "LONGEST_LINE", 10)
    lines = Lines()

    assert lines.feed(b"12345678\n12345678") == [b"12345678"]
    with pytest.raises(BrokenChunks, match="longer than"):
        lines.feed(b"9012")
