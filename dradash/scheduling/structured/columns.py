"""What the devices of each slice are like, column by column, so that slices are compared without a look at devices.

A column is one thing about all devices of a slice, in their order: an attribute's values, what is taken of them ...
Each distinct column has a number. A look at an attribute that nobody asked for before goes over every device once; from
then on a question about it costs a few numbers a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, partial
from typing import Any, Final

from dradash.kinds.resourceslice import Device, ResourceSlice
from dradash.scheduling.structured.cel import compile_selector
from dradash.scheduling.structured.celreads import Read
from dradash.scheduling.structured.constraints import lookup_attribute
from dradash.scheduling.structured.devices import AllocatedState, DeviceID
from dradash.scheduling.structured.reading import Reading, capacity_seen, is_readable, plain_seen, value_seen
from dradash.scheduling.structured.selection import answer_of, plainly

MOST: Final = 200_000  # columns with a number; then it begins again
_PLAIN: Final = Read("plain")
_AMOUNTS: Final = Read("amounts")
_TAKEN: Final = Read("taken")

_MATCHED: Final = "matched"
_ANSWERED: Final = "answered"
_OF_CLASS: Final = "class"
_READABLE: Final = Read("readable")

Signature = tuple[int, ...]
_See = Callable[[str, Device], Hashable]


class Columns:
    def __init__(self, taken: AllocatedState) -> None:
        self._taken = taken
        self._numbers: dict[Hashable, int] = {}
        self.answers: dict[Hashable, Any] = {}  # what others found out of slices by their signatures
        self._known: dict[str, tuple[ResourceSlice, dict[Read, int]]] = {}

    @property
    def is_full(self) -> bool:
        return len(self._numbers) + len(self.answers) > MOST

    def forget(self, item: ResourceSlice) -> None:
        self._known.pop(item.name, None)

    def forget_taken(self, item: ResourceSlice) -> None:
        known = self._known.get(item.name)
        if known is not None:
            known[1].pop(_TAKEN, None)

    def signature(self, item: ResourceSlice, reading: Reading) -> Signature:
        """All that the reading sees of the slice's devices, but for their names and what is taken of them."""
        known = self._of(item)
        return tuple([known[r] if r in known else self._column(known, item, r) for r in _columns(reading)])

    def taken(self, item: ResourceSlice) -> int:
        known = self._of(item)
        number = known.get(_TAKEN)
        if number is None:
            driver, pool = item.spec.driver, item.spec.pool.name
            column = tuple(self._taken_of(DeviceID(driver, pool, device.name)) for device in item.spec.devices)
            number = known[_TAKEN] = self._number(column)
        return number

    def _of(self, item: ResourceSlice) -> dict[Read, int]:
        known = self._known.get(item.name)
        if known is None or known[0] is not item:
            known = self._known[item.name] = (item, {})
        return known[1]

    def _column(self, known: dict[Read, int], item: ResourceSlice, read: Read) -> int:
        if read.of == _ANSWERED:
            number = self._number(self._answers(known, item, read.name))
        else:
            driver, see = item.spec.driver, _seeing(read)
            number = self._number(tuple([see(driver, device) for device in item.spec.devices]))
        # Every claim may bring a selector of its own: what they say is kept in situations only, of which there are few.
        if read.of != _ANSWERED or read.domain == _OF_CLASS:
            known[read] = number
        return number

    def _answers(self, known: dict[Read, int], item: ResourceSlice, expression: str) -> tuple[bool | str, ...]:
        driver, devices = item.spec.driver, item.spec.devices
        selector = compile_selector(expression)
        if selector.is_plain:
            if _READABLE not in known:
                known[_READABLE] = all(map(is_readable, devices))
            if known[_READABLE]:
                return tuple([plainly(selector, driver, device) for device in devices])
        return tuple([answer_of(expression, driver, device) for device in devices])

    def _number(self, column: Hashable) -> int:
        return self._numbers.setdefault(column, len(self._numbers))

    def _taken_of(self, id_: DeviceID) -> Hashable:
        if id_ in self._taken.devices:
            return True
        if id_ not in self._taken.shared:
            return False
        capacity = self._taken.capacity.get(id_, {})
        return tuple(sorted((name, str(amount)) for name, amount in capacity.items()))


@lru_cache(maxsize=1024)
def _columns(reading: Reading) -> tuple[Read, ...]:
    matched = [Read(_MATCHED, "", name) for name in sorted(reading.matched)]
    answered = [Read(_ANSWERED, _OF_CLASS, expression) for expression in sorted(reading.of_classes)]
    answered += [Read(_ANSWERED, "", expression) for expression in sorted(reading.answers)]
    return (_PLAIN, *sorted(reading.values), *matched, *([_AMOUNTS] if reading.amounts else []), *answered)


def _seeing(read: Read) -> _See:
    if read == _PLAIN:
        return plain_seen
    if read == _AMOUNTS:
        return capacity_seen
    if read.of == _MATCHED:
        return lambda driver, device: lookup_attribute(device, DeviceID(driver, "", ""), read.name)
    if read.of == "attributes" and read.name:
        return partial(_attribute_seen, read.domain, read.name, f"{read.domain}/{read.name}")
    return lambda driver, device: value_seen(driver, device, read)


def _attribute_seen(domain: str, name: str, full: str, driver: str, device: Device) -> Hashable:
    """By both spellings, as value_seen has it, quickly: there are many devices."""
    attributes = device.attributes
    spelt_out = attributes.get(full)
    own = attributes.get(name) if domain == driver else None
    return own if spelt_out is None else (spelt_out, own)
