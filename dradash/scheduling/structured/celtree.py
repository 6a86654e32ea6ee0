"""The checked tree of a CEL expression, read from the wire form of cel.expr.CheckedExpr and ParsedExpr.

The library parses and checks; what it found comes out of it as protobuf bytes. Only the fields used are read.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import msgspec

from dradash.scheduling.structured.celvalues import Uint

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Const(msgspec.Struct, frozen=True):
    id: int
    value: Any  # None, bool, int, Uint, float, str or bytes


class Ident(msgspec.Struct, frozen=True):
    id: int
    name: str


class Select(msgspec.Struct, frozen=True):
    id: int
    operand: Node
    field: str
    test_only: bool


class Call(msgspec.Struct, frozen=True):
    id: int
    target: Node | None
    function: str
    args: tuple[Node, ...]


class ListOf(msgspec.Struct, frozen=True):
    id: int
    elements: tuple[Node, ...]
    optional: frozenset[int]


class MapOf(msgspec.Struct, frozen=True):
    """Entries are (key, value, optional). A message literal has a `message` name; Kubernetes declares none."""

    id: int
    entries: tuple[tuple[Node, Node, bool], ...]
    message: str


class Comprehension(msgspec.Struct, frozen=True):
    id: int
    iter_var: str
    iter_range: Node
    accu_var: str
    accu_init: Node
    loop_condition: Node
    loop_step: Node
    result: Node


Node = Const | Ident | Select | Call | ListOf | MapOf | Comprehension


class StaticType(msgspec.Struct, frozen=True):
    """A type that the checker found: `list` with that of its elements, `map` with those of keys and values, `type` and
    `optional_type` with one, any other with none."""

    name: str
    parameters: tuple[StaticType, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})" if self.parameters else self.name


DYN: Final = StaticType("dyn")


class Tree(msgspec.Struct, frozen=True):
    """`types` has each node's static type; `offsets` its place in the text."""

    root: Node
    types: dict[int, StaticType]
    offsets: dict[int, int]

    def type_of(self, node: Node) -> StaticType:
        return self.types.get(node.id, DYN)


Fields = dict[int, list[Any]]

_PRIMITIVES: Final = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN: Final = {1: "any", 2: "timestamp", 3: "duration"}


def read(wire: bytes) -> Tree:
    """The tree in what `Expression.serialize()` returned: an Any with a CheckedExpr or a ParsedExpr."""
    outer = _fields(wire)
    body = _fields(outer[2][0])
    if outer[1][0].endswith(b"CheckedExpr"):
        types = {_int(e, 1): _fields(e[2][0]) for e in map(_fields, body.get(3, []))}
        root, info = body[4][0], body.get(5)
    else:
        types = {}
        root, info = body[2][0], body.get(3)
    source = _fields(info[0]) if info else {}
    offsets = {_int(e, 1): _int(e, 2) for e in map(_fields, source.get(4, []))}
    return Tree(
        _node(_fields(root)),
        {i: _type(t) for i, t in types.items()},
        offsets,
    )


def _fields(wire: bytes) -> Fields:
    found: Fields = {}
    place = 0
    while place < len(wire):
        tag, place = _varint(wire, place)
        number, kind = tag >> 3, tag & 7
        value: Any
        if kind == _VARINT:
            value, place = _varint(wire, place)
        elif kind == _BYTES:
            size, place = _varint(wire, place)
            value, place = wire[place : place + size], place + size
        else:
            size = 8 if kind == _FIXED64 else 4
            value, place = wire[place : place + size], place + size
        found.setdefault(number, []).append(value)
    return found


def _varint(wire: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = wire[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _int(fields: Fields, number: int) -> int:
    """A signed varint field, 0 if absent."""
    value = int(fields[number][0]) if number in fields else 0
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(fields: Fields, number: int) -> str:
    return fields[number][0].decode() if number in fields else ""


def _type_name(fields: Fields) -> str:
    if 3 in fields:
        return _PRIMITIVES.get(fields[3][0], "dyn")
    if 5 in fields:
        return _WELL_KNOWN.get(fields[5][0], "dyn")
    names = {1: "dyn", 2: "null_type", 4: "wrapper", 6: "list", 7: "map", 10: "type_param", 11: "type", 12: "error"}
    for number, name in names.items():
        if number in fields:
            return name
    if 9 in fields:
        return _text(fields, 9)
    return _text(_fields(fields[14][0]), 1) if 14 in fields else "dyn"


def _type(fields: Fields) -> StaticType:
    """list_type (6), map_type (7), type (11) and abstract_type (14) have types inside."""
    inner: list[bytes | None] = []
    if 6 in fields:
        inner = [_part(fields[6][0], 1)]
    elif 7 in fields:
        inner = [_part(fields[7][0], 1), _part(fields[7][0], 2)]
    elif 11 in fields:
        inner = [fields[11][0]]
    elif 14 in fields:
        inner = [*_fields(fields[14][0]).get(2, ())]
    return StaticType(_type_name(fields), tuple(_type(_fields(i)) if i else DYN for i in inner))


def _part(wire: bytes, number: int) -> bytes | None:
    found = _fields(wire).get(number)
    return found[0] if found else None


def _node(fields: Fields) -> Node:
    id_ = _int(fields, 2)
    kind = next(n for n in (3, 4, 5, 6, 7, 8, 9) if n in fields)
    body = _fields(fields[kind][0])
    match kind:
        case 3:
            return Const(id_, _constant(body))
        case 4:
            return Ident(id_, _text(body, 1).removeprefix("."))
        case 5:
            return Select(id_, _child(body, 1), _text(body, 2), bool(_int(body, 3)))
        case 6:
            target = _child(body, 1) if 1 in body else None
            return Call(id_, target, _text(body, 2), tuple(_node(_fields(a)) for a in body.get(3, [])))
        case 7:
            elements = tuple(_node(_fields(e)) for e in body.get(1, []))
            return ListOf(id_, elements, frozenset(_packed(body.get(2, []))))
        case 8:
            return MapOf(id_, tuple(_entry(_fields(e)) for e in body.get(2, [])), _text(body, 1))
        case _:
            return _comprehension(id_, body)


def _child(fields: Fields, number: int) -> Node:
    return _node(_fields(fields[number][0]))


def _packed(values: list[Any]) -> list[int]:
    numbers: list[int] = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        place = 0
        while place < len(value):
            number, place = _varint(value, place)
            numbers.append(number)
    return numbers


def _entry(fields: Fields) -> tuple[Node, Node, bool]:
    key: Node = _child(fields, 3) if 3 in fields else Const(_int(fields, 1), _text(fields, 2))
    return key, _child(fields, 4), bool(_int(fields, 5))


def _comprehension(id_: int, body: Fields) -> Comprehension:
    return Comprehension(
        id_,
        _text(body, 1),
        _child(body, 2),
        _text(body, 3),
        _child(body, 4),
        _child(body, 5),
        _child(body, 6),
        _child(body, 7),
    )


def _constant(fields: Fields) -> Any:
    if 2 in fields:
        return bool(fields[2][0])
    if 3 in fields:
        return _int(fields, 3)
    if 4 in fields:
        return Uint(fields[4][0])
    if 5 in fields:
        return _double(fields[5][0])
    if 6 in fields:
        return fields[6][0].decode()
    return fields[7][0] if 7 in fields else None


def _double(wire: bytes) -> float:
    return float(struct.unpack("<d", wire)[0])
