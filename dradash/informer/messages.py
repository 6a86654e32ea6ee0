"""What the reflector asks for, what it is answered, and what it gives out (h11 calls them events)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dradash.informer.sink import KindState, ObjectEvent
from dradash.informer.source import ListPage, SourceError, WatchEvent


class Discover(msgspec.Struct, frozen=True):
    pass


class List(msgspec.Struct, frozen=True):
    version: str
    limit: int  # 0: everything in one answer
    continue_token: str


class Watch(msgspec.Struct, frozen=True):
    version: str
    resource_version: str
    timeout: int


class Read(msgspec.Struct, frozen=True):
    pass


class Wait(msgspec.Struct, frozen=True):
    seconds: float


class Discovered(msgspec.Struct, frozen=True):
    served: Mapping[str, frozenset[str]]  # as Source.discover gives it


class Listed(msgspec.Struct, frozen=True):
    page: ListPage


class Opened(msgspec.Struct, frozen=True):
    pass


class Received(msgspec.Struct, frozen=True):
    events: tuple[WatchEvent, ...]


class Ended(msgspec.Struct, frozen=True):
    pass


class Failed(msgspec.Struct, frozen=True):
    error: SourceError


class Replaced(msgspec.Struct, frozen=True):
    items: Mapping[str, bytes]
    resource_version: str


class Changed(msgspec.Struct, frozen=True):
    events: tuple[ObjectEvent, ...]
    resource_version: str


class Unreadable(msgspec.Struct, frozen=True):
    """Malformed lines and objects: how many, and the first one's key ("" without a name) and fault: foreign text."""

    number: int
    key: str
    error: str


Action = Discover | List | Watch | Read | Wait
Answer = Discovered | Listed | Opened | Received | Ended | Failed
Emission = Replaced | Changed | Unreadable | KindState
