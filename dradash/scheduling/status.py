"""framework.Status: how an extension point answers. A refusal is a value; an exception is a bug."""

from __future__ import annotations

import enum

import msgspec


class Code(enum.StrEnum):
    """framework.Code of kube-scheduler 1.30, by its own names."""

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    WAIT = "Wait"
    SKIP = "Skip"
    PENDING = "Pending"


_REJECTED = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


class Status(msgspec.Struct, frozen=True):
    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()

    @property
    def is_success(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def is_rejected(self) -> bool:
        """framework.Status.IsRejected: the pod, not the scheduler, is at fault."""
        return self.code in _REJECTED

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def unschedulable(reason: str) -> Status:
    """The plugin's statusUnschedulable: always ...AndUnresolvable, so that preemption is not tried."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))


def pending(reason: str) -> Status:
    return Status(Code.PENDING, (reason,))


def error(reason: str) -> Status:
    return Status(Code.ERROR, (reason,))
