"""`device` as a value: bound to a name, in a list, before `.?`.

Kubernetes declares an object type with four fields, which the library cannot be told. So such an expression is checked
twice: first with `device` as a map of anything, which tells what is selected of a device; these selections become
functions of an opaque type, and with them the expression is checked exactly. The tree gets the selections back.
Of a device that is optional or may be null only the second check knows: what it refuses is rewritten where it says so,
and checked again.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from dradash.scheduling.structured.celchecks import Refused, nodes
from dradash.scheduling.structured.celdeclarations import DEVICE, DEVICE_FIELDS
from dradash.scheduling.structured.celmacros import Token, tokens
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

# The type of `device` at first, which no other value has: (key, value).
LOOSE: Final = ("bool", "dyn")
_LOOSE_MAP: Final = StaticType("map", tuple(map(StaticType, LOOSE)))
# What `null` is called at first, where it may be anything: no map is null, but an object may be. As long as `null` is.
NULL: Final = "_nu_"
_GET: Final = {f"{field}__": field for field in DEVICE_FIELDS}
_GET_OPTIONAL: Final = {f"{field}_one__": field for field in DEVICE_FIELDS}
_HAS: Final = "has__"
_PRESENT: Final = "d__"  # what an optional device is called where there is one
_FORBIDDEN: Final = frozenset((*_GET, *_GET_OPTIONAL, _HAS))


def is_a_value(expression: str) -> bool:
    """Whether `device` stands somewhere without one of its names behind it."""
    seen = [t for t in tokens(expression) if t.kind != "space"]
    if any(t.text in _FORBIDDEN for t in seen):
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
    starts = _starts(found)
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
    return field if tree.type_of(operand) == _LOOSE_MAP else None


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


_ERROR: Final = re.compile(
    rf"<input>:(\d+):(\d+): (?:expression of type '{DEVICE}' cannot be the operand of a select operation"
    rf"|found no matching overload for '(?P<function>\w+)' applied to '\(optional_type\({DEVICE}\)\)')"
)


def mended(expression: str, error: str) -> str:
    """The expression that the second check refused, with functions for fields of optional and nullable devices that its
    error names; unchanged where it names none. Raises Refused."""
    found = tokens(expression)
    starts, texts = _starts(found), [t.text for t in found]
    lines = [0, *(at + 1 for at, char in enumerate(expression) if char == "\n")]
    for match in _ERROR.finditer(error):
        place = starts[lines[int(match[1]) - 1] + int(match[2]) - 1]
        if function := match["function"]:
            _replace_function(found, texts, place, function)
        elif found[place].text == "(":
            _replace_presence(found, texts, place)
        else:
            optional = found[place + 1].text == "?"
            _replace_field(found, texts, place, _field_after(found, place), optional=optional)
    return "".join(texts)


def _starts(found: list[Token]) -> dict[int, int]:
    """Offset in the text -> which token begins there."""
    starts: dict[int, int] = {}
    offset = 0
    for place, token in enumerate(found):
        starts[offset] = place
        offset += len(token.text)
    return starts


def _field_after(found: list[Token], dot: int) -> str:
    field = next(t.text for t in found[dot + 1 :] if t.kind == "name")
    if field not in DEVICE_FIELDS:
        raise Refused(f"undefined field '{field}'")
    return field


def _replace_presence(found: list[Token], texts: list[str], bracket: int) -> None:
    """`has(x.field)`: whether x is a device, which has all of its fields."""
    place = bracket
    while found[place].text != "has":
        place -= 1
    texts[place] = ""
    depth, place = 1, bracket
    while depth > 0:
        place += 1
        depth += (found[place].text in "([{") - (found[place].text in ")]}")
    while found[place].kind != "name":
        place -= 1
    _field_after(found, place - 1)
    texts[place] = f"{_HAS}()"


def _replace_function(found: list[Token], texts: list[str], bracket: int, function: str) -> None:
    """A function of a device that turned out to be optional: of the device in it, where there is one."""
    place = bracket
    while found[place].text != function:
        place -= 1
    if function == _HAS:
        texts[place] = "hasValue"
        return
    field = _GET.get(function) or _GET_OPTIONAL[function]
    texts[place] = f"optMap({_PRESENT}, {_PRESENT}.{field}__())"
    until = place + (7 if function in _GET_OPTIONAL else 3)  # `()`, or `().first()`
    texts[place + 1 : until] = [""] * (until - place - 1)


def with_fields(node: Node) -> Node:
    """The tree of the second check, with fields selected again."""
    match node:
        case Call(
            function="_?_:_",
            args=(
                Call(function="hasValue", target=operand),
                Call(
                    args=(
                        Comprehension(
                            accu_var=accumulator, result=Call(function=function, target=Ident(name=variable))
                        ),
                    )
                ),
                _,
            ),
        ) if operand is not None and function in _GET and accumulator == variable == _PRESENT:
            return Select(node.id, with_fields(operand), _GET[function], False)
        case Call(function=function, target=operand) if operand is not None and function == _HAS:
            return Select(node.id, with_fields(operand), "driver", True)
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
