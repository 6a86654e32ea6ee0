"""Where an input breaks off that was not written to its end: a full disk, a lost connection, a paste that is too short.

Pure.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

# An item of a list, and an object of its own, as kubectl writes them.
_ITEM: Final = re.compile(r"([ \t]*)- apiVersion:", re.MULTILINE)
_ITEMS: Final = re.compile(r"^items:", re.MULTILINE)
_OBJECT: Final = re.compile(r"^apiVersion:", re.MULTILINE)
_LONGEST: Final = 60


def broken_off(error: Exception, text: bytes) -> str:
    """A sentence that says where the text ends too early, "" where that is not what is wrong with it."""
    decoded = text.decode(errors="replace").rstrip()
    if isinstance(error, json.JSONDecodeError):
        # A string cannot go on behind its line, so an open one is open at the end.
        is_at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        return f"{_at_end(decoded)}: was it cut off?" if is_at_end else ""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return ""
    if error.problem_mark.index < len(decoded):
        return ""
    mark, within = error.context_mark, ""
    if mark is not None and error.context:
        within = f", {error.context} that begins in line {mark.line + 1}"
    return f"{_at_end(decoded)}{within}{_object(decoded)}: was it cut off?"


def _at_end(text: str) -> str:
    lines = text.splitlines() or [""]
    last = lines[-1].strip()
    return f"it breaks off in line {len(lines)}, behind {json.dumps(last[-_LONGEST:])}"  # no control characters


def _object(text: str) -> str:
    """In which object that is, as far as its lines tell."""
    items = _ITEMS.search(text)
    if items is None:
        begins = [m.start() for m in _OBJECT.finditer(text)]
        what = "object"
    else:
        # Owner references look the same, but never stand further to the left than the items.
        found = list(_ITEM.finditer(text, items.end()))
        begins = [m.start() for m in found if m[1] == found[0][1]]
        what = "item"
    if not begins:
        return ""
    return f", in {what} {len(begins)}, which begins in line {text.count(chr(10), 0, begins[-1]) + 1}"


# --- a list without its last lines, which is still YAML --------------------------------------------------------------


def is_headless(document: dict[str, Any]) -> bool:
    """kubectl writes `kind: List` behind the items: where a cut is between two lines, only that is missing."""
    return "kind" not in document and isinstance(document.get("items"), list) and "apiVersion" in document


def headless(document: dict[str, Any], text: str) -> str:
    items = document["items"]
    last = items[-1] if items else None
    named = f", {_named(last)}" if isinstance(last, dict) else ""
    where = f", in or behind item {len(items)}{named}" if items else ""
    return (
        f"it is a list without its kind, which kubectl writes behind the items; {_at_end(text.rstrip())}{where}: "
        "was it cut off?"
    )


def _named(item: dict[str, Any]) -> str:
    meta = item.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    key = "/".join(str(meta[part]) for part in ("namespace", "name") if meta.get(part))
    return json.dumps(f"{item.get('kind', 'an object')} {key or 'without a name'}"[:_LONGEST])
