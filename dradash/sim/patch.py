"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386). Nothing is changed in place: a patched copy is returned."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from dradash.sim import apierrors

MAX_OPERATIONS: Final = 10_000


def merge_patch(original: Any, patch: Any) -> Any:
    """RFC 7386: objects merge, null deletes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(original) if isinstance(original, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


class _Failed(Exception):
    """The operation does not apply to this object."""


def _pointer(text: Any) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise apierrors.bad_request(f"error decoding patch: not a JSON pointer: {text!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _index(token: str, upper: int) -> int:
    if not token.isascii() or not token.isdigit() or int(token) > upper:
        raise _Failed(f"no index {token}")
    return int(token)


def _get(value: Any, path: list[str]) -> Any:
    for token in path:
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list):
            value = value[_index(token, len(value) - 1)]
        else:
            raise _Failed(f"no member {token}")
    return value


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _get(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _index(last, len(parent)), value)
    else:
        raise _Failed(f"no member {last}")
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        raise _Failed("the whole object cannot be removed")
    parent, last = _get(document, path[:-1]), path[-1]
    if isinstance(parent, dict) and last in parent:
        del parent[last]
    elif isinstance(parent, list):
        del parent[_index(last, len(parent) - 1)]
    else:
        raise _Failed(f"no member {last}")
    return document


def _op_replace(document: Any, path: list[str], op: dict[str, Any]) -> Any:
    _get(document, path)
    if not path:
        return op.get("value")
    parent, last = _get(document, path[:-1]), path[-1]
    parent[int(last) if isinstance(parent, list) else last] = op.get("value")
    return document


def _op_test(document: Any, path: list[str], op: dict[str, Any]) -> Any:
    try:
        found = _get(document, path)
    except _Failed:
        found = None
    if found != op.get("value"):
        raise _Failed(f"testing path {op['path']} failed")
    return document


def _op_move(document: Any, path: list[str], op: dict[str, Any]) -> Any:
    source = _pointer(op.get("from"))
    value = _get(document, source)
    return _add(_remove(document, source), path, value)


def _op_copy(document: Any, path: list[str], op: dict[str, Any]) -> Any:
    return _add(document, path, copy.deepcopy(_get(document, _pointer(op.get("from")))))


_OPERATIONS: Final[dict[str, Callable[[Any, list[str], dict[str, Any]], Any]]] = {
    "add": lambda document, path, op: _add(document, path, op.get("value")),
    "remove": lambda document, path, op: _remove(document, path),  # noqa: ARG005 - one signature for all
    "replace": _op_replace,
    "move": _op_move,
    "copy": _op_copy,
    "test": _op_test,
}


def json_patch(original: dict[str, Any], operations: Any) -> dict[str, Any]:
    """RFC 6902. 400 for what is no patch, 422 for one that does not apply to this object (a failed test, a gap)."""
    if not isinstance(operations, list):
        raise apierrors.bad_request("error decoding patch: a JSON patch is a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise apierrors.too_large(MAX_OPERATIONS)
    document: Any = copy.deepcopy(original)
    for op in operations:
        run = _OPERATIONS.get(op.get("op", "")) if isinstance(op, dict) else None
        if run is None:
            raise apierrors.bad_request(f"error decoding patch: unexpected operation {op!r:.80}")
        try:
            document = run(document, _pointer(op.get("path")), copy.deepcopy(op))
        except _Failed as error:
            raise apierrors.unprocessable() from error
    if not isinstance(document, dict):
        raise apierrors.unprocessable()
    return document
