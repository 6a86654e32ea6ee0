"""The macros of cel-go that the library's parser does not know, rewritten into ones that it does.

Two-variable comprehensions (`m.all(k, v, p)`, `transformMap` and the like), `sortBy` and `unwrapOpt`. The text
is rewritten, token by token, with helper functions that only this module and `celdeclarations` name; their names end in
two underscores.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>(?:[bB]?[rR]|[rR][bB])(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n]*"|'[^'\n]*')
      |[bB]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPEN: Final = "([{"
_CLOSE: Final = ")]}"

_TWO_VARIABLES: Final = {
    "all": "all",
    "exists": "exists",
    "existsOne": "exists_one",
    "exists_one": "exists_one",
    "transformList": "",
    "transformMap": "",
    "transformMapEntry": "",
}


class Token(msgspec.Struct, frozen=True):
    kind: str
    text: str


# A device has every one of its fields; the library would read this as the field itself. A string that looks the same
# is harmed, which no selector has been seen to contain.
_HAS_FIELD: Final = re.compile(r"\bhas\(\s*device\s*\.\s*(?:driver|attributes|capacity|allowMultipleAllocations)\s*\)")

# Functions whose results are optional, which the library cannot be told: they return a list instead.
_OPTIONAL: Final = ("validate", "named")
# What they say of a list, for the library has neither of the functions and cannot be told of optional parameters.
_UNWRAP: Final = ("unwrapOpt", "unwrap")
_UNWRAPPED: Final = ".filter(o__, o__.hasValue()).map(o__, o__.value())"
_REWRITTEN: Final = (*_TWO_VARIABLES, *_OPTIONAL, *_UNWRAP, "sortBy")


def tokens(expression: str) -> list[Token]:
    return [Token(m.lastgroup or "other", m[0]) for m in _TOKEN.finditer(expression)]


def expanded(expression: str) -> str:
    """The expression without these macros; the same text if it has none of them."""
    expression = _HAS_FIELD.sub("true", expression) if _HAS_FIELD.search(expression) else expression
    if not any(f"{name}(" in expression.replace(" ", "") for name in _REWRITTEN):
        return expression
    return _expanded(tokens(expression))


def _expanded(found: list[Token]) -> str:
    out: list[str] = []
    place = 0
    while place < len(found):
        token = found[place]
        if token.text == "." and (call := _macro_call(found, place)) is not None:
            name, args, end = call
            if name == "unwrap" and out and out[-1] == "optional" and len(args) == 1:
                out[-1] = f"({_expanded(args[0])}){_UNWRAPPED}"
                place = end
                continue
            replaced = _replacement(name, args)
            if replaced is not None:
                out.append(replaced)
                place = end
                continue
        out.append(token.text)
        place += 1
    return "".join(out)


def _macro_call(found: list[Token], dot: int) -> tuple[str, list[list[Token]], int] | None:
    """`.name(args)` from the dot on: name, arguments and the place behind it."""
    name = _next(found, dot + 1)
    if name is None or found[name].text not in _REWRITTEN:
        return None
    bracket = _next(found, name + 1)
    if bracket is None or found[bracket].text != "(":
        return None
    args: list[list[Token]] = [[]]
    depth = 1
    for place in range(bracket + 1, len(found)):
        token = found[place]
        if token.kind == "other" and token.text in _OPEN:
            depth += 1
        elif token.kind == "other" and token.text in _CLOSE:
            depth -= 1
            if depth == 0:
                return found[name].text, args, place + 1
        if token.text == "," and depth == 1:
            args.append([])
        else:
            args[-1].append(token)
    return None


def _next(found: list[Token], place: int) -> int | None:
    while place < len(found) and found[place].kind == "space":
        place += 1
    return place if place < len(found) else None


def _variable(arg: list[Token]) -> str | None:
    names = [t for t in arg if t.kind != "space"]
    return names[0].text if len(names) == 1 and names[0].kind == "name" else None


def _replacement(name: str, args: list[list[Token]]) -> str | None:
    if name in _OPTIONAL:
        return f".{name}__({','.join(_expanded(a) for a in args)}).first()"
    if name in _UNWRAP:
        return _UNWRAPPED if name == "unwrapOpt" and not any(args) else None
    if name == "sortBy":
        variable = _variable(args[0]) if len(args) == 2 else None
        if variable is None:
            return None
        return f".map({variable}, pair__({_expanded(args[1])}, {variable})).sorted__()"
    if len(args) not in (3, 4):
        return None
    key, value = _variable(args[0]), _variable(args[1])
    if key is None or value is None:
        return None
    bodies = [_expanded(a) for a in args[2:]]

    def bound(body: str) -> str:
        return f"kv__, cel.bind({key}, kv__.key__(), cel.bind({value}, kv__.value__(), {body}))"

    if macro := _TWO_VARIABLES[name]:
        return f".pairs__().{macro}({bound(bodies[0])})" if len(bodies) == 1 else None
    wanted = f".filter({bound(bodies[0])})" if len(bodies) == 2 else ""
    body = bodies[-1]
    match name:
        case "transformList":
            return f".pairs__(){wanted}.map({bound(body)})"
        case "transformMap":
            return f".pairs__(){wanted}.map({bound(f'pair__({key}, {body})')}).map__()"
        case _:
            return f".pairs__(){wanted}.map({bound(body)}).merged__()"
