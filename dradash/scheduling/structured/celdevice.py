"""`device` as a value: bound to a name, in a list, before `.?`.

Kubernetes declares an object type with four fields, which the library cannot be told. So such an expression is checked
twice: first with `device` as a map of anything, which tells what is selected of a device; these selections become
functions of an opaque type, and with them the expression is checked exactly. The tree gets the selections back.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from dradash.scheduling.structured.celchecks import Refused, nodes
from dradash.scheduling.structured.celdeclarations import DEVICE_FIELDS
from dradash.scheduling.structured.celmacros import Token, tokens
from dradash.scheduling.structured.celtree import Call, Comprehension, Const, ListOf, MapOf, Node, Select, Tree

# The type of `device` at first, which no other value has: (key, value).
LOOSE: Final = ("bool", "dyn")
# What `null` is called at first, where it may be anything: no map is null, but an object may be. As long as `null` is.
NULL: Final = "_nu_"
_GET: Final = {f"{field}__": field for field in DEVICE_FIELDS}
_GET_OPTIONAL: Final = {f"{field}_one__": field for field in DEVICE_FIELDS}


def is_a_value(expression: str) -> bool:
    """Whether `device` stands somewhere without one of its names behind it."""
    seen = [t for t in tokens(expression) if t.kind != "space"]
    if any(t.text in _GET or t.text in _GET_OPTIONAL for t in seen):
        return False
    for place, token in enumerate(seen):
        if token == _DEVICE and (place == 0 or seen[place - 1].text != "."):
            after = seen[place + 1 : place + 3]
            if len(after) < 2 or after[0].text != "." or after[1].kind != "name":
                return True
    return False


_DEVICE: Final = Token("name", "device")


def without_null(expression: str) -> str:
    """The expression for the first check."""
    return "".join(NULL if token == _NULL else token.text for token in tokens(expression))


_NULL: Final = Token("name", "null")


def with_functions(expression: str, tree: Tree) -> str:
    """The expression with functions for what it selects of devices. `tree`: of the first check. Raises Refused."""
    found = tokens(expression)
    starts: dict[int, int] = {}
    offset = 0
    for place, token in enumerate(found):
        starts[offset] = place
        offset += len(token.text)
    texts = [t.text for t in found]
    for node in nodes(tree.root):
        field = _selected(node, tree)
        if field is None:
            continue
        if field not in DEVICE_FIELDS:
            raise Refused(f"undefined field '{field}'")
        try:
            place = starts[tree.offsets[node.id]]
            if isinstance(node, Select) and node.test_only:
                _replace_has(found, texts, place)
            else:
                _replace_field(found, texts, place, field, optional=isinstance(node, Call))
        except LookupError:
            raise Refused(f"'{field}' of a device is not understood here: it is not where it should be") from None
    return "".join(texts)


def _selected(node: Node, tree: Tree) -> str | None:
    match node:
        case Select(operand=operand, field=field):
            pass
        case Call(function="_?._", args=(operand, Const(value=str(field)))):
            pass
        case _:
            return None
    return field if tree.map_types.get(operand.id) == LOOSE else None


def _replace_field(found: list[Token], texts: list[str], dot: int, field: str, *, optional: bool) -> None:
    place = dot + 1
    while found[place].text != field:
        if found[place].text == "?":
            texts[place] = ""
        place += 1
    # The library cannot be told of a function that returns an optional value, but `first` of a list does.
    texts[place] = f"{field}_one__().first()" if optional else f"{field}__()"


def _replace_has(found: list[Token], texts: list[str], bracket: int) -> None:
    """A device has all of its fields."""
    place = bracket
    while found[place].text != "has":
        texts[place] = ""
        place -= 1
    texts[place] = "true"
    depth, place = 1, bracket
    while depth > 0:
        place += 1
        depth += (found[place].text == "(") - (found[place].text == ")")
        texts[place] = ""


def with_fields(node: Node) -> Node:
    """The tree of the second check, with fields selected again."""
    match node:
        case Call(function="first", target=Call(function=function, target=operand) as one) if (
            operand is not None and function in _GET_OPTIONAL
        ):
            return Call(node.id, None, "_?._", (with_fields(operand), Const(one.id, _GET_OPTIONAL[function])))
        case Call(function=function, target=operand) if operand is not None and function in _GET:
            return Select(node.id, with_fields(operand), _GET[function], False)
        case Call():
            target = None if node.target is None else with_fields(node.target)
            return replace(node, target=target, args=tuple(map(with_fields, node.args)))
        case Select():
            return replace(node, operand=with_fields(node.operand))
        case ListOf():
            return replace(node, elements=tuple(map(with_fields, node.elements)))
        case MapOf():
            return replace(node, entries=tuple((with_fields(k), with_fields(v), o) for k, v, o in node.entries))
        case Comprehension():
            parts = ("iter_range", "accu_init", "loop_condition", "loop_step", "result")
            return replace(node, **{part: with_fields(getattr(node, part)) for part in parts})
    return node
