"""resource.Quantity, exactly: a decimal fixed-point number with the suffix style in which it was written.

Ports k8s.io/apimachinery/pkg/api/resource of 1.36: parsing (rounded up to nanos, capped where upstream caps),
comparison, arithmetic and the canonical form. A value is `unscaled * 10**scale`; no float is involved.
"""

from __future__ import annotations

import enum
import re
from typing import Final

import msgspec

_NANO: Final = -9
_MAX_INT64: Final = 2**63 - 1
_MIN_INT64: Final = -(2**63)
# int64 mantissas of up to this many digits cannot overflow when they are scaled (maxInt64Factors).
_MAX_INT64_DIGITS: Final = 18

# Longer numbers are no quantities anybody means; without a limit one string could cost seconds.
_MAX_LENGTH: Final = 256
_MAX_EXPONENT: Final = 1000

_SHAPE: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)", re.ASCII)
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX: Final = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}
_DECIMAL_SUFFIX: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_EXPONENT: Final = re.compile(r"[eE]([+-]?\d+)", re.ASCII)


class Format(enum.StrEnum):
    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


class InvalidQuantity(ValueError):
    """The text is no quantity; the message is upstream's."""


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """`unscaled * 10**scale`. `text` is what it is written as when that is known to be canonical, else "".

    `big` says that upstream holds it as a big decimal; two of these are never the same Go value (see `is_same_as`).
    """

    unscaled: int
    scale: int = 0
    format: Format = Format.DECIMAL_SI
    text: str = ""
    big: bool = False

    def compare(self, other: Quantity) -> int:
        """Quantity.Cmp: -1, 0 or 1."""
        low = min(self.scale, other.scale)
        mine = self.unscaled * 10 ** (self.scale - low)
        theirs = other.unscaled * 10 ** (other.scale - low)
        return bool(mine > theirs) - bool(mine < theirs)

    def __eq__(self, other: object) -> bool:
        return self.compare(other) == 0 if isinstance(other, Quantity) else NotImplemented

    def __ne__(self, other: object) -> bool:
        """Said too: what a Struct has without it tells apart what is written in two ways."""
        return not self == other

    def __hash__(self) -> int:
        unscaled, scale = _stripped(self.unscaled, self.scale)
        return hash((unscaled, scale))

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def is_same_as(self, other: Quantity) -> bool:
        """Go's == of two Quantity structs: the same representation, not only the same value."""
        return (
            not self.big
            and not other.big
            and (self.unscaled, self.scale, self.format, self.text)
            == (other.unscaled, other.scale, other.format, other.text)
        )

    def __add__(self, other: Quantity) -> Quantity:
        """Quantity.Add: a zero takes the other's format."""
        low = min(self.scale, other.scale)
        total = self.unscaled * 10 ** (self.scale - low) + other.unscaled * 10 ** (other.scale - low)
        return Quantity(total, low, other.format if self.is_zero else self.format, "", self.big or other.big)

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.scale, self.format, "", self.big)

    def __sub__(self, other: Quantity) -> Quantity:
        """Quantity.Sub: a zero takes the other's format."""
        return self + -other

    @property
    def is_zero(self) -> bool:
        return self.unscaled == 0

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    @property
    def is_integer(self) -> bool:
        return self.scale >= 0 or self.unscaled % 10**-self.scale == 0

    def as_int64(self) -> int | None:
        """AsInt64: None where upstream's fast conversion fails (a big decimal, a fraction, an overflow)."""
        if self.big or self.scale < 0:
            return None
        value = self.unscaled * 10**self.scale
        return value if _MIN_INT64 <= value <= _MAX_INT64 else None

    def as_approximate_float(self) -> float:
        """AsApproximateFloat64."""
        try:
            base = float(self.unscaled)
            return base if self.scale == 0 else base * 10.0**self.scale
        except OverflowError:
            return float("inf") if self.unscaled > 0 else float("-inf")

    def value(self) -> int:
        """Quantity.Value: rounded away from zero to an integer."""
        return _rounded(self.unscaled, self.scale, 0)

    def __str__(self) -> str:
        return self.text or _canonical(self)


def _stripped(unscaled: int, scale: int) -> tuple[int, int]:
    if unscaled == 0:
        return 0, 0
    while unscaled % 10 == 0:
        unscaled //= 10
        scale += 1
    return unscaled, scale


def _rounded(unscaled: int, scale: int, to_scale: int) -> int:
    """The value in units of 10**to_scale, rounded away from zero."""
    if scale >= to_scale:
        return int(unscaled * 10 ** (scale - to_scale))
    whole, rest = divmod(abs(unscaled), 10 ** (to_scale - scale))
    magnitude = int(whole + (1 if rest else 0))
    return magnitude if unscaled >= 0 else -magnitude


def _canonical(quantity: Quantity) -> str:
    """CanonicalizeBytes."""
    if quantity.is_zero:
        return "0"
    written = quantity.format
    if written is Format.BINARY_SI:
        small = abs(_rounded(quantity.unscaled, quantity.scale, _NANO)) < 1024 * 10**9
        if small or not quantity.is_integer:
            written = Format.DECIMAL_SI
    if written is Format.BINARY_SI:
        number, power = quantity.value(), 0
        while number % 1024 == 0 and power < 60:
            number //= 1024
            power += 10
        return f"{number}{_BINARY_SUFFIX[power]}"
    number, scale = _stripped(quantity.unscaled, quantity.scale)
    # The exponent is a multiple of three, and the mantissa has no fraction.
    number *= 10 ** (scale % 3)
    scale -= scale % 3
    if written is Format.DECIMAL_SI:
        while scale > 18:
            number, scale = number * 1000, scale - 3
        return f"{number}{_DECIMAL_SUFFIX[scale]}"
    return f"{number}e{scale}" if scale else str(number)


def decoded(text: str) -> Quantity:
    """The quantity in an object (UnmarshalJSON): with white space around it or not. Raises InvalidQuantity."""
    return parse(text.strip())


def parse(text: str) -> Quantity:
    """ParseQuantity: white space is no part of a quantity. Raises InvalidQuantity.

    A number without digits ("Gi", "-", ".") is 0, but only where upstream keeps an int64: "Ei" and "e-12" are refused.
    """
    if text == "0":
        return Quantity(0, 0, Format.DECIMAL_SI, text)
    match = _SHAPE.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise InvalidQuantity(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, whole, fraction, suffix = match.groups()
    base, exponent, written = _interpret(suffix)
    digits, places = whole.lstrip("0") or "0", fraction or ""
    negative = sign == "-"
    fast = _fast(digits, places, base, exponent, written, text)
    if fast is not None:
        return Quantity(-fast.unscaled, fast.scale, fast.format, fast.text) if negative else fast
    if not whole and not places:
        raise InvalidQuantity("unable to parse numeric part of quantity")
    return _slow(int(digits + places), len(places), base, exponent, written, negative=negative)


def _interpret(suffix: str) -> tuple[int, int, Format]:
    """quantitySuffixer.interpret: base, exponent, format."""
    if suffix in _BINARY:
        return 2, _BINARY[suffix], Format.BINARY_SI
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], Format.DECIMAL_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(int(match[1])) > _MAX_EXPONENT:
        raise InvalidQuantity("unable to parse quantity's suffix")
    return 10, int(match[1]), Format.DECIMAL_EXPONENT


def _fast(digits: str, places: str, base: int, exponent: int, written: Format, text: str) -> Quantity | None:
    """The path of upstream that keeps an int64; None when it does not apply. It decides which text is kept."""
    if base == 2:
        precision = 14 - len(digits) - exponent * 3 // 10 if not places else -1
        mantissa, scale = 1 << exponent, 0
    else:
        precision = _MAX_INT64_DIGITS - len(digits) - len(places)
        mantissa, scale = 1, exponent - len(places)
    if precision < 0 or scale < _NANO:
        return None
    shifted = digits + places
    value = int(shifted)
    if value * mantissa > _MAX_INT64:
        return None
    if written is Format.BINARY_SI:
        keeps_text = value & 0x07 != 0
    else:
        keeps_text = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
    return Quantity(value * mantissa, scale, written, text if keeps_text else "")


def _slow(unscaled: int, places: int, base: int, exponent: int, written: Format, *, negative: bool) -> Quantity:
    """The big decimal path: magnitude rounded up to nanos, binary ones capped at 2**63-1."""
    scale = -places
    if base == 10:
        scale += exponent
    else:
        unscaled <<= exponent
    if scale < _NANO:
        unscaled, scale = _rounded(unscaled, scale, _NANO), _NANO
    quantity = Quantity(unscaled, scale, written, "", big=True)
    if written is Format.BINARY_SI:
        if quantity.compare(Quantity(_MAX_INT64)) > 0:
            quantity = Quantity(_MAX_INT64, 0, written, "", big=True)
        if quantity.sign > 0 and quantity.compare(Quantity(1)) < 0:
            quantity = Quantity(quantity.unscaled, quantity.scale, Format.DECIMAL_SI, "", big=True)
    return -quantity if negative else quantity


def of_int(value: int, written: Format) -> Quantity:
    """NewQuantity."""
    return Quantity(value, 0, written)
