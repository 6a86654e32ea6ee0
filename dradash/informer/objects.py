"""Objects as bytes: who it is, less managedFields, and in one shape whether it was listed or watched. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from dradash.kinds.registry import Kind, MalformedObject

_FieldsOf = dict[str, msgspec.Raw]


class _Meta(msgspec.Struct, rename="camel"):
    name: str | None = None
    namespace: str | None = None
    resource_version: str | None = None


class _Head(msgspec.Struct):
    metadata: _Meta | None = None


class Identity(msgspec.Struct, frozen=True):
    """key: `namespace/name`, or `name` where there is no namespace."""

    key: str
    resource_version: str


_HEAD: Final = msgspec.json.Decoder(_Head)
_FIELDS: Final = msgspec.json.Decoder(_FieldsOf)


def resource_version(raw: bytes) -> str:
    """metadata.resourceVersion, "" when there is none. Raises MalformedObject."""
    return _head(raw).resource_version or ""


def identity(raw: bytes) -> Identity:
    """Raises MalformedObject when the bytes are no object with a name."""
    meta = _head(raw)
    if not meta.name:
        raise MalformedObject("an object without metadata.name")
    key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
    return Identity(key, meta.resource_version or "")


def normalized(raw: bytes, kind: Kind, version: str) -> bytes:
    """The object with `kind` and `apiVersion` and without managedFields; every other byte stays as it was sent.

    The API server leaves kind and apiVersion out of a list's items but not out of a watch's events. Without this,
    every relist would look as if every object had changed. Raises MalformedObject.
    """
    lean = _without_managed_fields(raw) if b'"managedFields"' in raw else raw
    if lean.startswith(b'{"kind":'):
        return lean
    fields = _fields(lean)
    if "kind" in fields and "apiVersion" in fields:
        return lean
    api_version = f"{kind.group}/{version}" if kind.group else version
    typed = {"kind": _raw(kind.kind), "apiVersion": _raw(api_version)} | fields
    return msgspec.json.encode(typed)


def _without_managed_fields(raw: bytes) -> bytes:
    fields = _fields(raw)
    if "metadata" not in fields:
        return raw
    metadata = _fields(fields["metadata"])
    if metadata.pop("managedFields", None) is None:
        return raw
    fields["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(fields)


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(text))


def _head(raw: bytes) -> _Meta:
    try:
        meta = _HEAD.decode(raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedObject(str(error)) from error
    return meta if meta is not None else _Meta()


def _fields(raw: bytes | msgspec.Raw) -> _FieldsOf:
    # Only the top level is taken apart; the values stay the bytes that the API server sent.
    try:
        return _FIELDS.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedObject(str(error)) from error
