"""matchAttribute and distinctAttribute: does one more device still fit the others (constraint.go, lookupAttribute)."""

from __future__ import annotations

from typing import Any, Protocol

from dradash.kinds.deviceclaim import DeviceConstraint
from dradash.kinds.resourceslice import Device, DeviceAttribute
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.requests import Request


def lookup_attribute(device: Device, id_: DeviceID, name: str) -> DeviceAttribute | None:
    """By the full name, else by the name without the domain if that is the driver's."""
    if name in device.attributes:
        return device.attributes[name]
    domain, slash, rest = name.partition("/")
    return device.attributes.get(rest) if slash and domain == id_.driver else None


def typed_value(attribute: DeviceAttribute) -> tuple[str, Any] | None:
    """Type and value, None for a type that is not known."""
    for kind, value in (
        ("string", attribute.string_value),
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("version", attribute.version_value),
    ):
        if value is not None:
            return kind, value
    return None


class Constraint(Protocol):
    attribute: str

    def add(self, request: Request, device: Device, id_: DeviceID) -> bool:
        """Take the device in if it fits; for each success `remove` is called at most once."""

    def remove(self, request: Request) -> None: ...

    def concerns(self, request: Request) -> bool: ...


class _Requests:
    """Which requests a constraint is about: all, or those named, a subrequest by either name."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = frozenset(names)

    def __contains__(self, request: Request) -> bool:
        return not self._names or request.base_name in self._names or request.full_name in self._names


class MatchAttribute:
    """All devices have the same value."""

    def __init__(self, constraint: DeviceConstraint, attribute: str) -> None:
        self._requests = _Requests(constraint.requests)
        self.attribute = attribute
        self._first: tuple[str, Any] | None = None
        self._count = 0

    def add(self, request: Request, device: Device, id_: DeviceID) -> bool:
        if request not in self._requests:
            return True
        attribute = lookup_attribute(device, id_, self.attribute)
        if attribute is None:
            return False
        value = typed_value(attribute)
        if self._count == 0:
            self._first, self._count = value, 1
            return True
        if value is None or value != self._first:
            return False
        self._count += 1
        return True

    def remove(self, request: Request) -> None:
        if request in self._requests:
            self._count -= 1

    def concerns(self, request: Request) -> bool:
        return request in self._requests


class DistinctAttribute:
    """All devices have different values, as far as upstream looks: it keeps the last value of each request only."""

    def __init__(self, constraint: DeviceConstraint, attribute: str) -> None:
        self._requests = _Requests(constraint.requests)
        self.attribute = attribute
        self._values: dict[str, tuple[str, Any] | None] = {}
        self._count = 0

    def add(self, request: Request, device: Device, id_: DeviceID) -> bool:
        if request not in self._requests:
            return True
        attribute = lookup_attribute(device, id_, self.attribute)
        if attribute is None:
            return False
        value = typed_value(attribute)
        if self._count > 0 and self._values and (value is None or value in self._values.values()):
            return False
        self._values[request.base_name] = value
        self._count += 1
        return True

    def remove(self, request: Request) -> None:
        if request in self._requests:
            self._values.pop(request.base_name, None)
            self._count -= 1

    def concerns(self, request: Request) -> bool:
        return request in self._requests


def constraint_of(constraint: DeviceConstraint) -> Constraint | None:
    """None for a kind of constraint that is not known."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint, constraint.match_attribute)
    if constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint, constraint.distinct_attribute)
    return None
