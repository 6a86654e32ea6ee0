"""The real scheduler's own words agree with our verdicts at that moment."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from dradash.scheduling.replay import Replay, Said, key_of

RECORDING = Path(__file__).parent / "data" / "classic-1.30.jsonl"


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDING.read_text().splitlines()]


def replay(recorded: list[dict[str, Any]]) -> list[Said]:
    run = Replay()
    told = [said for row in recorded for said in run.take(row["t"], row["kind"], row["type"], row["object"])]
    return told + list(run.end())


def test_nothing_differs_on_the_recording_of_a_real_control_plane() -> None:
    out = io.StringIO()
    call_command("agreement", str(RECORDING), stdout=out)
    assert out.getvalue().endswith("28 agree, 0 differ, 0 not modelled\n")


def test_each_message_is_told_once_with_its_pod() -> None:
    told = replay(rows())
    assert len(told) == 28
    assert {s.pod for s in told} >= {"team-a/train-0", "team-b/silent"}


def test_a_repeated_event_is_compared_by_the_pods_condition() -> None:
    by_condition = [s for s in replay(rows()) if s.source == "condition"]
    assert [(s.pod, s.message.split(".")[0]) for s in by_condition] == [
        ("team-b/first", "0/6 nodes are available: resourceclaim in use")
    ]


def test_a_scheduler_that_says_something_else_differs(tmp_path: Path) -> None:
    recorded = rows()
    for row in recorded:
        if row["kind"] == "events" and "2 excluded by" in row["object"].get("message", ""):
            row["object"]["message"] = row["object"]["message"].replace("2 excluded by", "3 excluded by")
            row["object"].pop("series", None)
    changed = tmp_path / "changed.jsonl"
    changed.write_text("\n".join(json.dumps(row) for row in recorded))
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("agreement", str(changed), stdout=out)
    assert ended.value.code == 1
    assert "3 excluded by resource class node filter (ours: 2)" in out.getvalue()


def test_clauses_of_other_checks_are_named_as_not_modelled() -> None:
    recorded = rows()
    for row in recorded:
        if row["kind"] == "events" and row["object"].get("message", "").startswith("0/6 nodes are available: 2 excl"):
            row["object"]["message"] = (
                "0/6 nodes are available: 6 Insufficient cpu. preemption: 0/6 nodes are available."
            )
            row["object"].pop("series", None)
    assert None in [s.agrees for s in replay(recorded)]


def test_what_was_said_before_the_recording_began_belongs_to_no_moment() -> None:
    recorded = rows()
    spoken = next(r["object"] for r in recorded if r["kind"] == "events" and r["type"] == "ADDED")
    for row in recorded:
        if row["kind"] == "events" and row["type"] == "LIST":
            row["object"]["items"] = [spoken | {"metadata": spoken["metadata"] | {"name": "before"}}]
    assert len(replay(recorded)) == 28


def waiting(tmp_path: Path, message: str = "") -> Path:
    """The recording's state when the scheduler had spoken of team-b/silent, as a recording in which nothing happens."""
    there: dict[str, dict[str, Any]] = {}
    for row in rows():
        kind = there.setdefault(row["kind"], {})
        if row["type"] == "LIST":
            kind.clear()
            kind.update({key_of(item): item for item in row["object"].get("items") or ()})
        elif row["type"] in ("ADDED", "MODIFIED"):
            kind[key_of(row["object"])] = row["object"]
        elif row["type"] == "DELETED":
            kind.pop(key_of(row["object"]), None)
        said = there.get("pods", {}).get("team-b/silent", {}).get("status", {}).get("conditions") or ()
        if row["kind"] == "pods" and any("0/1 nodes" in c.get("message", "") for c in said):
            break
    for pod in there["pods"].values():
        for condition in pod["status"].get("conditions") or ():
            condition["message"] = message or condition.get("message", "")
    versions = {"nodes": "v1", "pods": "v1", "namespaces": "v1", "events": "v1"}
    path = tmp_path / "waiting.jsonl"
    lists = (
        {"apiVersion": versions.get(kind, "resource.k8s.io/v1alpha2"), "items": list(objects.values())}
        for kind, objects in there.items()
    )
    lines = [{"t": 0, "kind": k, "type": "LIST", "object": o} for k, o in zip(there, lists, strict=True)]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def told(path: Path) -> list[str]:
    out = io.StringIO()
    call_command("agreement", str(path), stdout=out)
    return out.getvalue().splitlines()


def test_pods_that_only_wait_are_told_with_what_was_said_before_and_what_to_do(tmp_path: Path) -> None:
    first, *others, last = told(waiting(tmp_path))
    assert first == (
        "   before  agree        team-b/silent: "
        "0/1 nodes are available: 1 waiting for resource driver to provide information."
    )
    assert last == "0 agree, 0 differ, 0 not modelled"
    text = " ".join(others)
    assert "the scheduler said nothing of these pods while the recording was made" in text
    assert "Record for six minutes or more" in text


def test_other_words_from_before_the_recording_are_no_difference(tmp_path: Path) -> None:
    old = "0/9 nodes are available: 9 excluded by resource class node filter."
    lines = told(waiting(tmp_path, old))
    assert lines[0] == f"   before  not compared team-b/silent: {old}"
    assert any("the cluster may have changed in between" in line for line in lines)
    assert lines[-1] == "0 agree, 0 differ, 0 not modelled"


def test_an_event_that_overtook_what_the_scheduler_saw_is_compared_with_it_all_the_same() -> None:
    recorded = rows()
    said = next(i for i, r in enumerate(recorded) if r["kind"] == "events" and "train-1" in str(r["object"]))
    early = recorded.pop(said)
    earlier = next(i for i, r in enumerate(recorded) if r["kind"] == "pods" and "train-1" in str(r["object"]))
    # The event's watch was faster: it comes right after the pod, before its context and claim.
    early["t"] = recorded[earlier]["t"]
    recorded.insert(earlier + 1, early)
    assert [s.agrees for s in replay(recorded)].count(True) == 28


def test_the_scheduler_of_1_36_says_what_we_say() -> None:
    out = io.StringIO()
    call_command("agreement", str(RECORDING.with_name("structured-1.36.jsonl")), stdout=out)
    assert out.getvalue().endswith("25 agree, 0 differ, 0 not modelled\n")


def test_a_recording_of_versions_that_are_not_judged_is_said_to_be_that(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    text = RECORDING.with_name("structured-1.36.jsonl").read_text()
    other.write_text(text.replace('resource.k8s.io/v1"', 'resource.k8s.io/v1alpha3"'))
    out = io.StringIO()
    call_command("agreement", str(other), stdout=out)
    judged = "v1, v1beta2, v1beta1, v1alpha2"
    assert f"resource.k8s.io/v1alpha3 is in this recording; verdicts are made for {judged}\n" in out.getvalue()
    assert out.getvalue().endswith("0 agree, 0 differ, 25 not modelled\n")


def test_a_file_without_a_row_is_no_recording(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(CommandError, match="is no recording: it looks like an empty file"):
        call_command("agreement", str(empty))


def test_a_file_of_vectors_is_named_as_that(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"classic\.jsonl\.gz is no recording: it looks like vectors \(") as refused:
        call_command("agreement", str(RECORDING.with_name("classic.jsonl.gz")))
    assert refused.value.returncode == 2


def test_a_recording_that_breaks_off_is_compared_up_to_there_with_one_warning(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(RECORDING.read_bytes()[:-40])
    rows = RECORDING.read_bytes().count(b"\n")
    out, err = io.StringIO(), io.StringIO()
    call_command("agreement", str(cut), stdout=out, stderr=err, no_color=True)
    assert " 0 differ," in out.getvalue().splitlines()[-1]
    assert err.getvalue() == f"{cut}: the recording breaks off in line {rows}; what came before is used\n"
