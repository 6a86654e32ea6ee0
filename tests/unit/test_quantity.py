"""Quantities are exact, compare by value and are written as Go writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dradash.kinds.quantity import Format, InvalidQuantity, Quantity, decoded, of_int, parse


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0", "0"),
        ("1.5", "1500m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1536", "1536"),
        ("1000", "1k"),
        ("5000M", "5G"),
        ("0.1m", "100u"),
        ("0.1n", "1n"),
        ("-5", "-5"),
        ("12e6", "12e6"),
        ("1.5e3", "1500"),
        ("100Ki", "100Ki"),
        ("512Ki", "512Ki"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("16Ei", "9223372036854775807"),
        ("+3", "3"),
        (".5", "500m"),
        ("1E", "1E"),
        ("1E3", "1e3"),
    ],
)
def test_a_quantity_is_written_in_its_canonical_form(text: str, written: str) -> None:
    canonical = parse(text)
    assert str(Quantity(canonical.unscaled, canonical.scale, canonical.format)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(Gi)",
        "i",
        "+-",
        "1Kii",
        "1.2.3",
        "1e",
        "0x10",
        "1 Gi",
        " 1",
        "1 ",
        "1Gi\n",
        "\t1",
        "1\u00a0",
        "1e99999",
        "9" * 300,
        "\u0661",
    ],
)
def test_text_that_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        parse(text)


@pytest.mark.parametrize(
    "text", ["-", "+", ".", "-.", "Gi", "-Gi", ".Gi", "Ti", "m", "n", "-k", "E", "e5", "e-9", "+e-9", ".e3"]
)
def test_a_number_without_digits_is_zero_where_upstream_keeps_an_int64(text: str) -> None:
    quantity = parse(text)
    assert (quantity.unscaled, quantity.big, str(quantity)) == (0, False, "0")


def test_a_zero_without_digits_has_the_format_of_its_suffix() -> None:
    assert [parse(text).format for text in ("Gi", "-", "e5")] == [
        Format.BINARY_SI,
        Format.DECIMAL_SI,
        Format.DECIMAL_EXPONENT,
    ]
    assert str(parse("Gi") + parse("2048")) == "2048"
    assert parse("Gi").as_int64() == 0


@pytest.mark.parametrize("text", ["Ei", "Pi", "+Ei", "-.Pi", "e-10", "-e-10"])
def test_a_number_without_digits_is_refused_where_upstream_takes_a_big_decimal(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="unable to parse numeric part"):
        parse(text)


@pytest.mark.parametrize("text", [".0Ei", "0Pi", "0e-10", "-.0n"])
def test_a_zero_with_a_digit_is_none_the_less_a_quantity(text: str) -> None:
    assert parse(text).is_zero


def test_white_space_around_a_quantity_in_an_object_does_not_count() -> None:
    assert decoded(" 7\n") == parse("7")
    assert str(decoded("\t1Gi ")) == "1Gi"
    with pytest.raises(InvalidQuantity):
        decoded("1 Gi")


def test_values_compare_whatever_their_suffix() -> None:
    assert parse("1Gi") == parse("1024Mi") == parse("1073741824")
    assert parse("24G") < parse("24Gi")
    assert parse("0.001") == parse("1m")
    assert hash(parse("1k")) == hash(parse("1000"))


def test_what_is_equal_is_not_unequal() -> None:
    assert (parse("3Gi") != parse("3072Mi")) is False
    assert parse("3Gi") != parse("3G")
    assert parse("3") != 3


def test_the_same_value_may_be_another_go_value() -> None:
    assert parse("1Gi").is_same_as(parse("1Gi"))
    assert not parse("1Gi").is_same_as(parse("1024Mi"))
    assert not parse("2.5Gi").is_same_as(parse("2.5Gi")), "two big decimals are two pointers"


def test_a_sum_keeps_the_first_format_unless_that_is_zero() -> None:
    assert str(parse("1Gi") + parse("1M")) == "1074741824"
    assert str(parse("0") + parse("1Gi")) == "1Gi"
    assert str(parse("1Gi") - parse("512Mi")) == "512Mi"


def test_a_rounded_amount_is_a_binary_one() -> None:
    assert str(of_int(4_000_000_000, Format.BINARY_SI)) == "3906250Ki"


@pytest.mark.parametrize(("text", "value"), [("1500m", 2), ("-1500m", -2), ("1n", 1), ("2k", 2000)])
def test_value_rounds_away_from_zero(text: str, value: int) -> None:
    assert parse(text).value() == value


def test_what_upstream_holds_as_a_big_decimal_is_no_int64() -> None:
    assert parse("10").as_int64() == 10
    assert parse("0.5").as_int64() is None
    assert parse("1.5Gi").as_int64() is None


@given(st.integers(-(10**17), 10**17), st.sampled_from(["", "k", "M", "m", "u", "n", "Ki", "Mi", "Gi"]))
def test_the_canonical_form_reads_back_as_the_same_value(number: int, suffix: str) -> None:
    quantity = parse(f"{number}{suffix}")
    if quantity.compare(Quantity(2**63 - 1)) < 0 < quantity.compare(Quantity(-(2**63))):
        assert parse(str(quantity)) == quantity


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12), st.integers(-9, 3), st.integers(-9, 3))
def test_addition_undoes_subtraction(a: int, b: int, scale_a: int, scale_b: int) -> None:
    first, second = Quantity(a, scale_a), Quantity(b, scale_b)
    assert (first + second) - second == first
