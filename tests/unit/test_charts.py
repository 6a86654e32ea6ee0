"""Pictures as paths and numbers."""

from __future__ import annotations

from dradash.web.presenters.charts import COLUMNS, TABLE_ROWS, histogram, per_slot, spark, stack

LAYERS = (("a", "first", "fill-g0"), ("b", "second", "fill-g1"))


def test_a_stack_puts_one_upon_the_other_up_to_the_most_there_was() -> None:
    drawn = stack("s", "Title", [(0.0, {"a": 1, "b": 1}), (10.0, {"a": 2, "b": 2})], LAYERS)
    assert drawn.most == 4
    first, second = drawn.areas
    assert first.path == "M0,90 L600,60 L600,120 L0,120 Z"
    assert second.path == "M0,60 L600,0 L600,60 L0,90 Z"
    assert (first.latest, drawn.description) == (2, "Title. Now 2 first, 2 second; at most 4 in all.")
    assert [(r.at, r.values) for r in drawn.rows] == [(10.0, (2, 2)), (0.0, (1, 1))]


def test_a_layer_that_is_never_there_has_no_area() -> None:
    drawn = stack("s", "Title", [(0.0, {"a": 1}), (10.0, {"a": 1})], LAYERS)
    assert drawn.areas[1].path == ""


def test_one_sample_or_none_is_no_picture() -> None:
    assert not stack("s", "Title", [], LAYERS).drawn
    assert not stack("s", "Title", [(1.0, {"a": 1})], LAYERS).drawn
    assert stack("s", "Title", [], LAYERS).description == "Title. Now nothing; at most 1 in all."


def test_a_day_of_samples_is_thinned_and_keeps_its_ends() -> None:
    drawn = stack("s", "Title", [(float(i), {"a": i}) for i in range(5000)], LAYERS)
    assert drawn.areas[0].path.count("L") == 2 * COLUMNS - 1
    assert (drawn.start, drawn.end, len(drawn.rows)) == (0.0, 4999.0, TABLE_ROWS)
    assert drawn.rows[0].at == 4999.0


def test_durations_fall_into_the_class_that_names_them() -> None:
    drawn = histogram("h", "Title", [0.05, 0.1, 2.0, 2.5, 1000.0])
    counts = {b.label: b.count for b in drawn.bars if b.count}
    assert counts == {"under 0.1 s": 1, "0.1 to 0.3 s": 1, "1 to 3 s": 2, "300 s or more": 1}
    assert drawn.total == 5
    assert max(b.height for b in drawn.bars) == 120.0
    assert "most often 1 to 3 s" in drawn.description
    assert histogram("h", "Title", []).description == "Title: none yet."


def test_a_spark_says_in_words_what_it_shows() -> None:
    line = spark([0.0, 4.0, 2.0], "Pods waiting")
    assert line is not None
    assert line.path == "M0,17 L40,1 L80,9"
    assert line.text == "Pods waiting: 0 then, 2 now, at most 4"
    assert spark([1.0], "x") is None


def test_times_are_counted_in_their_slots() -> None:
    assert per_slot([0.0, 1.0, 5.0, 9.9, 10.0, -1.0], 0.0, 10.0, 2) == [2.0, 2.0]


def test_a_spark_carries_its_numbers_and_not_too_many() -> None:
    line = spark([0.0, 4.0, 2.0], "Pods waiting")
    assert line is not None
    assert (line.rows, line.count) == (((1, 0.0), (2, 4.0), (3, 2.0)), 3)
    long = spark([float(i) for i in range(500)], "Pods waiting")
    assert long is not None
    assert len(long.rows) == TABLE_ROWS
    assert (long.rows[0], long.rows[-1]) == ((1, 0.0), (500, 499.0))
