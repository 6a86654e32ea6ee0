"""Names on pages: short ones stay whole, long ones may break after a dot or a slash, all are escaped."""

from __future__ import annotations

from dradash.web.templatetags.dradash import SHORT, broken, fits, words_of


def test_a_short_name_stays_whole() -> None:
    assert broken("ml/train-gpu") == "ml/train-gpu"
    assert fits("gpu.example.com") == ' class="fits"'
    assert fits("n" * SHORT)


def test_a_long_name_may_break_after_its_dots() -> None:
    name = "accelerators.of.a.far.example.com"
    assert broken(name) == "accelerators.<wbr>of.<wbr>a.<wbr>far.<wbr>example.<wbr>com"
    assert fits(name) == ""


def test_a_long_name_is_escaped() -> None:
    assert "<b" not in broken("<b>" + "x" * SHORT)


def test_a_resource_may_break_between_its_words() -> None:
    assert words_of("podschedulingcontexts") == "pod<wbr>scheduling<wbr>contexts"
    assert words_of("pods") == "pods"
    assert words_of("resourceclaims") == "resource<wbr>claims"
    assert words_of("resource<claim") == "resource&lt;claim"
