"""Which devices the selectors of a class and a request leave, asked once per expression and device in an attempt."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from dradash.kinds.deviceclaim import DeviceSelector
from dradash.kinds.node import Node
from dradash.kinds.resourceslice import Device
from dradash.scheduling.structured.cel import REGEX, CompileError, RuntimeFault, Selector, compile_selector
from dradash.scheduling.structured.celframe import Frame
from dradash.scheduling.structured.celvariables import attributes_of_readable, variables, variables_of_readable
from dradash.scheduling.structured.devices import AllocationError, DeviceID
from dradash.scheduling.structured.effort import UNBOUNDED, Effort
from dradash.scheduling.structured.pools import node_matches
from dradash.scheduling.structured.reading import is_readable, values_seen
from dradash.scheduling.structured.requests import Candidate, RequestData, RequestKey
from dradash.scheduling.structured.wanted import SearchCut

SEARCHED: Final = 10_000_000  # of an attempt, for its selectors: upstream stops after ten seconds (filterTimeout)
KEPT: Final = 50_000
_ASK: Final = 6  # units (effort.py) of one question that was not asked of this device yet
_EVALUATION: Final = 20  # cost of CEL that takes the time of making its variables
_TRY: Final = 40  # cost of CEL that takes the time of one regular expression
_Asked = tuple[bool | str, int]  # the answer, or the words of the fault; the cost, 0 of what is plain
_known: dict[tuple[str, Hashable], _Asked] = {}


class Answers:
    """What expressions said of devices. Kept for an attempt, over all nodes: devices do not change in it.

    What is asked of devices that agree in all that the expression reads is asked once in the process, but counts as
    work for each attempt: how much work it is must not depend on who asked before.
    """

    def __init__(self, effort: Effort | None = None) -> None:
        self.effort = effort if effort is not None else Effort(SEARCHED)
        self._answers: dict[tuple[str, int], bool | str] = {}
        self._paid: dict[int, _Asked] = {}

    def ask(self, expression: str, candidate: Candidate) -> bool:
        """Raises CompileError, RuntimeFault or SearchCut."""
        # The slices are held as long as these answers, so the identity of a device stays its own.
        key = (expression, id(candidate.device))
        answer = self._answers.get(key)
        if answer is None:
            self.effort.spend(_ASK)
            asked = asked_of(expression, candidate.id.driver, candidate.device, self.effort.left)
            if asked[1] and id(asked) not in self._paid:
                self.effort.spend(asked[1] // 2)
                self._paid[id(asked)] = asked
            answer = self._answers[key] = asked[0]
        if isinstance(answer, str):
            raise RuntimeFault(answer)
        return answer


def answer_of(expression: str, driver: str, device: Device) -> bool | str:
    """The answer, or the words of the fault. Devices that look the same to the expression are asked about once.

    Raises CompileError.
    """
    return asked_of(expression, driver, device)[0]


def asked_of(expression: str, driver: str, device: Device, left: int = UNBOUNDED) -> _Asked:
    """The same with its cost. left: units of work. Raises SearchCut where it takes more."""
    selector = compile_selector(expression)
    if not is_readable(device):
        return _evaluated(selector, driver, device, left)
    if selector.is_plain:
        return plainly(selector, driver, device), 0
    seen = (driver, device.allow_multiple_allocations, values_seen(driver, device, selector.reads))
    asked = _known.get((expression, seen))
    if asked is None:
        if len(_known) >= KEPT:
            _known.clear()
        asked = _known[expression, seen] = _evaluated(selector, driver, device, left)
    return asked


class _Frame(Frame):
    """One evaluation that ends when the work is too much."""

    __slots__ = ("_most",)

    def __init__(self, seen: dict[str, Any], left: int) -> None:
        super().__init__(seen, REGEX)
        self._most = 2 * left

    def spend(self, cost: int) -> None:
        super().spend(cost)
        if self.cost + _TRY * self.tried > self._most:
            raise SearchCut


def _evaluated(selector: Selector, driver: str, device: Device, left: int) -> _Asked:
    try:
        frame = _Frame(variables(driver, device), left)
    except RuntimeFault as fault:
        return str(fault), _ASK
    try:
        answer: bool | str = selector.answer(frame)
    except RuntimeFault as fault:
        answer = str(fault)
    return answer, _EVALUATION + frame.cost + _TRY * frame.tried


def plainly(selector: Selector, driver: str, device: Device) -> bool | str:
    """The answer of a device that is_readable to a plain selector, which is as quick as looking it up."""
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
