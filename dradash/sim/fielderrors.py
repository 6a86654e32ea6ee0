"""Validation errors in the words of k8s.io/apimachinery/pkg/util/validation/field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from dradash.sim.apierrors import Cause

_LABEL_FMT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FMT: Final = rf"{_LABEL_FMT}(\.{_LABEL_FMT})*"
_LABEL: Final = re.compile(_LABEL_FMT)
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_FMT)


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {detail}" if detail else "Required value", field)


def invalid(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {json.dumps(value, ensure_ascii=False)}: {detail}", field)


def immutable(field: str, value: Any, detail: str = "field is immutable") -> Cause:
    return invalid(field, value, detail)


def forbidden(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {json.dumps(value, ensure_ascii=False)}", field)


def too_long(field: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be longer than {limit}", field)


def not_supported(field: str, value: Any, supported: Sequence[str]) -> Cause:
    listed = ", ".join(json.dumps(s) for s in supported)
    message = f"Unsupported value: {json.dumps(value, ensure_ascii=False)}: supported values: {listed}"
    return Cause("FieldValueNotSupported", message, field)


def dns_subdomain(value: str) -> list[str]:
    """validation.IsDNS1123Subdomain."""
    errors = []
    if len(value) > 253:
        errors.append("must be no more than 253 characters")
    if not _SUBDOMAIN.fullmatch(value):
        errors.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            f"'{_SUBDOMAIN_FMT}')"
        )
    return errors


def dns_label(value: str) -> list[str]:
    """validation.IsDNS1123Label."""
    errors = []
    if len(value) > 63:
        errors.append("must be no more than 63 characters")
    if not _LABEL.fullmatch(value):
        errors.append(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            f"end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
            f"'{_LABEL_FMT}')"
        )
    return errors


def names(field: str, value: str, check: Callable[[str], list[str]]) -> list[Cause]:
    return [invalid(field, value, message) for message in check(value)]
