"""The log's line about objects that cannot be read: their own text is foreign."""

from __future__ import annotations

from dradash.informer.malformed import line
from dradash.informer.messages import Unreadable


def test_one_object_and_many_are_told_with_what_is_wrong() -> None:
    wrong = "Expected `object`, got `int` - at `$.spec`"
    assert line("pods", Unreadable(1, "ml/a", wrong)) == f"pods: cannot read one object: ml/a: {wrong}"
    assert line("pods", Unreadable(570, "ml/a", wrong)) == f"pods: cannot read 570 objects, such as ml/a: {wrong}"
    assert line("pods", Unreadable(1, "", "no JSON")) == "pods: cannot read one object: one without a name: no JSON"


def test_foreign_text_is_one_line_of_bounded_length() -> None:
    told = line("nodes", Unreadable(2, "a\n12:00 ERROR \x1b[2J\u202e\ud800é", "\n" * 1000))

    assert r"a\n12:00 ERROR \x1b[2J\u202e\ud800\xe9: \n\n" in told
    assert told.isprintable()
    assert told.isascii()
    assert told.endswith("...")
    assert len(line("nodes", Unreadable(2, "\u202e" * 10_000, "\u202e" * 10_000))) < 400
