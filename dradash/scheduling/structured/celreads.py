"""What a checked expression can see of a device: devices that are the same in that are answered the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from dradash.scheduling.structured.celtree import Call, Comprehension, Const, Ident, ListOf, MapOf, Node, Select, Tree

_MAPS: Final = {"device.attributes": "attributes", "device.capacity": "capacity"}
_INDEX: Final = ("_[_]", "_[?_]")


_FEW: Final = 24  # parts of an expression: three or four comparisons
_OPERATORS: Final = ("_==_", "_!=_", "_&&_", "_||_", "!_", "_<_", "_<=_", "_>_", "_>=_", "_[_]", "@in", "_?._", "_[?_]")
_FUNCTIONS: Final = (
    *("orValue", "hasValue", "startsWith", "endsWith", "contains"),
    *("semver", "quantity", "isGreaterThan", "isLessThan", "compareTo"),
)


class Read(NamedTuple):
    """A value of a device: `of` is "attributes" or "capacity"; no name: all of the domain; no domain: all there is."""

    of: str
    domain: str = ""
    name: str = ""


Bound = Mapping[str, Read]  # names that cel.bind gives to a place of the device


def reads(tree: Tree) -> frozenset[Read]:
    return frozenset(_reads(tree.root, {}))


def is_plain(tree: Tree) -> bool:
    """Whether evaluating it costs no more than looking at what it reads: a few comparisons, no macros."""
    left = [tree.root]
    for node in left:
        if len(left) > _FEW or not isinstance(node, (Const, Ident, Select, Call, ListOf)):
            return False
        if isinstance(node, Call) and node.function not in (*_OPERATORS, *_FUNCTIONS):
            return False
        left += _children(node)
    return True


def _reads(node: Node, bound: Bound) -> Iterator[Read]:
    if isinstance(node, Ident) and node.name == "device":
        yield from map(Read, _MAPS.values())  # it may be used for anything
        return
    if _field(node) in ("driver", "allowMultipleAllocations"):
        return  # every expression is taken to read them
    seen = _value(node, bound)
    if seen is not None:
        yield seen
        return
    if isinstance(node, Comprehension):
        given = _bound(node, bound)
        if given is not None:
            yield from _reads(node.result, {**bound, node.accu_var: given})
            return
        bound = {name: read for name, read in bound.items() if name not in (node.iter_var, node.accu_var)}
    for child in _children(node):
        yield from _reads(child, bound)


def _bound(node: Comprehension, bound: Bound) -> Read | None:
    """What cel.bind gives its name to, if that is all attributes or capacity, or those of a domain."""
    match node:
        case Comprehension(iter_range=ListOf(elements=()), loop_condition=Const(value=False)):
            given = _value(node.accu_init, bound)
            return given if given is not None and not given.name else None
    return None


def _value(node: Node, bound: Bound) -> Read | None:
    """What the node takes from the device, if it is such a place itself."""
    if (field := _field(node)) in _MAPS.values():
        return Read(field)
    match node:
        case Ident(name=name) if name in bound:
            return bound[name]
        case Ident(name=name) if name in _MAPS:
            return Read(_MAPS[name])
        case Select(operand=operand, field=field):
            return _in(operand, field, bound)
        case Call(function=function, target=None, args=(whole, Const(value=str(key)))) if function in (*_INDEX, "_?._"):
            return _in(whole, key, bound)
        case Call(function="@in", target=None, args=(Const(value=str(key)), whole)):
            return _in(whole, key, bound)
    return None


def _field(node: Node) -> str:
    """What is selected of the bare `device`."""
    match node:
        case Select(operand=Ident(name="device"), field=field):
            return field
        case Call(function="_?._", args=(Ident(name="device"), Const(value=str(field)))):
            return field
    return ""


def _in(whole: Node, key: str, bound: Bound) -> Read | None:
    outer = _value(whole, bound)
    if outer is None or outer.name:
        return None if outer is None else outer
    return outer._replace(name=key) if outer.domain else outer._replace(domain=key)


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Select(operand=operand):
            return (operand,)
        case Call(target=target, args=args):
            return args if target is None else (target, *args)
        case ListOf(elements=elements):
            return elements
        case MapOf(entries=entries):
            return tuple(part for key, value, _ in entries for part in (key, value))
        case Comprehension():
            return (node.iter_range, node.accu_init, node.loop_condition, node.loop_step, node.result)
    return ()
