"""Just enough of Kubernetes' protobuf to read a Namespace: `kubectl create namespace` sends nothing else.

Everything else comes as JSON; other kinds in protobuf are refused with 415.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_STRINGS: Final = {1: "name", 2: "generateName", 3: "namespace"}  # of ObjectMeta
_MAPS: Final = {11: "labels", 12: "annotations"}


class Unreadable(ValueError):
    """Not a Namespace in protobuf."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7
    raise Unreadable("a number breaks off")


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a message; numbers are skipped, for nothing here needs them."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        length, at = _varint(data, at)
        if tag & 7 == 0:
            continue  # what has been read as a length was the number
        if tag & 7 != 2 or at + length > len(data):
            raise Unreadable("a field breaks off or is of an unknown type")
        yield tag >> 3, data[at : at + length]
        at += length


def _metadata(data: bytes) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for number, value in _fields(data):
        if number in _STRINGS and value:
            metadata[_STRINGS[number]] = value.decode()
        elif number in _MAPS:
            entry = dict(_fields(value))
            metadata.setdefault(_MAPS[number], {})[entry.get(1, b"").decode()] = entry.get(2, b"").decode()
    return metadata


def namespace(body: bytes) -> dict[str, Any]:
    """Read runtime.Unknown (typeMeta = 1, raw = 2) around a Namespace (metadata = 1). Raises Unreadable."""
    if not body.startswith(_MAGIC):
        raise Unreadable("not Kubernetes' protobuf")
    try:
        envelope = dict(_fields(body[len(_MAGIC) :]))
        type_meta = {number: value.decode() for number, value in _fields(envelope.get(1, b""))}
        if (type_meta.get(1), type_meta.get(2)) != ("v1", "Namespace"):
            raise Unreadable("not a Namespace")
        metadata = dict(_fields(envelope.get(2, b""))).get(1, b"")
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(metadata)}
    except UnicodeDecodeError as error:
        raise Unreadable(str(error)) from error
