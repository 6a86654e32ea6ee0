"""Faults on purpose: what a test, a scenario or POST /sim/faults makes the API server get wrong.

`answer`, `delay` and `unreachable` act where requests come in (HTTP and the in-process source), so that the cluster's
own actors go on; `conflict` acts on every write, theirs too; `lose_events` hides changes from all watches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Final, Literal

import msgspec

from dradash.sim import apierrors
from dradash.sim.apierrors import ApiError
from dradash.sim.resources import Resource

FOREVER: Final = -1
Code = Literal[401, 403, 404, 410, 429, 500, 503, 504]


class Fault(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """`kind` is a resource's plural, "" means all; `count` requests, writes or events are hit, -1 all until `clear`.

    answer: refuse requests with `code` (429 with Retry-After `retry_after` seconds), only those verbs if any are named.
    conflict: writes fail with 409. lose_events: changes are not shown to watches. delay: answers come `seconds` late.
    drop_watches: open watches end. compact: older resource versions are forgotten (410).
    unreachable: nothing listens for `seconds`, and open connections break. clear: no faults any more.
    """

    fault: Literal["answer", "conflict", "lose_events", "delay", "drop_watches", "compact", "unreachable", "clear"]
    kind: str = ""
    verbs: tuple[str, ...] = ()
    count: Annotated[int, msgspec.Meta(ge=-1, le=1_000_000)] = 1
    code: Code = 500
    retry_after: Annotated[int, msgspec.Meta(ge=0, le=3600)] = 1
    seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 0.0


class Faults:
    """The faults in force. Thread-safe: it is asked from actors, from HTTP and from the source."""

    def __init__(self) -> None:
        self._active: list[Fault] = []
        self._lock = threading.Lock()
        self.restored = threading.Event()  # not set while the fault `unreachable` lasts
        self.restored.set()
        # Takes the HTTP listener away for so many seconds; set by whoever runs one.
        self.on_unreachable: Callable[[float], None] | None = None

    def add(self, fault: Fault) -> None:
        with self._lock:
            if fault.count:
                self._active.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._active.clear()
        self.restore()

    def active(self) -> list[Fault]:
        with self._lock:
            return list(self._active)

    @property
    def reachable(self) -> bool:
        return self.restored.is_set()

    def take_away(self, seconds: float) -> None:
        """Be unreachable for so long: over HTTP if there is a listener, and for the in-process source."""
        self.restored.clear()
        timer = threading.Timer(seconds, self.restore)
        timer.daemon = True
        timer.start()
        if self.on_unreachable is not None:
            self.on_unreachable(seconds)

    def restore(self) -> None:
        self.restored.set()

    def _take(self, name: str, plural: str, verb: str = "") -> Fault | None:
        if not self._active:  # the usual case costs no lock
            return None
        with self._lock:
            for fault in self._active:
                if fault.fault == name and fault.kind in ("", plural) and (not fault.verbs or verb in fault.verbs):
                    if fault.count != FOREVER:
                        fault.count -= 1
                    if fault.count == 0:
                        self._active.remove(fault)
                    return fault
        return None

    def admit(self, resource: Resource, verb: str, namespace: str) -> float:
        """Called for each request that comes in: seconds to wait before answering. Raises ApiError to refuse it."""
        delay = self._take("delay", resource.plural, verb)
        refusal = self._take("answer", resource.plural, verb)
        if refusal is not None:
            raise _answer(refusal, resource, verb, namespace)
        return delay.seconds if delay is not None else 0.0

    def conflicts(self, plural: str, verb: str) -> bool:
        return self._take("conflict", plural, verb) is not None

    def loses_event(self, plural: str) -> bool:
        return self._take("lose_events", plural) is not None


def _answer(fault: Fault, resource: Resource, verb: str, namespace: str) -> ApiError:
    made: dict[int, Callable[[], ApiError]] = {
        401: apierrors.unauthorized,
        403: lambda: apierrors.forbidden(resource, verb, namespace),
        404: apierrors.no_such_path,
        410: lambda: apierrors.too_old(0, 1),
        429: lambda: apierrors.too_many_requests(fault.retry_after),
        500: lambda: apierrors.internal("a fault on purpose"),
        503: apierrors.unavailable,
        504: apierrors.timed_out,
    }
    return made[fault.code]()
