"""Which devices the selectors of a class and a request leave, asked once per expression and device in an attempt."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from dradash.kinds.deviceclaim import DeviceSelector
from dradash.kinds.node import Node
from dradash.kinds.resourceslice import Device
from dradash.scheduling.structured.cel import CompileError, RuntimeFault, Selector, compile_selector
from dradash.scheduling.structured.celvariables import attributes_of_readable, variables, variables_of_readable
from dradash.scheduling.structured.devices import AllocationError, DeviceID
from dradash.scheduling.structured.pools import node_matches
from dradash.scheduling.structured.reading import is_readable, values_seen
from dradash.scheduling.structured.requests import Candidate, RequestData, RequestKey


class Answers:
    """What expressions said of devices. Kept for an attempt, over all nodes: devices do not change in it.

    What is asked of devices that agree in all that the expression reads is asked once in the process.
    """

    def __init__(self) -> None:
        self._answers: dict[tuple[str, int], bool | str] = {}

    def ask(self, expression: str, candidate: Candidate) -> bool:
        """Raises CompileError or RuntimeFault."""
        # The slices are held as long as these answers, so the identity of a device stays its own.
        key = (expression, id(candidate.device))
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = answer_of(expression, candidate.id.driver, candidate.device)
        if isinstance(answer, str):
            raise RuntimeFault(answer)
        return answer


KEPT: Final = 50_000
_known: dict[tuple[str, Hashable], bool | str] = {}


def answer_of(expression: str, driver: str, device: Device) -> bool | str:
    """The answer, or the words of the fault. Devices that look the same to the expression are asked about once.

    Raises CompileError.
    """
    selector = compile_selector(expression)
    if not is_readable(device):
        return _evaluated(selector, driver, device)
    if selector.is_plain:
        return plainly(selector, driver, device)
    seen = (driver, device.allow_multiple_allocations, values_seen(driver, device, selector.reads))
    answer = _known.get((expression, seen))
    if answer is None:
        if len(_known) >= KEPT:
            _known.clear()
        answer = _known[expression, seen] = _evaluated(selector, driver, device)
    return answer


def _evaluated(selector: Selector, driver: str, device: Device) -> bool | str:
    try:
        return selector.matches(variables(driver, device))
    except RuntimeFault as fault:
        return str(fault)


def plainly(selector: Selector, driver: str, device: Device) -> bool | str:
    """The same of a device that is_readable, without remembering it: as quick as looking it up for a plain selector."""
    try:
        see = variables_of_readable if selector.reads_capacity else attributes_of_readable
        return selector.matches(see(driver, device))
    except RuntimeFault as fault:
        return str(fault)


class Selection:
    """isSelectable for one node."""

    def __init__(self, node: Node, answers: Answers) -> None:
        self._node = node
        self._answers = answers
        self._known: dict[RequestKey, dict[DeviceID, bool]] = {}

    def known(self, key: RequestKey) -> dict[DeviceID, bool]:
        """What was answered so far for a request."""
        return self._known.setdefault(key, {})

    def known_from(self, key: RequestKey) -> list[dict[DeviceID, bool]]:
        """The same for that request and those that come after it."""
        return [known for later, known in self._known.items() if later >= key]

    def selectable(self, key: RequestKey, data: RequestData, candidate: Candidate, claim: str) -> bool:
        """Raises AllocationError for a selector that cannot be evaluated."""
        known = self.known(key)
        if candidate.id not in known:
            known[candidate.id] = self._is_selectable(data, candidate, claim)
        return known[candidate.id]

    def _is_selectable(self, data: RequestData, candidate: Candidate, claim: str) -> bool:
        device_class = data.device_class
        if device_class is not None and not self._matches(
            f"class {device_class.name}", device_class.spec.selectors, candidate
        ):
            return False
        if not self._matches(f"claim {claim}", data.request.selectors, candidate):
            return False
        if candidate.slice.spec.per_device_node_selection:
            device = candidate.device
            return node_matches(self._node, device.node_name, device.all_nodes, device.node_selector)
        return True

    def _matches(self, owner: str, selectors: tuple[DeviceSelector, ...], candidate: Candidate) -> bool:
        """selectorsMatch."""
        for i, selector in enumerate(selectors):
            expression = selector.cel.expression if selector.cel is not None else ""
            try:
                if not self._answers.ask(expression, candidate):
                    return False
            except CompileError as error:
                raise AllocationError(f"{owner}: selector #{i}: CEL compile error: {error}") from error
            except RuntimeFault as error:
                raise AllocationError(f"{owner}: selector #{i}: CEL runtime error: {error}") from error
        return True
