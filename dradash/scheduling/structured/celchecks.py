"""What cel-go checks of an expression besides types: its AST validators, and the type that a selector must have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dradash.scheduling.structured import celtime
from dradash.scheduling.structured.celframe import Regex
from dradash.scheduling.structured.celtree import Call, Comprehension, Const, Ident, ListOf, MapOf, Node, Select, Tree
from dradash.scheduling.structured.celvalues import CelError, EvalError

_SHOWABLE: Final = frozenset(
    ("bool", "bytes", "int", "uint", "double", "list", "map", "string", "type", "duration", "timestamp", "null_type")
)
_FORMATTED: Final[dict[str, frozenset[str]]] = {
    "s": _SHOWABLE,
    "d": frozenset(("int", "uint")),
    "f": frozenset(("double", "int", "uint")),
    "e": frozenset(("double", "int", "uint")),
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
    result = tree.types.get(tree.root.id, "dyn")
    if result not in ("bool", "any"):
        raise Refused(f"must evaluate to bool or the unknown type, not {result}")
    formatted: set[int] = set()  # the arguments of format may be mixed
    for node in nodes(tree.root):
        if not device_is_value:
            _check_device(node)
        if isinstance(node, Call):
            _check_literals(node, regex)
            _check_format(node, tree)
            if node.function == "format":
                formatted.update(a.id for a in node.args)
        elif isinstance(node, ListOf) and node.id not in formatted:
            _check_same([tree.types.get(e.id, "dyn") for e in node.elements])
        elif isinstance(node, MapOf):
            if node.message:
                raise Refused(f"undeclared reference to '{node.message}'")
            _check_same([tree.types.get(k.id, "dyn") for k, _, _ in node.entries])
            _check_same([tree.types.get(v.id, "dyn") for _, v, _ in node.entries])


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


def _check_same(types: list[str]) -> None:
    """ValidateHomogeneousAggregateLiterals: nothing may be mixed, not even with the unknown type, unless optional."""
    known = {t for t in types if t != "null_type"}
    if len(known) > 1:
        raise Refused(f"expected one type in a literal but found {', '.join(sorted(known))}")


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
        kind = tree.types.get(element.id, "dyn")
        if kind not in _UNKNOWN and kind not in _FORMATTED[verb]:
            raise Refused(f"error during formatting: %{verb} cannot be used on {kind}")


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
