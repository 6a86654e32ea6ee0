"""Taking the scheduler's sentences apart and comparing them with ours."""

from __future__ import annotations

import msgspec
import pytest

from dradash.kinds.event import Event
from dradash.kinds.pod import Pod
from dradash.scheduling.agreement import agreement, compare, is_modelled, last_words, parse
from dradash.scheduling.verdict import Agreement
from tests import build

OURS = "0/6 nodes are available: 2 excluded by resource class node filter, 4 node(s) were unschedulable."


@pytest.mark.parametrize(
    ("message", "all_nodes", "clauses"),
    [
        (OURS, 6, (("excluded by resource class node filter", 2), ("node(s) were unschedulable", 4))),
        (f"{OURS} still not schedulable, preemption: 0/6 nodes are available: 6 Preemption is not helpful.", 6, None),
        ("0/6 nodes are available: resource class x.y does not exist. no new claims to deallocate", 6,
         (("resource class x.y does not exist", 0),)),
        ("0/1 nodes are available: 1 waiting for resource driver to provide information.", 1,
         (("waiting for resource driver to provide information", 1),)),
        ("waiting for resource driver", 0, (("waiting for resource driver", 0),)),
        ("0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b, 3 c}.", 3,
         (("Insufficient cpu", 1), ("node(s) had untolerated taint {a: b", 2), ("c}", 3))),
        ("0/0 nodes are available: ", 0, ()),
        ("", 0, (("", 0),)),
    ],
)  # fmt: skip
def test_a_sentence_is_taken_apart(message: str, all_nodes: int, clauses: tuple[tuple[str, int], ...] | None) -> None:
    parsed = parse(message)
    assert parsed.all_nodes == all_nodes
    assert clauses is None or parsed.clauses == clauses


def test_equal_clauses_agree_whatever_follows_them() -> None:
    assert compare(f"{OURS} preemption: 0/6 nodes are available: whatever.", [OURS])[0] is True


def test_another_count_differs() -> None:
    agrees, clauses = compare(OURS.replace("2 ", "3 "), [OURS])
    assert agrees is False
    assert clauses[0].count == 3
    assert clauses[0].ours == 2


def test_only_checks_that_are_not_modelled_cannot_be_compared() -> None:
    agrees, clauses = compare("0/6 nodes are available: 6 Insufficient nvidia.com/gpu.", [OURS])
    assert agrees is None
    assert [c.modelled for c in clauses] == [False]


def test_nodes_hidden_by_other_checks_explain_lower_counts_of_the_plugin() -> None:
    said = OURS.replace("2 excluded", "1 Insufficient cpu, 1 excluded")
    assert compare(said, [OURS])[0] is True
    assert compare(said.replace("4 node", "3 node"), [OURS])[0] is False


def test_what_we_say_and_the_scheduler_does_not_is_a_difference() -> None:
    assert compare("0/6 nodes are available: 4 node(s) were unschedulable.", [OURS])[0] is False


def test_one_of_several_possible_sentences_is_enough() -> None:
    assert compare("waiting for resource driver", [OURS, "waiting for resource driver"])[0] is True


@pytest.mark.parametrize("text", ["resource class a does not exist", "node(s) had untolerated taint {k: v}"])
def test_texts_with_names_in_them_are_known(text: str) -> None:
    assert is_modelled(text)
    assert not is_modelled("Insufficient cpu")


def words(pod: dict[str, object], *events: dict[str, object]) -> Agreement:
    return last_words(msgspec.convert(pod, Pod), [msgspec.convert(e, Event) for e in events])


def test_the_newest_event_about_this_very_pod_counts() -> None:
    pod = build.pod(conditions=[build.unschedulable("by condition")])
    newer = build.event(pod, "newer", name="b", at="2026-11-30T05:00:00Z")
    other = build.event(build.pod(uid="another"), "of an earlier pod", name="c", at="2026-11-30T06:00:00Z")
    assert words(pod, newer, build.event(pod, "older", name="a"), other).said == "newer"
    assert words(pod).said == "by condition"
    assert words(build.pod()).said == ""


def test_a_series_event_has_its_time_but_the_condition_has_the_words() -> None:
    pod = build.pod(conditions=[build.unschedulable("now this")])
    series = {"count": 2, "lastObservedTime": "2026-11-30T05:00:00.000000Z"}
    said = words(pod, build.event(pod, "first text") | {"series": series})
    assert (said.said, said.source, said.at) == ("now this", "condition", "2026-11-30T05:00:00.000000Z")


def test_words_are_compared_once_and_may_grow_old() -> None:
    pod = build.pod()
    said = Agreement(said="waiting for resource driver", source="event", at="t1")
    before = build.verdict(pod, sentence="waiting for resource driver")
    first = agreement(said, before, before)
    assert first.agrees is True
    moved_on = build.verdict(pod, sentence=f"Successfully assigned {before.pod} to node-0")
    known = msgspec.structs.replace(before, agreement=first)
    assert agreement(said, moved_on, known) == first


def test_old_words_about_a_pod_just_met_cannot_be_told() -> None:
    said = Agreement(said="waiting for resource driver", source="event", at="t1")
    assert agreement(said, build.verdict(build.pod(), sentence=OURS), None).agrees is None


def test_a_message_with_absurd_numbers_is_text_like_any_other() -> None:
    said = f"0/{'9' * 5000} nodes are available: {'8' * 5000} node(s) were unschedulable."
    assert compare(said, [OURS])[0] is None


@pytest.mark.parametrize(
    ("message", "whole"),
    [
        ('running "DynamicResources" filter plugin: claim ml/c: selector #0: CEL runtime error: no such key: x', None),
        ('running "DynamicResources" filter plugin: claim ml/c: CEL compile error: ERROR: <input>:1:1:\n | a\n.', None),
        (
            "0/3 nodes are available: 3 request r: device class a, CEL compile error: b does not exist. "
            "preemption: 0/3 nodes are available: 3 Preemption is not helpful.",
            "request r: device class a, CEL compile error: b does not exist",
        ),
    ],
)  # fmt: skip
def test_the_words_of_the_cel_library_are_shown_and_not_compared(message: str, whole: str | None) -> None:
    ours = message.split("error:", maxsplit=1)[0] + "error: in the words of another version"
    agrees, clauses = compare(message, [ours])
    assert [c.text for c in clauses] == [whole or message]
    if whole is None:
        assert agrees is True
        assert clauses[0].ours == clauses[0].count == 0
    assert compare(message, ["something else"])[0] is not True
