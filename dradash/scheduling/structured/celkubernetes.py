"""Kubernetes' quantity, semantic version and named format libraries for CEL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Final

from dradash.kinds import quantity as quantities
from dradash.kinds import semver
from dradash.kinds.quantity import InvalidQuantity, Quantity
from dradash.kinds.semver import InvalidVersion, Version
from dradash.scheduling.structured.celnetwork import FUNCTIONS as NETWORK
from dradash.scheduling.structured.celstrings import strings
from dradash.scheduling.structured.celvalues import EvalError, Opaque, no_overload


class Format(Opaque, frozen=True):
    type_name: ClassVar[str] = "kubernetes.NamedFormat"
    name: str


def _quantity(text: Any) -> Quantity:
    strings(text)
    try:
        return quantities.parse(text)
    except InvalidQuantity as error:
        raise EvalError(str(error)) from None


def _is_quantity(text: Any) -> bool:
    strings(text)
    try:
        quantities.parse(text)
    except InvalidQuantity:
        return False
    return True


def _version(text: Any, normalize: Any = False) -> Version:
    strings(text)
    if not isinstance(normalize, bool):
        raise no_overload()
    try:
        return semver.parse(semver.normalized(text) if normalize else text)
    except InvalidVersion as error:
        raise EvalError(str(error)) from None


def _is_version(text: Any, normalize: Any = False) -> bool:
    strings(text)
    try:
        _version(text, normalize)
    except EvalError:
        return False
    return True


def _pair(a: Any, b: Any) -> int:
    if isinstance(a, Quantity) and isinstance(b, Quantity):
        return a.compare(b)
    if isinstance(a, Version) and isinstance(b, Version):
        return a.compare(b)
    raise no_overload()


def _amount(value: Any) -> Quantity:
    if isinstance(value, Quantity):
        return value
    if type(value) is int:
        return Quantity(value)
    raise no_overload()


def _of_quantity(read: Callable[[Quantity], Any]) -> Callable[..., Any]:
    def run(value: Any) -> Any:
        if not isinstance(value, Quantity):
            raise no_overload()
        return read(value)

    return run


def _as_integer(value: Quantity) -> int:
    number = value.as_int64()
    if number is None:
        raise EvalError("cannot convert value to integer")
    return number


def _add(a: Any, b: Any) -> Quantity:
    if not isinstance(a, Quantity):
        raise no_overload()
    return a + _amount(b)


def _sub(a: Any, b: Any) -> Quantity:
    if not isinstance(a, Quantity):
        raise no_overload()
    return a - _amount(b)


def _of_version(read: Callable[[Version], int]) -> Callable[..., Any]:
    def run(value: Any) -> int:
        if not isinstance(value, Version):
            raise no_overload()
        number = read(value)
        if number >= 2**63:
            raise EvalError("integer overflow")
        return number

    return run


_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_FORMATS: Final[dict[str, tuple[str, int]]] = {
    "dns1123Label": (_LABEL, 63),
    "dns1123Subdomain": (_SUBDOMAIN, 253),
    "dns1035Label": (_LABEL_1035, 63),
    "qualifiedName": (rf"({_SUBDOMAIN}/)?{_NAME}", 317),
    "dns1123LabelPrefix": (rf"{_LABEL}-?", 63),
    "dns1123SubdomainPrefix": (rf"{_SUBDOMAIN}-?", 253),
    "dns1035LabelPrefix": (rf"{_LABEL_1035}-?", 63),
    "labelValue": (rf"({_NAME})?", 63),
    "uuid": (r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}", 36),
    "byte": (r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", 1 << 20),
    "date": (r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", 10),
    "datetime": (r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", 64),
}


def _named(name: Any) -> list[Format]:
    """The format in a list, or an empty list: `celmacros` makes an optional value of it."""
    strings(name)
    return [Format(name)] if name in FORMATS else []


def _validate(named: Any, text: Any) -> list[list[str]]:
    """Nothing for a text of that format, else what is wrong with it: `celmacros` makes an optional value of it."""
    if not isinstance(named, Format):
        raise no_overload()
    strings(text)
    if named.name == "uri":
        valid = bool(NETWORK["isURL"](text))
    else:
        pattern, longest = _FORMATS[named.name]
        valid = len(text) <= longest and re.fullmatch(pattern, text, re.ASCII) is not None
    return [] if valid else [[f"does not match the format {named.name}"]]


def _format(name: str) -> Callable[[], Format]:
    return lambda: Format(name)


FORMATS: Final = (*_FORMATS, "uri")

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "quantity": _quantity,
    "isQuantity": _is_quantity,
    "isInteger": _of_quantity(lambda q: q.as_int64() is not None),
    "asInteger": _of_quantity(_as_integer),
    "asApproximateFloat": _of_quantity(Quantity.as_approximate_float),
    "sign": _of_quantity(lambda q: q.sign),
    "add": _add,
    "sub": _sub,
    "semver": _version,
    "isSemver": _is_version,
    "major": _of_version(lambda v: v.major),
    "minor": _of_version(lambda v: v.minor),
    "patch": _of_version(lambda v: v.patch),
    "isLessThan": lambda a, b: _pair(a, b) < 0,
    "isGreaterThan": lambda a, b: _pair(a, b) > 0,
    "compareTo": _pair,
    "format.named__": _named,
    "validate__": _validate,
    **{f"format.{name}": _format(name) for name in FORMATS},
}
