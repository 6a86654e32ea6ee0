"""labelSelector and fieldSelector as the list and watch verbs take them (k8s.io/apimachinery labels and fields)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from dradash.sim import apierrors

Predicate = Callable[[dict[str, Any]], bool]

_SET: Final = re.compile(r"\s*([^\s=!,()]+)\s+(in|notin)\s*\(([^()]*)\)\s*")
_EXISTS: Final = re.compile(r"\s*(!?)\s*([^\s=!,()<>]+)\s*")
_EQUAL: Final = re.compile(r"\s*([^\s=!,()<>]+)\s*(==|=|!=)\s*([^\s=!,()]*)\s*")
_NUMBER: Final = re.compile(r"\s*([^\s=!,()<>]+)\s*([<>])\s*(-?\d+)\s*")

_COMMON: Final = frozenset({"metadata.name", "metadata.namespace"})
_FIELDS: Final[dict[str, frozenset[str]]] = {
    "pods": frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        }
    ),
    "nodes": frozenset({"spec.unschedulable"}),
    "namespaces": frozenset({"status.phase"}),
    "events": frozenset(
        {
            *(
                f"involvedObject.{f}"
                for f in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
            ),
            "reason",
            "reportingComponent",
            "source",
            "type",
        }
    ),
}


def _split(selector: str) -> list[str]:
    """Split at commas outside of parentheses."""
    return [part for part in re.split(r",(?![^()]*\))", selector) if part.strip()]


def _labels(obj: dict[str, Any]) -> dict[str, Any]:
    return obj.get("metadata", {}).get("labels") or {}


def _requirement(text: str) -> Predicate:
    if match := _SET.fullmatch(text):
        key, operator, listed = match.groups()
        values = frozenset(v.strip() for v in listed.split(","))
        if operator == "in":
            return lambda obj: _labels(obj).get(key) in values
        return lambda obj: _labels(obj).get(key) not in values
    if match := _EQUAL.fullmatch(text):
        key, operator, value = match.groups()
        if operator == "!=":
            return lambda obj: _labels(obj).get(key) != value
        return lambda obj: _labels(obj).get(key) == value
    if match := _NUMBER.fullmatch(text):
        key, operator, number = match[1], match[2], int(match[3])
        return lambda obj: _compare(_labels(obj).get(key), operator, number)
    if match := _EXISTS.fullmatch(text):
        negated, key = bool(match[1]), match[2]
        return lambda obj: (key in _labels(obj)) != negated
    raise apierrors.bad_request(f"unable to parse requirement: couldn't parse the selector string {text.strip()!r}")


def _compare(value: Any, operator: str, number: int) -> bool:
    try:
        return int(value) > number if operator == ">" else int(value) < number
    except (TypeError, ValueError):
        return False


def field(obj: dict[str, Any], path: str) -> str:
    """The field at a dotted path as a selector compares it: missing is "", booleans are true and false."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if path == "source":
        return str((value or {}).get("component") or obj.get("reportingComponent") or "")
    if isinstance(value, bool) or path in ("spec.unschedulable", "spec.hostNetwork"):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _field_requirement(plural: str, text: str) -> Predicate:
    match = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", text.strip())
    if match is None:
        raise apierrors.bad_request(f"invalid selector: {text!r}; can't understand {text!r}")
    path, operator, value = match.groups()
    if path not in _COMMON and path not in _FIELDS.get(plural, ()):
        raise apierrors.bad_request(f"field label not supported: {path}")
    if operator == "!=":
        return lambda obj: field(obj, path) != value
    return lambda obj: field(obj, path) == value


def compile_selectors(plural: str, label_selector: str, field_selector: str) -> Predicate | None:
    """One predicate over an object, None when everything matches. Raises ApiError 400 on what cannot be parsed."""
    parts = [_requirement(text) for text in _split(label_selector)]
    parts += [_field_requirement(plural, text) for text in _split(field_selector)]
    if not parts:
        return None
    return lambda obj: all(part(obj) for part in parts)
