"""Which part of a selector refuses a device: the parts of a top-level && chain, and the values that each looks at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

import msgspec

from dradash.scheduling.structured.cel import CompileError, RuntimeFault, compile_selector
from dradash.scheduling.structured.celbind import unbound
from dradash.scheduling.structured.celmacros import Token, tokens
from dradash.scheduling.structured.celreads import Read
from dradash.scheduling.structured.constraints import lookup_attribute, typed_value
from dradash.scheduling.structured.ledger import Published
from dradash.scheduling.structured.requests import Candidate
from dradash.scheduling.structured.selection import Answers

NOTHING: Final = "nothing"
_LONGEST: Final = 200  # characters of a value that are shown
_DOMAIN: Final = re.compile(r"""\bdevice\.(?:attributes|capacity)\[(?:"[^"]*"|'[^']*')\]\.""")


class Met(msgspec.Struct, frozen=True, order=True):
    """A value of a device that a selector reads; "nothing" where the device has none of that name."""

    name: str
    value: str


@lru_cache(maxsize=4096)
def conjuncts(expression: str) -> tuple[str, ...]:
    """The parts that must all be true, in their order; the expression itself if it is no such chain."""
    return parts_of(expression, _compiles)


def parts_of(expression: str, compiles: Callable[[str], bool]) -> tuple[str, ...]:
    """The same, unless a part does not compile: then the expression itself. What cel.bind names is put in its place."""
    parts = _parts(tokens(expression))
    if len(parts) < 2:
        body = unbound(parts[0] if parts else expression)
        parts = [body] if body else parts[:0]
    if not parts or not all(compiles(part) for part in parts):
        return (expression,)
    return tuple(inner for part in parts for inner in parts_of(part, compiles))


def _compiles(expression: str) -> bool:
    try:
        compile_selector(expression)
    except CompileError:
        return False
    return True


def _parts(found: list[Token]) -> list[str]:
    """Split at && outside of brackets. Empty where something binds less: `||`, `? :`."""
    found = _unwrapped(found)
    parts: list[list[str]] = [[]]
    depth = 0
    before = ""
    for i, token in enumerate(found):
        text = token.text
        if token.kind == "other":
            depth += (text in "([{") - (text in ")]}")
            if depth == 0 and (text == "|" or (text == "?" and before != ".")):
                return []
            if depth == 0 and text == "&":
                if before == "&":
                    parts[-1].pop()
                    parts.append([])
                    before = ""
                    continue
                if i + 1 == len(found):
                    return []
        parts[-1].append(text)
        before = text
    return ["".join(p).strip() for p in parts]


def _unwrapped(found: list[Token]) -> list[Token]:
    """Without brackets around all of it."""
    while True:
        seen = [i for i, t in enumerate(found) if t.kind != "space"]
        if len(seen) < 3 or found[seen[0]].text != "(" or _end(found, seen[0]) != seen[-1]:
            return found
        found = found[seen[0] + 1 : seen[-1]]


def _end(found: list[Token], start: int) -> int:
    depth = 0
    for place in range(start, len(found)):
        token = found[place]
        if token.kind == "other":
            depth += (token.text in "([{") - (token.text in ")]}")
            if depth == 0:
                return place
    return -1


def refusing(expression: str, candidate: Candidate, answers: Answers) -> str:
    """The first part that is not true of the device, which the whole expression is not either."""
    parts = conjuncts(expression)
    for part in parts:
        try:
            if not answers.ask(part, candidate):
                return part
        except RuntimeFault:
            return part
    return expression


def without(expression: str, part: str) -> str:
    """The expression without one of its parts."""
    return " && ".join(f"({p})" for p in conjuncts(expression) if p != part) or "true"


@lru_cache(maxsize=4096)
def short(part: str) -> str:
    """`model == "h100"` for `device.attributes["gpu.example.com"].model == "h100"`."""
    return _DOMAIN.sub("", part).strip()


def met(part: str, candidate: Candidate) -> tuple[Met, ...]:
    """What the part reads of the device, as far as it names it."""
    try:
        return met_by(part, compile_selector(part).reads, candidate)
    except CompileError:
        return ()


def met_by(part: str, reads: Iterable[Read], candidate: Candidate | Published) -> tuple[Met, ...]:
    device, driver = candidate.device, candidate.id.driver
    found = []
    for read in reads:
        if read.name:
            of = attribute_text if read.of == "attributes" else _capacity
            found.append(Met(read.name, of(candidate, f"{read.domain}/{read.name}")))
    if "device.driver" in part:
        found.append(Met("driver", driver))
    if "device.allowMultipleAllocations" in part:
        found.append(Met("allowMultipleAllocations", "true" if device.allow_multiple_allocations else "false"))
    return tuple(sorted(found))


def attribute_text(candidate: Candidate | Published, name: str) -> str:
    """The value of an attribute by its full name, as text."""
    attribute = lookup_attribute(candidate.device, candidate.id, name)
    value = typed_value(attribute) if attribute is not None else None
    if value is None:
        return NOTHING
    text = str(value[1]).lower() if value[0] == "bool" else str(value[1])
    return text[:_LONGEST]


def _capacity(candidate: Candidate | Published, name: str) -> str:
    held = candidate.device.capacity
    domain, _, rest = name.partition("/")
    found = held.get(name) or (held.get(rest) if domain == candidate.id.driver else None)
    return NOTHING if found is None else str(found.value)[:_LONGEST]
