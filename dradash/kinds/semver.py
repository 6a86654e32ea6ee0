"""Semantic versions as CEL's `semver` and the allocator see them (blang/semver v4): strict 2.0.0, build ignored."""

from __future__ import annotations

import re
from typing import Final

import msgspec

_NUMBER: Final = re.compile(r"\d+", re.ASCII)
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]+", re.ASCII)
_MAX_UINT64: Final = 2**64 - 1
_MAX_LENGTH: Final = 1024


class InvalidVersion(ValueError):
    """The text is no semantic version; the message says why."""


class Version(msgspec.Struct, frozen=True, eq=False):
    """`pre` holds the identifiers of the pre-release (numbers as int); `build` takes no part in comparison."""

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    def compare(self, other: Version) -> int:
        """Version.Compare: -1, 0 or 1."""
        mine, theirs = (self.major, self.minor, self.patch), (other.major, other.minor, other.patch)
        if mine != theirs:
            return 1 if mine > theirs else -1
        if not self.pre or not other.pre:
            return bool(other.pre) - bool(self.pre)
        for a, b in zip(self.pre, other.pre, strict=False):
            if order := _compare_identifiers(a, b):
                return order
        return (len(self.pre) > len(other.pre)) - (len(self.pre) < len(other.pre))

    def __eq__(self, other: object) -> bool:
        return self.compare(other) == 0 if isinstance(other, Version) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.major, self.minor, self.patch, self.pre))

    def __lt__(self, other: Version) -> bool:
        return self.compare(other) < 0


def _compare_identifiers(a: int | str, b: int | str) -> int:
    """Numbers before text; text in ASCII order."""
    if isinstance(a, int) and isinstance(b, int):
        return (a > b) - (a < b)
    if isinstance(a, int):
        return -1
    if isinstance(b, int):
        return 1
    return (a > b) - (a < b)


def parse(text: str) -> Version:
    """semver.Parse. Raises InvalidVersion."""
    if not text or len(text) > _MAX_LENGTH:
        raise InvalidVersion("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise InvalidVersion("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    return Version(
        _number(parts[0], "Major"),
        _number(parts[1], "Minor"),
        _number(patch, "Patch"),
        tuple(_pre(p) for p in pre.split(".")) if dash else (),
        tuple(_build(b) for b in build.split(".")) if plus else (),
    )


def _number(text: str, what: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise InvalidVersion(f"Invalid character(s) found in {what.lower()} number {text!r}")
    if len(text) > 1 and text[0] == "0":
        raise InvalidVersion(f"{what} number must not contain leading zeroes {text!r}")
    if int(text) > _MAX_UINT64:
        raise InvalidVersion(f"{what} number out of range {text!r}")
    return int(text)


def _pre(text: str) -> int | str:
    if not text:
        raise InvalidVersion("Prerelease is empty")
    if _NUMBER.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise InvalidVersion(f"Numeric PreRelease version must not contain leading zeroes {text!r}")
        return int(text)
    if not _IDENTIFIER.fullmatch(text):
        raise InvalidVersion(f"Invalid character(s) found in prerelease {text!r}")
    return text


def _build(text: str) -> str:
    if not text:
        raise InvalidVersion("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise InvalidVersion(f"Invalid character(s) found in build meta data {text!r}")
    return text


def normalized(text: str) -> str:
    """What `semver(text, true)` parses: without a leading v and leading zeroes, with the missing parts."""
    text = text.removeprefix("v")
    core = re.split(r"[-+]", text, maxsplit=1)[0]
    rest = text[len(core) :]
    numbers = [n.lstrip("0") or ("0" if n else "") for n in core.split(".", 2)]
    return ".".join(numbers + ["0"] * (3 - len(numbers))) + rest
