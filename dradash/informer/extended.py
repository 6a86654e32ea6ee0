"""Pods that get devices for an extended resource: they name no claim, and only DeviceClasses tell such a resource."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from dradash.informer.sink import ObjectEvent


class _ClassSpec(msgspec.Struct, rename="camel"):
    extended_resource_name: str | None = None


class _Class(msgspec.Struct):
    spec: _ClassSpec | None = None


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str | None = None


class _Pod(msgspec.Struct):
    spec: _PodSpec | None = None


_CLASS: Final = msgspec.json.Decoder(_Class)
_POD: Final = msgspec.json.Decoder(_Pod)
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Extended:
    """The extended resources that DeviceClasses stand behind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[str, bytes] = {}  # the class's key -> the resource, as it stands in a pod's JSON

    def put(self, key: str, device_class: bytes | None) -> bool:
        """A DeviceClass's JSON; None: it is gone. True if no class stood behind its resource before."""
        name = msgspec.json.encode(_resource_of(device_class)) if device_class is not None else b'""'
        with self._lock:
            is_new = name != b'""' and name not in self._names.values()
            if name != b'""':
                self._names[key] = name
            else:
                self._names.pop(key, None)
        return is_new

    def replace(self, classes: Mapping[str, bytes]) -> bool:
        """All classes there are. True if a resource is new among theirs."""
        for key in self._names.keys() - classes.keys():
            self.put(key, None)
        return sum(self.put(key, raw) for key, raw in classes.items()) > 0

    def follow(self, events: Iterable[ObjectEvent]) -> bool:
        """Changes of classes. True if a resource is new among theirs."""
        return sum(self.put(e.key, None if e.type == "DELETED" else e.object) for e in events) > 0

    def asked_in(self, pod: bytes) -> bool:
        """Whether a pod asks for one and waits for a node. Once it has one, its status tells whether it got devices."""
        with self._lock:
            named = any(name in pod for name in self._names.values())
        return named and not _is_bound(pod)


def _resource_of(device_class: bytes) -> str:
    try:
        spec = _CLASS.decode(device_class).spec
    except _UNREADABLE:
        return ""  # shown as malformed; the scheduler does not know it either
    return (spec.extended_resource_name or "") if spec is not None else ""


def _is_bound(pod: bytes) -> bool:
    try:
        spec = _POD.decode(pod).spec
    except _UNREADABLE:
        return False
    return spec is not None and bool(spec.node_name)
