"""A recording played into the simulated API server."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from dradash.informer.recording import BadRecording, read
from dradash.kinds.event import Event
from dradash.kinds.registry import decode
from dradash.sim import replay
from dradash.sim.actors import Clock
from dradash.sim.apiserver import APIServer
from dradash.sim.replay import Recorded
from dradash.sim.resources import served
from dradash.sim.simulation import recorded, running
from tests import build, simworld
from tests.patience import PATIENCE

RECORDING = Path(__file__).parents[1] / "parity" / "data" / "classic-1.30.jsonl"
Obj = dict[str, Any]


def write(path: Path, *rows: tuple[float, str, str, Obj]) -> Path:
    lines = [json.dumps({"t": t, "kind": kind, "type": type_, "object": obj}) for t, kind, type_, obj in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def play(path: Path, server: APIServer, speed: float = 1e6) -> None:
    """To its end."""
    actor = Recorded(server, Clock(speed), path)
    with running([actor]):
        assert actor.over.wait(PATIENCE)


def at_the_end(path: Path) -> dict[str, dict[tuple[str, str], Obj]]:
    """kind -> namespace, name -> object, by reading the file."""
    state: dict[str, dict[tuple[str, str], Obj]] = {}
    for row in read(path):
        objects = state.setdefault(row.kind, {})
        if row.type == "LIST":
            objects.clear()
            objects.update({place(item): item for item in row.object["items"]})
        elif row.type == "DELETED":
            objects.pop(place(row.object))
        elif row.type != "BOOKMARK":
            objects[place(row.object)] = row.object
    return state


def place(obj: Obj) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def comparable(obj: Obj) -> Any:
    """Less what is the server's own: resourceVersion, managedFields, type, and nulls."""
    own = ("resourceVersion", "managedFields")
    metadata = {k: v for k, v in obj["metadata"].items() if k not in own}
    return without_nulls({**obj, "metadata": metadata, "kind": "", "apiVersion": ""})


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def test_the_recorded_cluster_ends_as_the_file_does() -> None:
    server = APIServer(seed=1)
    play(RECORDING, server)
    expected = at_the_end(RECORDING)
    assert set(expected) <= set(server.resources)
    for kind, objects in expected.items():
        found = {place(o): comparable(o) for o in server.list(kind)}
        assert found == {where: comparable(o) for where, o in objects.items()}, kind
    assert len(expected["events"]) > 20


def test_events_of_the_newer_group_are_served_as_core_events() -> None:
    path = RECORDING.with_name("structured-1.36.jsonl")
    server = APIServer(served(versions=replay.versions(path)), seed=1)
    play(path, server)
    recorded_events = at_the_end(path)["events"]
    found = {place(e): e for e in server.list("events")}
    assert set(found) == set(recorded_events)
    assert len(found) > 20
    for where, event in found.items():
        was = decode(Event, recorded_events[where])
        now = decode(Event, event)
        told = (now.involved_object.uid, now.message, now.reporting_component, now.event_time, now.times)
        assert told == (was.regarding.uid, was.note, was.reporting_controller, was.event_time, was.times)
        assert event["apiVersion"] == "v1"
        assert not {"regarding", "note", "reportingController"} & set(event)
    assert {e["reason"] for e in found.values()} >= {"FailedScheduling", "Scheduled"}


def test_events_that_a_list_brings_are_core_events_too(tmp_path: Path) -> None:
    event = {
        "metadata": {"name": "e", "namespace": "team-a"},
        "regarding": {"kind": "Pod", "name": "p"},
        "note": "said",
    }
    listed = {"kind": "EventList", "apiVersion": "events.k8s.io/v1", "items": [event]}
    server = APIServer(seed=1)
    play(write(tmp_path / "r.jsonl", (0.0, "events", "LIST", listed)), server)
    (found,) = server.list("events")
    assert (found["involvedObject"]["name"], found["message"], found["apiVersion"]) == ("p", "said", "v1")


def test_rows_come_at_their_time_divided_by_the_speed(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        (0.0, "nodes", "LIST", {"items": [build.node("at-once")]}),
        (20.0, "nodes", "ADDED", build.node("later")),
    )
    with simworld.seen(APIServer(seed=1)) as world, recorded(world.server, path, speed=40.0):
        world.until(lambda: len(world.server.list("nodes")) == 2)
        times = {o["metadata"]["name"]: t for t, kind, _, o in world.eyes.rows if kind == "nodes"}
    assert 0.3 < times["later"] - times["at-once"] < 5.0


def test_a_recording_waits_until_everything_is_watched_and_its_first_lists_are_there_before(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        (0.0, "nodes", "LIST", {"items": [build.node("was-there")]}),
        (0.0, "nodes", "ADDED", build.node("came")),
    )
    server = APIServer(seed=1)
    actor = Recorded(server, Clock(1e6), path, patience=PATIENCE)
    with running([actor]):
        *early, last = server.resources
        nodes = server.watch("nodes")
        while not (found := nodes.drain()[0]):
            assert nodes.wait(PATIENCE)
        assert [e.stored.object["metadata"]["name"] for e in found] == ["was-there"]
        for plural in early:
            server.watch(plural)
        assert not actor.over.is_set()
        assert len(server.list("nodes")) == 1
        server.watch(last)
        assert actor.over.wait(PATIENCE)
    assert len(server.list("nodes")) == 2


def test_a_recording_that_nobody_watches_is_played_after_a_while_and_a_line_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "r.jsonl", (0.0, "nodes", "ADDED", build.node("n")))
    server = APIServer(seed=1)
    server.watch("nodes")
    actor = Recorded(server, Clock(8.0), path, patience=0.1)
    with caplog.at_level(logging.WARNING), running([actor]):
        assert actor.over.wait(PATIENCE)
    (line,) = [r.getMessage() for r in caplog.records]
    assert line.startswith("nobody watches pods, ")
    assert "nodes" not in line
    assert line.endswith(" after 0 s: the recording is played all the same")


def test_a_later_list_replaces(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        (0.0, "nodes", "LIST", {"items": [build.node("gone"), build.node("stays")]}),
        (1.0, "nodes", "LIST", {"items": [build.node("stays"), build.node("new")]}),
    )
    server = APIServer(seed=1)
    play(path, server)
    assert [n["metadata"]["name"] for n in server.list("nodes")] == ["new", "stays"]


def test_uids_and_times_are_the_recordings(tmp_path: Path) -> None:
    made = build.pod("p", "team-x", uid="the-uid", created="2020-02-02T02:02:02Z")
    server = APIServer(seed=1, first_revision=5000)
    play(write(tmp_path / "r.jsonl", (0.0, "pods", "ADDED", made)), server)
    metadata = server.get("pods", "p", "team-x")["metadata"]
    assert (metadata["uid"], metadata["creationTimestamp"]) == ("the-uid", "2020-02-02T02:02:02Z")
    assert int(metadata["resourceVersion"]) > 5000, "clients must be able to resume from it"


def test_kinds_that_are_not_served_are_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    slices = {"apiVersion": "resource.k8s.io/v1", "items": []}
    newer = {**build.claim("c"), "apiVersion": "resource.k8s.io/v1"}
    path = write(
        tmp_path / "r.jsonl",
        (0.0, "resourceslices", "LIST", slices),
        (0.1, "resourceslices", "ADDED", {"metadata": {"name": "s"}}),
        (0.2, "resourceslices", "ADDED", {"metadata": {"name": "t"}}),
        (0.3, "resourceclaims", "ADDED", newer),
        (0.4, "nodes", "ADDED", build.node("n")),
    )
    server = APIServer(seed=1)
    with caplog.at_level(logging.WARNING):
        play(path, server)
    left_out = [r.getMessage() for r in caplog.records if "are left out" in r.getMessage()]
    assert [text.split(" are ")[0] for text in left_out] == [
        "the recording's resourceslices (resource.k8s.io/v1)",
        "the recording's resourceslices",
        "the recording's resourceclaims (resource.k8s.io/v1)",
    ]
    assert server.list("resourceclaims") == []
    assert len(server.list("nodes")) == 1


def test_a_row_without_a_name_is_left_out_and_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(
        tmp_path / "r.jsonl",
        (0.0, "nodes", "ADDED", {"metadata": {}}),
        (0.0, "nodes", "ADDED", {"metadata": {"name": ["x"]}}),
        (0.1, "nodes", "ADDED", build.node("n")),
    )
    server = APIServer(seed=1)
    with caplog.at_level(logging.WARNING):
        play(path, server)
    assert [n["metadata"]["name"] for n in server.list("nodes")] == ["n"]
    assert sum("one of the nodes has no name" in r.getMessage() for r in caplog.records) == 2


def test_a_broken_file_is_refused_with_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", (0.0, "nodes", "ADDED", build.node("n")))
    assert replay.check(path) == 0.0
    with path.open("a") as file:
        file.write('{"t": 1, "kind": \n')
    with pytest.raises(BadRecording, match=r"r\.jsonl:2: "):
        replay.check(path)


def test_a_file_that_breaks_off_is_played_up_to_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "r.jsonl", (0.0, "nodes", "ADDED", build.node("n")))
    with path.open("a") as file:
        file.write('{"t": 1, "kind": ')
    server = APIServer(seed=1)
    with caplog.at_level(logging.WARNING):
        assert replay.check(path) == 0.0
        play(path, server)
    assert [n["metadata"]["name"] for n in server.list("nodes")] == ["n"]
    assert [r.getMessage() for r in caplog.records] == [
        f"{path}: the recording breaks off in line 2; what came before is used"
    ]


def test_a_file_that_breaks_while_it_is_played_leaves_what_came_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "r.jsonl", (0.0, "nodes", "ADDED", build.node("n")))
    with path.open("a") as file:
        file.write("not JSON\n")
    server = APIServer(seed=1)
    with caplog.at_level(logging.WARNING):
        play(path, server)
    assert len(server.list("nodes")) == 1
    assert any("r.jsonl:2: " in r.getMessage() for r in caplog.records)


def test_the_kinds_that_the_recorded_cluster_served_are_served_again_and_no_others() -> None:
    core = {"pods", "nodes", "namespaces", "events"}
    both = {"resourceclaims", "resourceclaimtemplates"}
    structured = served(versions=replay.versions(RECORDING.with_name("structured-1.36.jsonl")))
    assert {r.plural for r in structured} == core | both | {"deviceclasses", "resourceslices"}
    assert {r.versions for r in structured if r.group} == {("v1",)}
    classic = served(versions=replay.versions(RECORDING))
    assert {r.plural for r in classic} == core | both | {"resourceclasses", "podschedulingcontexts"}
