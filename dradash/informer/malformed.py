"""What the log says of objects that cannot be read: one line for many, and not again soon. Pure."""

from __future__ import annotations

from typing import Final

from dradash.informer.messages import Unreadable

TELL_EVERY: Final = 600.0  # seconds between two lines of one kind
_LONGEST_NAME: Final = 100  # characters
_LONGEST_ERROR: Final = 200


class Malformed:
    """Of one kind: the lines and objects that were found since the last line in the log."""

    def __init__(self) -> None:
        self._number = 0
        self._example = ("", "")
        self._told_at: float | None = None

    def found(self, key: str, error: Exception) -> None:
        """key: "" when not even the name can be read."""
        if not self._number:
            self._example = (key, str(error))
        self._number += 1

    def report(self, now: float) -> list[Unreadable]:
        if not self._number or (self._told_at is not None and now - self._told_at < TELL_EVERY):
            return []
        unreadable = Unreadable(self._number, *self._example)
        self._number, self._told_at = 0, now
        return [unreadable]


def line(kind: str, unreadable: Unreadable) -> str:
    """For the log: the object's own text as escapes and cut, so that it cannot be taken for lines of ours."""
    found = f"{unreadable.number} objects, such as" if unreadable.number > 1 else "one object:"
    name = _shown(unreadable.key, _LONGEST_NAME) or "one without a name"
    return f"{kind}: cannot read {found} {name}: {_shown(unreadable.error, _LONGEST_ERROR)}"


def _shown(text: str, longest: int) -> str:
    escaped = text[:longest].encode("unicode_escape").decode()
    return f"{escaped[:longest]}..." if len(text) > longest or len(escaped) > longest else escaped
