"""What a pod's claims look at in devices. Of devices that agree in all of it, one is as good as another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from dradash.kinds import quantity as quantities
from dradash.kinds import semver
from dradash.kinds.deviceclaim import DeviceSelector, ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.quantity import InvalidQuantity
from dradash.kinds.resourceslice import Device, DeviceAttribute
from dradash.kinds.semver import InvalidVersion
from dradash.scheduling.structured.cel import CompileError, compile_selector
from dradash.scheduling.structured.celreads import Read
from dradash.scheduling.structured.requests import Request, requests_of


class Reading(msgspec.Struct, frozen=True):
    """values: what selectors see; matched: attributes that constraints compare, with their domain; amounts: whether
    some request asks for capacity; answers: selectors of requests of which only the answer is looked at; of_classes:
    the same of classes."""

    values: frozenset[Read] = frozenset()
    matched: frozenset[str] = frozenset()
    amounts: bool = False
    answers: frozenset[str] = frozenset()
    of_classes: frozenset[str] = frozenset()


EVERYTHING: Final = Reading(frozenset((Read("attributes"), Read("capacity"))), frozenset(), amounts=True)


def reading_of(claims: Iterable[ResourceClaim], classes: Mapping[str, DeviceClass]) -> Reading:
    values: set[Read] = set()
    matched: set[str] = set()
    amounts = False
    for claim in claims:
        devices = claim.spec.devices
        matched |= {name for c in devices.constraints for name in (c.match_attribute, c.distinct_attribute) if name}
        for request in (r for of in devices.requests for r in requests_of(of)):
            amounts |= request.capacity is not None
            values |= _read_by(request, classes)
    return Reading(frozenset(values), frozenset(matched), amounts)


def by_answers(reading: Reading, claims: Iterable[ResourceClaim], classes: Mapping[str, DeviceClass]) -> Reading:
    """The same claims' reading, coarser: what their selectors say of devices in place of the values that they see.

    The allocator learns nothing else of values, but for those that constraints compare. Where some selector is not
    plain it stays as it is: asking all devices might take for ever, and here nothing ends it.
    """
    requests = [r for claim in claims for of in claim.spec.devices.requests for r in requests_of(of)]
    of_classes = {s for r in requests if r.class_name in classes for s in classes[r.class_name].spec.selectors}
    answers = frozenset(s.cel.expression for r in requests for s in r.selectors if s.cel and _read_by_selector(s))
    asked = frozenset(s.cel.expression for s in of_classes if s.cel and _read_by_selector(s))
    if not all(compile_selector(expression).is_plain for expression in answers | asked):
        return reading
    return Reading(matched=reading.matched, amounts=reading.amounts, answers=answers, of_classes=asked)


def _read_by(request: Request, classes: Mapping[str, DeviceClass]) -> set[Read]:
    of_class = classes.get(request.class_name)
    selectors = (*(of_class.spec.selectors if of_class else ()), *request.selectors)
    return {read for selector in selectors for read in _read_by_selector(selector)}


def _read_by_selector(selector: DeviceSelector) -> frozenset[Read]:
    try:
        return compile_selector(selector.cel.expression).reads if selector.cel is not None else frozenset()
    except CompileError:
        return frozenset()  # it is the same error for every device


def plain_seen(driver: str, device: Device) -> Hashable:
    """What every request sees of the device, whatever it asks for."""
    return (
        # Which value it is is in the error's words.
        is_readable(device) or (driver, msgspec.json.encode(device.attributes), msgspec.json.encode(device.capacity)),
        device.allow_multiple_allocations,
        device.taints,
        device.binding_conditions,
        capacity_seen(driver, device) if device.allow_multiple_allocations else b"",
        msgspec.json.encode(device.consumes_counters) if device.consumes_counters else b"",
    )


def capacity_seen(_driver: str, device: Device) -> Hashable:
    return msgspec.json.encode(device.capacity, order="sorted")


def is_readable(device: Device) -> bool:
    """Whether selectors can be asked about the device: one value that cannot be read spoils them all."""
    for attribute in device.attributes.values():
        if attribute.string_value is None and not _is_value(attribute):
            return False
    return not device.capacity or all(_is_amount(str(c.value)) for c in device.capacity.values())


def _is_value(attribute: DeviceAttribute) -> bool:
    if attribute.int_value is not None or attribute.bool_value is not None:
        return True
    return attribute.version_value is not None and _is_version(attribute.version_value)


@lru_cache(maxsize=4096)
def _is_version(text: str) -> bool:
    try:
        semver.parse(text)
    except InvalidVersion:
        return False
    return True


@lru_cache(maxsize=4096)
def _is_amount(text: str) -> bool:
    try:
        quantities.decoded(text)
    except InvalidQuantity:
        return False
    return True


def values_seen(driver: str, device: Device, values: frozenset[Read]) -> tuple[Hashable, ...]:
    return tuple([value_seen(driver, device, read) for read in sorted(values)])


def value_seen(driver: str, device: Device, read: Read) -> Hashable:
    if read.name and read.of == "attributes":
        return _attribute(driver, device, read.domain, read.name)
    held = device.attributes if read.of == "attributes" else device.capacity
    chosen = {k: v for k, v in held.items() if _is_in(driver, k, read)}
    return msgspec.json.encode(chosen, order="sorted")


def _is_in(driver: str, key: str, read: Read) -> bool:
    domain, slash, name = key.partition("/")
    if not slash:
        domain, name = driver, key
    return (not read.domain or domain == read.domain) and (not read.name or name == read.name)


def _attribute(driver: str, device: Device, domain: str, name: str) -> Hashable:
    """By both spellings: with its domain, and bare where that is the driver's."""
    own = device.attributes.get(name) if domain == driver else None
    return (device.attributes.get(f"{domain}/{name}"), own)
