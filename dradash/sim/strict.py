"""fieldValidation: fields that the kinds of resource.k8s.io do not know. Core kinds are not checked: our structs of
them know only what scheduling reads."""

from __future__ import annotations

from typing import Any, Final, get_args

import msgspec

from dradash.kinds.registry import KINDS, struct_of
from dradash.sim import apierrors
from dradash.sim.resources import Resource

_EVERYWHERE: Final = frozenset({"kind", "apiVersion", "metadata"})
_OTHERS: Final = {"resourceclasses": frozenset({"structuredParameters"})}  # served, but read by nobody here


def unknown_fields(resource: Resource, body: Any) -> list[str]:
    """Dotted paths of the fields that are not in the API."""
    kind = KINDS.get(resource.plural)
    if kind is None or not resource.group or not isinstance(body, dict):
        return []
    skipped = _EVERYWHERE | _OTHERS.get(resource.plural, frozenset())
    resource = resource.of(body)
    own = {k: v for k, v in resource.in_v1(body).items() if k not in skipped}
    return _unknown(struct_of(kind, resource.api_version()), own, "")


def check(resource: Resource, version: str, body: Any) -> None:
    """Raises ApiError 400 as the server does for fieldValidation=Strict."""
    found = unknown_fields(resource, body)
    if found:
        listed = ", ".join(f'unknown field "{path}"' for path in found)
        message = (
            f'{resource.kind} in version "{version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {listed}"
        )
        raise apierrors.bad_request(message)


def _unknown(type_: Any, value: Any, path: str) -> list[str]:
    struct = _struct_in(type_)
    if struct is None:
        return []
    if isinstance(value, list):
        return [f for i, item in enumerate(value) for f in _unknown(struct, item, f"{path}[{i}]")]
    if not isinstance(value, dict):
        return []
    known = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    found = []
    for name, inner in value.items():
        at = f"{path}.{name}" if path else name
        if name not in known:
            found.append(at)
        elif name != "metadata":
            found += _unknown(known[name], inner, at)
    return found


def _struct_in(type_: Any) -> type[msgspec.Struct] | None:
    """The struct in `X`, `X | None` or `tuple[X, ...]`."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return type_
    return next((found for part in get_args(type_) if (found := _struct_in(part)) is not None), None)
