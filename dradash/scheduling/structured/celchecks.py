"""What cel-go checks of an expression besides types: its AST validators, and the type that a selector must have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dradash.scheduling.structured import celtime
from dradash.scheduling.structured.celframe import Regex
from dradash.scheduling.structured.celtree import (
    Call,
    Comprehension,
    Const,
    Ident,
    ListOf,
    MapOf,
    Node,
    Select,
    StaticType,
    Tree,
)
from dradash.scheduling.structured.celvalues import CelError, EvalError

_SHOWABLE: Final = frozenset(
    ("bool", "bytes", "int", "uint", "double", "list", "map", "string", "type", "duration", "timestamp", "null_type")
)
_FORMATTED: Final[dict[str, frozenset[str]]] = {
    "s": _SHOWABLE,
    "d": frozenset(("int", "uint")),
    "f": frozenset(("double", "string")),
    "e": frozenset(("double", "string")),
    "b": frozenset(("bool", "int", "uint")),
    "o": frozenset(("int", "uint")),
    "x": frozenset(("int", "uint", "string", "bytes")),
    "X": frozenset(("int", "uint", "string", "bytes")),
}
# Not "any", the type of an attribute: format wants it converted.
_UNKNOWN: Final = ("dyn", "error", "type_param")


class Refused(CelError):
    """The expression compiles but is not accepted."""


def check(tree: Tree, regex: Regex, *, device_is_value: bool = False) -> None:
    """device_is_value: it has a type of its own (celdevice). Raises Refused."""
    result = tree.type_of(tree.root)
    if result.name not in ("bool", "any"):
        raise Refused(f"must evaluate to bool or the unknown type, not {result}")
    for node in nodes(tree.root):
        if not device_is_value:
            _check_device(node)
        if isinstance(node, Call):
            _check_literals(node, regex)
            _check_format(node, tree)
        elif isinstance(node, MapOf) and node.message:
            raise Refused(f"undeclared reference to '{node.message}'")
    _check_same_types(tree)


def children(node: Node) -> Iterator[Node]:
    match node:
        case Select():
            yield node.operand
        case Call():
            if node.target is not None:
                yield node.target
            yield from node.args
        case ListOf():
            yield from node.elements
        case MapOf():
            for key, value, _ in node.entries:
                yield key
                yield value
        case Comprehension():
            yield from (node.iter_range, node.accu_init, node.loop_condition, node.loop_step, node.result)
        case _:
            pass


def nodes(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += children(node)


def _is_device(node: Node) -> bool:
    return isinstance(node, Ident) and node.name == "device"


def _check_device(node: Node) -> None:
    """`device` is an object: only its fields can be used, and only by selecting them."""
    if isinstance(node, Select) and _is_device(node.operand):
        raise Refused(f"undefined field '{node.field}'")
    if any(_is_device(child) for child in children(node)) or _is_device(node):
        if isinstance(node, Ident):
            return  # its parent is what is judged; a lone `device` has the wrong type already
        raise Refused("found no matching overload for an object")


def _check_literals(node: Call, regex: Regex) -> None:
    """ValidateRegexLiterals, ValidateDurationLiterals and ValidateTimestampLiterals."""
    arg = node.args[0] if node.args else None
    if not isinstance(arg, Const) or not isinstance(arg.value, str):
        return
    try:
        if node.function in ("matches", "find", "findAll") and node.target is not None:
            regex.matches("", arg.value)
        elif node.function == "duration":
            celtime.parse_duration(arg.value)
        elif node.function == "timestamp":
            celtime.parse_timestamp(arg.value)
    except EvalError as error:
        raise Refused(f"invalid {node.function} argument: {error}") from error


def _check_same_types(tree: Tree) -> None:
    """ValidateHomogeneousAggregateLiterals: elements, keys and values of literals have one type, down to the last
    parameter, and neither `null` nor the unknown type goes with another. Only inside a call of format may they be
    mixed, however deep (inExemptFunction)."""
    waiting = [(tree.root, False)]
    while waiting:
        node, is_exempt = waiting.pop()
        if not is_exempt:
            for each in _alike(node, tree):
                _check_same(each)
        is_exempt |= isinstance(node, Call) and node.function == "format"
        waiting += [(child, is_exempt) for child in children(node)]


def _alike(node: Node, tree: Tree) -> list[list[StaticType]]:
    """Types that must be the same: what an optional element or value would be is what counts."""
    match node:
        case ListOf():
            return [[_present(tree.type_of(e), i in node.optional) for i, e in enumerate(node.elements)]]
        case MapOf():
            keys = [tree.type_of(key) for key, _, _ in node.entries]
            return [keys, [_present(tree.type_of(value), optional) for _, value, optional in node.entries]]
    return []


def _present(static: StaticType, optional: bool) -> StaticType:
    return static.parameters[0] if optional and static.parameters else static


def _check_same(types: list[StaticType]) -> None:
    for found in types[1:]:
        if found != types[0]:
            raise Refused(f"expected type '{types[0]}' but found '{found}'")


def _check_format(node: Call, tree: Tree) -> None:
    """Strings' format validator: a literal template against the static types of a literal list."""
    template, arg = node.target, node.args[0] if node.args else None
    if node.function != "format" or not isinstance(template, Const) or not isinstance(template.value, str):
        return
    if not isinstance(arg, ListOf):
        return
    verbs = _verbs(template.value)
    if len(verbs) > len(arg.elements):
        raise Refused(f"error during formatting: index {len(arg.elements)} out of range")
    if len(verbs) < len(arg.elements):
        raise Refused(f"too many arguments supplied to string.format (expected {len(verbs)})")
    for verb, element in zip(verbs, arg.elements, strict=True):
        _check_clause(verb, element, tree)


def _check_clause(verb: str, element: Node, tree: Tree) -> None:
    """%s looks into literals too (verifyString)."""
    kind = tree.type_of(element).name
    if kind not in _UNKNOWN and kind not in _FORMATTED[verb]:
        raise Refused(f"error during formatting: %{verb} cannot be used on {kind}")
    if isinstance(element, ListOf | MapOf):
        for inner in children(element):
            _check_clause(verb, inner, tree)


def _verbs(template: str) -> list[str]:
    verbs = []
    place = 0
    while (place := template.find("%", place)) >= 0:
        place += 1
        if template[place : place + 1] == "%":
            place += 1
            continue
        if template[place : place + 1] == ".":
            place += 1
            while template[place : place + 1].isdigit():
                place += 1
        verb = template[place : place + 1]
        if verb not in _FORMATTED:
            raise Refused(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
        verbs.append(verb)
    return verbs
