"""How Go prints the values that end up in messages: strings by %q, slices by %#v."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

_SHORT: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """strconv.Quote."""
    return '"' + "".join(_escape(ch) for ch in text) + '"'


def _escape(ch: str) -> str:
    if ch in _SHORT:
        return _SHORT[ch]
    # Go's IsPrint lets through the ASCII space only; Python's isprintable agrees on all of these.
    if ch.isprintable():
        return ch
    code = ord(ch)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def string_slice(values: Sequence[str]) -> str:
    """%#v of a []string. An empty list prints as nil: the API server never sends the other one."""
    if not values:
        return "[]string(nil)"
    return "[]string{" + ", ".join(quote(v) for v in values) + "}"


def json_list(values: Sequence[str]) -> str:
    """encoding/json of a []string: an empty list prints as nil, which the API server sends."""
    if not values:
        return "null"
    return json.dumps(list(values), ensure_ascii=False, separators=(",", ":")).translate(_FOR_HTML)


# json.Marshal keeps these out of HTML and JavaScript.
_FOR_HTML: Final = {ord(ch): f"\\u{ord(ch):04x}" for ch in "<>&\u2028\u2029"}


def aggregate(messages: Sequence[str]) -> str:
    """k8s.io/apimachinery errors.Aggregate.Error: each message once, in brackets when there are several."""
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else "[" + ", ".join(unique) + "]"
