"""HTTP/1.1 chunked transfer coding and lines, as pure receivers of bytes.

http.client decodes chunks too, but one at a time and waiting for each; a watch that is decoded here hands over all
events that one read of the socket brought, and they are written together.
"""

from __future__ import annotations

from typing import Final

_LONGEST_SIZE_LINE: Final = 4096


LONGEST_LINE: Final = 64 * 1024 * 1024  # bytes; an object in etcd is some megabytes at most


class BrokenChunks(ValueError):
    """The peer does not speak the chunked coding, or sends a line without end."""


class Dechunker:
    """Bytes off the socket in, bytes of the body out. `finished` once the last chunk was seen."""

    def __init__(self) -> None:
        self.finished = False
        self._buffer = bytearray()
        self._left = 0  # bytes of the chunk under way, its closing CRLF included

    def feed(self, data: bytes) -> bytes:
        """The body bytes that `data` completes. Raises BrokenChunks."""
        buffer = self._buffer
        buffer += data
        body = bytearray()
        at = 0
        while not self.finished:
            if self._left:
                taken = min(self._left, len(buffer) - at)
                # The last two bytes of a chunk are its CRLF.
                body += buffer[at : at + min(taken, max(self._left - 2, 0))]
                self._left -= taken
                at += taken
                if self._left:
                    break
            end = buffer.find(b"\r\n", at)
            if end < 0:
                if len(buffer) - at > _LONGEST_SIZE_LINE:
                    raise BrokenChunks("a chunk without a size")
                break
            size = _size(bytes(buffer[at:end]))
            at = end + 2
            self.finished = size == 0
            self._left = size + 2 if size else 0
        del buffer[:at]
        return bytes(body)


def _size(line: bytes) -> int:
    digits = line.split(b";", 1)[0].strip()
    if not digits or digits.strip(b"0123456789abcdefABCDEF"):
        raise BrokenChunks(f"{line[:40]!r} is no chunk size")
    return int(digits, 16)


class Lines:
    """Bytes in, complete lines out; what is left at the end is a line that the peer did not finish."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0  # bytes in the parts

    def feed(self, data: bytes) -> list[bytes]:
        """Complete lines without their newline; empty lines are left out. Linear in the bytes, however long a line.

        Raises BrokenChunks when a line gets longer than LONGEST_LINE.
        """
        *ends, rest = data.split(b"\n")
        lines: list[bytes] = []
        for end in ends:
            self._parts.append(end)
            line = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            if line.strip():
                lines.append(line)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > LONGEST_LINE:
                raise BrokenChunks(f"a line longer than {LONGEST_LINE} bytes")
        return lines

    @property
    def unfinished(self) -> bytes:
        return b"".join(self._parts)
