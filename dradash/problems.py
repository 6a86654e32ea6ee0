"""Errors as application/problem+json (RFC 9457). `type` is stable: programs may compare it.

Pure: the API answers with it, and who lets nobody in (web/middleware.py) refuses programs with it.
"""

from __future__ import annotations

from typing import Final

import msgspec

CONTENT_TYPE: Final = "application/problem+json"
_TYPE: Final = "urn:dradash:problem:"


class Problem(msgspec.Struct, frozen=True, rename="camel"):
    """An error. `allowed`: names or values that would have been accepted."""

    type: str
    title: str
    status: int
    detail: str
    allowed: tuple[str, ...] = ()


class Kind(msgspec.Struct, frozen=True):
    slug: str
    status: int
    title: str


UNKNOWN_PARAMETER: Final = Kind("unknown-parameter", 400, "Unknown parameter")
BAD_PARAMETER: Final = Kind("bad-parameter", 400, "Parameter cannot be used")
BAD_CURSOR: Final = Kind("bad-cursor", 400, "Cursor cannot be used")
NOT_REACHED: Final = Kind("revision-not-reached", 400, "The revision has not been reached yet")
NOT_SIGNED_IN: Final = Kind("not-signed-in", 401, "Not signed in")
NOT_ALLOWED: Final = Kind("not-allowed", 403, "Not allowed")
NOT_FOUND: Final = Kind("not-found", 404, "Not found")
NO_SUCH_MOMENT: Final = Kind("no-such-moment", 404, "No such moment")
WRONG_METHOD: Final = Kind("wrong-method", 405, "Only GET and HEAD")
REVISION_GONE: Final = Kind("revision-gone", 410, "The revision is too old")
INTERNAL: Final = Kind("internal", 500, "A mistake in dradash")
NOT_KNOWN: Final = Kind("not-known", 503, "Not known now")
UNAVAILABLE: Final = Kind("unavailable", 503, "The model cannot be read")
TOO_MANY_WATCHES: Final = Kind("too-many-watches", 503, "Too many watches")

KINDS: Final = tuple(k for k in globals().copy().values() if isinstance(k, Kind))


class Refusal(Exception):
    """Raised by an endpoint; the view answers with it. `body`: the document."""

    def __init__(self, kind: Kind, detail: str, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(detail)
        self.problem = Problem(type_of(kind), kind.title, kind.status, detail, allowed)

    @property
    def body(self) -> bytes:
        return msgspec.json.encode(self.problem)


def type_of(kind: Kind) -> str:
    return _TYPE + kind.slug
