"""One finding, and what it is made from."""

from __future__ import annotations

import enum
import hashlib
from typing import Final

import msgspec

from dradash.kinds.registry import KINDS

ID_DIGITS: Final = 12
NAME_DIGITS: Final = 6
OBJECTS_KEPT: Final = 5000  # of one finding; their pages show it
DRIVERS: Final = "drivers"  # stands for a plural: a driver has no object, its key is its name
POOLS: Final = "pools"  # the same: driver/pool
DEVICES: Final = "devices"  # the same: driver/pool/device
NO_KINDS: Final = (DRIVERS, POOLS, DEVICES)
OBJECTS_LISTED: Final = 20  # on its own page and in the API


class Severity(enum.StrEnum):
    ERROR = "error"  # somebody must act, or nothing moves
    WARNING = "warning"  # it may still move, but it should not be so
    INFO = "info"  # worth knowing


class Ref(msgspec.Struct, frozen=True):
    """An object by kind (plural) and key. absent: it is named, but there is none."""

    kind: str
    key: str
    absent: bool = False


class Finding(msgspec.Struct, frozen=True):
    """id: `<code>.<digest>`, the same for as long as it is the same trouble with the same object.

    objects: the first is what it is about, at most OBJECTS_KEPT; total: of how many there are.
    since: Unix seconds, 0.0 when the data does not say. command: arguments of the kubectl call that shows it.
    """

    id: str
    code: str
    severity: Severity
    sentence: str
    objects: tuple[Ref, ...]
    total: int
    since: float
    remedy: str
    command: tuple[str, ...]
    namespace: str = ""
    resource_class: str = ""
    driver: str = ""

    def has(self, text: str) -> bool:
        """Whether it says so or is about it. text: casefolded."""
        return text in f"{self.sentence} {self.id}".casefold() or any(text in o.key.casefold() for o in self.objects)


def subject(about: str) -> tuple[str, str] | None:
    """Kind (plural, DRIVERS, POOLS or DEVICES) and key out of "KIND/KEY"; None where it names none."""
    kind, _, key = about.partition("/")
    return (kind, key) if key and (kind in KINDS or kind in NO_KINDS) else None


def finding_id(code: str, about: Ref, *identity: str) -> str:
    """about: the object. identity: its UID (kind and key when it has none), and what tells two findings on it apart.

    The last digits tell `about` again: that is how a finding that is over is found in the history.
    """
    return f"{code}.{_digest(ID_DIGITS, code, *identity)}{name_digits(about.kind, about.key)}"


def code_of(id_: str) -> str:
    return id_.rpartition(".")[0]


def name_digits(kind: str, key: str) -> str:
    """Of the object that the finding with such an id is about."""
    return _digest(NAME_DIGITS, kind, key)


def name_digits_of(id_: str) -> str:
    return id_[-NAME_DIGITS:]


def _digest(digits: int, *parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=digits // 2).hexdigest()


# The plain resource name is ambiguous where a cluster serves several groups with it.
_NAMES: Final = {k.plural: f"{k.singular}.{k.group}" if k.group else k.singular for k in KINDS.values()}


def get(kind: str, key: str) -> tuple[str, ...]:
    """kubectl's arguments to show one object."""
    namespace, _, name = key.rpartition("/")
    where = ("-n", namespace) if namespace else ()
    return (*where, "get", _NAMES.get(kind, kind), name, "-o", "yaml")
