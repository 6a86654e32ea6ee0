"""What an expression sees of a device: its variables. Maps are made when something asks for more than one key of them.

Most expressions read one or two attributes, and are asked about every device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dradash.kinds import quantity as quantities
from dradash.kinds import semver
from dradash.kinds.quantity import InvalidQuantity
from dradash.kinds.resourceslice import Device, DeviceAttribute, DeviceCapacity
from dradash.kinds.semver import InvalidVersion
from dradash.scheduling.structured.cel import RuntimeFault
from dradash.scheduling.structured.celvalues import EMPTY_MAP, CelMap, EvalError, Optional

_Value = Callable[[str, Any], Any]
_Entries = dict[Any, tuple[Any, Any]]


def variables(driver: str, device: Device) -> dict[str, Any]:
    """Raises RuntimeFault for an attribute that has no known value: it spoils every expression."""
    for name, attribute in device.attributes.items():
        _attribute(name, attribute)
    for name, held in device.capacity.items():
        _amount(name, held)
    return variables_of_readable(driver, device)


def variables_of_readable(driver: str, device: Device) -> dict[str, Any]:
    """The same of a device of which it is known that `variables` raises nothing (reading.is_readable)."""
    found = attributes_of_readable(driver, device)
    found["device.capacity"] = _Domains(driver, device.capacity, _amount)
    return found


def attributes_of_readable(driver: str, device: Device) -> dict[str, Any]:
    """The same without capacity."""
    return {
        "device.driver": driver,
        "device.allowMultipleAllocations": bool(device.allow_multiple_allocations),
        "device.attributes": _Domains(driver, device.attributes, _attribute),
    }


class _Domains(CelMap):
    """Domain -> name -> value. Looking up a domain that is missing finds an empty map."""

    __slots__ = ("_driver", "_held", "_made", "_value")
    default = EMPTY_MAP  # in place of the base's slot

    def __init__(self, driver: str, held: Mapping[str, Any], value: _Value) -> None:
        self._driver, self._held, self._value = driver, held, value
        self._made: CelMap | None = None

    @property
    def _entries(self) -> _Entries:  # type: ignore[override]  # in place of the base's slot
        if self._made is None:
            found: dict[str, dict[str, Any]] = {}
            for name, held in self._held.items():
                domain, id_ = _split(name, self._driver)
                # A device may have a name both with and without its driver's domain: the later one counts.
                found.setdefault(domain, {})[id_] = self._value(name, held)
            self._made = CelMap([(domain, CelMap(list(names.items()))) for domain, names in found.items()])
        return self._made._entries

    def get(self, key: Any) -> Any:
        """Of a missing domain too this is a map in which nothing is found."""
        if type(key) is str and "/" not in key:
            return _Names(self, key)
        return CelMap.get(self, key)

    def find(self, key: Any) -> Optional:
        if type(key) is str and "/" not in key:
            return Optional(True, _Names(self, key))
        return CelMap.find(self, key)

    def named(self, domain: str, name: str) -> Any:
        """The value, None if there is none: no value is None."""
        if "/" in name:
            return self._whole(domain).find(name).value
        full = f"{domain}/{name}"
        spelt_out, held = self._held.get(full), None
        if domain == self._driver:
            held = self._held.get(name)
        if spelt_out is None:
            return None if held is None else self._value(name, held)
        return self._value(full, spelt_out) if held is None else self._whole(domain).find(name).value

    def _whole(self, domain: str) -> CelMap:
        there: CelMap = CelMap.find(self, domain).value
        return there


class _Names(CelMap):
    """Name -> value, of one domain."""

    __slots__ = ("_domain", "_domains")
    default = None

    def __init__(self, domains: _Domains, domain: str) -> None:
        self._domains, self._domain = domains, domain

    @property
    def _entries(self) -> _Entries:  # type: ignore[override]  # in place of the base's slot
        return self._domains._whole(self._domain)._entries

    def get(self, key: Any) -> Any:
        if type(key) is not str:
            return CelMap.get(self, key)
        value = self._domains.named(self._domain, key)
        if value is None:
            raise EvalError(f"no such key: {key}")
        return value

    def find(self, key: Any) -> Optional:
        if type(key) is not str:
            return CelMap.find(self, key)
        value = self._domains.named(self._domain, key)
        return _NOTHING if value is None else Optional(True, value)

    def contains(self, key: Any) -> bool:
        return self.find(key).present


_NOTHING: Final = Optional(False)


def _split(name: str, driver: str) -> tuple[str, str]:
    domain, slash, id_ = name.partition("/")
    return (domain, id_) if slash else (driver, name)


def _attribute(name: str, attribute: DeviceAttribute) -> Any:
    """getAttributeValue."""
    for value in (attribute.int_value, attribute.bool_value, attribute.string_value):
        if value is not None:
            return value
    if attribute.version_value is None:
        raise RuntimeFault(f"attribute {name}: unsupported attribute value")
    try:
        return semver.parse(attribute.version_value)
    except InvalidVersion as error:
        raise RuntimeFault(f"attribute {name}: parse semantic version: {error}") from error


def _amount(name: str, held: DeviceCapacity) -> Any:
    try:
        return quantities.decoded(str(held.value))
    except InvalidQuantity as error:
        raise RuntimeFault(f"capacity {name}: {error}") from error
