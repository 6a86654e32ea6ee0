"""Which devices a DeviceTaintRule taints: by their names and, as v1alpha3 of Kubernetes 1.33 and 1.34 has it, by a
DeviceClass and CEL expressions (applyPatches of the resource slice tracker of that time; 1.35 took both away).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.devicetaintrule import DeviceTaintRule, DeviceTaintSelector, names
from dradash.kinds.resourceslice import Device, ResourceSlice
from dradash.scheduling.structured.cel import CompileError, compile_selector
from dradash.scheduling.structured.selection import answer_of

Classes = Mapping[str, DeviceClass]


def idle(selector: DeviceTaintSelector | None, classes: Classes) -> str:
    """Why no device whatever is selected, "" where one may be.

    An expression that does not compile would keep the whole slice from upstream's scheduler; the API server lets no
    such expression in, so what does not compile here selects nothing.
    """
    if selector is None:
        return "it has no selector"
    if selector.device_class_name is not None and selector.device_class_name not in classes:
        return f"DeviceClass {selector.device_class_name} is missing"
    for expression in _expressions(selector, classes):
        try:
            compile_selector(expression)
        except CompileError as error:
            return f"its CEL expression: {error}"
    return ""


def selects(selector: DeviceTaintSelector | None, driver: str, pool: str, device: Device, classes: Classes) -> bool:
    """Whether the published device is selected; an expression that fails on it does not select it."""
    if selector is None or not names(selector, driver, pool, device.name):
        return False
    return not selector.looks or (not idle(selector, classes) and _matches(selector, driver, device, classes))


def selects_name(selector: DeviceTaintSelector | None, driver: str, pool: str, device: str) -> bool:
    """The same of a device that no slice publishes, which no class and no expression selects."""
    return selector is not None and not selector.looks and names(selector, driver, pool, device)


def _expressions(selector: DeviceTaintSelector, classes: Classes) -> list[str]:
    """Those of the class first."""
    of_class = classes.get(selector.device_class_name or "")
    chosen = (*(of_class.spec.selectors if of_class else ()), *selector.selectors)
    return [one.cel.expression for one in chosen if one.cel is not None]


def _matches(selector: DeviceTaintSelector, driver: str, device: Device, classes: Classes) -> bool:
    # The tracker does not hand over allowMultipleAllocations.
    seen = msgspec.structs.replace(device, allow_multiple_allocations=None)
    return all(answer_of(expression, driver, seen) is True for expression in _expressions(selector, classes))


def tainted(item: ResourceSlice, rules: Iterable[DeviceTaintRule], classes: Classes) -> ResourceSlice:
    """The slice with the taints of the rules behind its own, as the resource slice tracker has it."""
    driver, pool = item.spec.driver, item.spec.pool.name
    here = [r for r in rules if names(r.spec.device_selector, driver, pool)]
    if not here:
        return item
    devices = tuple(
        msgspec.structs.replace(device, taints=(*device.taints, *taints)) if taints else device
        for device in item.spec.devices
        for taints in [tuple(r.taint for r in here if selects(r.spec.device_selector, driver, pool, device, classes))]
    )
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, devices=devices))
