"""`cel.bind(g, device.attributes["a"], g.b == 1)` as `device.attributes["a"].b == 1`: the same without the name."""

from __future__ import annotations

import re
from typing import Final

from dradash.scheduling.structured.celmacros import Token, tokens

_LONGEST: Final = 4096  # names within names grow fast
_CHAIN: Final = re.compile(r"""\w+(?:\.\w+|\[(?:"[^"\\]*"|'[^'\\]*')\])*""")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_HEAD: Final = ["cel", ".", "bind", "("]


def unbound(expression: str) -> str:
    """The body with what is bound in place of its name. "" where it is no such call, or is not sure to be the same."""
    found = tokens(expression)
    places = _places(found)
    if [found[i].text for i in places[:4]] != _HEAD or not places[4:]:
        return ""
    args = _arguments(found[places[4] : places[-1] + 1])
    if len(args) != 3:
        return ""
    name, value = _text(args[0]), _text(args[1])
    if _NAME.fullmatch(name) is None:
        return ""
    return _replaced(args[2], name, value if _CHAIN.fullmatch(value) else f"({value})")


def _places(found: list[Token]) -> list[int]:
    """Of all but blanks."""
    return [i for i, t in enumerate(found) if t.kind != "space"]


def _arguments(found: list[Token]) -> list[list[Token]]:
    """Those up to the bracket that ends the call; none where something comes after it."""
    args: list[list[Token]] = [[]]
    depth = 0
    for i, token in enumerate(found):
        if token.kind == "other" and depth == 0 and token.text in ",)":
            if token.text == ")":
                return args if i + 1 == len(found) else []
            args.append([])
            continue
        if token.kind == "other":
            depth += (token.text in "([{") - (token.text in ")]}")
        args[-1].append(token)
    return []


def _replaced(body: list[Token], name: str, value: str) -> str:
    texts = [t.text for t in body]
    places = _places(body)
    for n, i in enumerate(places):
        before = [body[j].text for j in places[max(0, n - 2) : n]]
        after = body[places[n + 1]].text if n + 1 < len(places) else ""
        if texts[i] == name and body[i].kind == "name" and before[-1:] != ["."] and before != [".", "?"]:
            if after == "(" or (after == "," and before[-1:] in (["("], [","])):
                return ""  # a function, or perhaps a macro that gives the name to something else
            texts[i] = value
    found = "".join(texts).strip()
    return found if len(found) <= _LONGEST else ""


def _text(found: list[Token]) -> str:
    return "".join(t.text for t in found).strip()
