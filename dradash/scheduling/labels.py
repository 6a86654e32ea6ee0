"""Label keys and values: validation (k8s.io/apimachinery/pkg/util/validation of 1.30) and integer parsing."""

from __future__ import annotations

import re
from typing import Final

_NAME_FMT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FMT: Final = "(" + _NAME_FMT + ")?"
_SUBDOMAIN_FMT: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME: Final = re.compile(_NAME_FMT)
_VALUE: Final = re.compile(_VALUE_FMT)
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_FMT)
_INTEGER: Final = re.compile("[+-]?[0-9]+")
_INT64_LIMIT: Final = 2**63

_CHARS: Final = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)


def _regex_error(message: str, fmt: str, *examples: str) -> str:
    shown = ",  or ".join(f"'{e}'" for e in examples)
    return f"{message} (e.g. {shown}, regex used for validation is '{fmt}')"


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def value_errors(value: str) -> list[str]:
    """validation.IsValidLabelValue."""
    errors = []
    if len(value.encode()) > 63:
        errors.append(_too_long(63))
    if not _VALUE.fullmatch(value):
        message = "a valid label must be an empty string or " + _CHARS
        errors.append(_regex_error(message, _VALUE_FMT, "MyValue", "my_value", "12345"))
    return errors


def key_errors(key: str) -> list[str]:
    """validation.IsQualifiedName."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        message = _regex_error("must " + _CHARS, _NAME_FMT, "MyName", "my.name", "123-abc")
        return [f"a qualified name {message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    errors = [f"prefix part {e}" for e in _subdomain_errors(prefix)] if slash else []
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        errors.append(f"name part {_too_long(63)}")
    if not _NAME.fullmatch(name):
        errors.append("name part " + _regex_error("must " + _CHARS, _NAME_FMT, "MyName", "my.name", "123-abc"))
    return errors


def _subdomain_errors(value: str) -> list[str]:
    if not value:
        return ["must be non-empty"]
    errors = []
    if len(value.encode()) > 253:
        errors.append(_too_long(253))
    if not _SUBDOMAIN.fullmatch(value):
        message = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        errors.append(_regex_error(message, _SUBDOMAIN_FMT, "example.com"))
    return errors


def parse_int64(text: str) -> int | None:
    """strconv.ParseInt(text, 10, 64); None where Go returns an error (no blanks, underscores or overflow)."""
    # No number of more digits fits (leading zeros aside, as "0" * 30 + "7" does); Python refuses very long ones.
    digits = text.lstrip("+-").lstrip("0")
    if not _INTEGER.fullmatch(text) or len(digits) > 19:
        return None
    number = int(digits or "0") * (-1 if text.startswith("-") else 1)
    return number if -_INT64_LIMIT <= number < _INT64_LIMIT else None
