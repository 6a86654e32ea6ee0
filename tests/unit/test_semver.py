"""Semantic versions: strict to read, build metadata without weight."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dradash.kinds.semver import InvalidVersion, normalized, parse

ASCENDING = ["0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1"]


def test_versions_are_in_the_order_of_the_specification() -> None:
    versions = [parse(text) for text in [*ASCENDING, "1.0.0", "1.2.0", "1.10.0", "2.0.0"]]
    assert all(a.compare(b) == -1 and b.compare(a) == 1 for a, b in pairwise(versions))


def test_build_metadata_does_not_count() -> None:
    assert parse("1.2.3+a") == parse("1.2.3+b")
    assert hash(parse("1.2.3+a")) == hash(parse("1.2.3"))


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3.4", "a.b.c", "1.2.3-ä", " 1.2.3"],
)
def test_text_that_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(InvalidVersion):
        parse(text)


@pytest.mark.parametrize(("text", "full"), [("v1.0", "1.0.0"), ("1", "1.0.0"), ("01.02.3-rc.1", "1.2.3-rc.1")])
def test_a_loose_version_is_made_a_strict_one(text: str, full: str) -> None:
    assert normalized(text) == full
    parse(normalized(text))
