"""A list that comes later in a recording replaces what came before it, and nothing of that comes back."""

from __future__ import annotations

from typing import Any

import pytest

from dradash.scheduling.replay import Replay, Said
from tests import build

Row = tuple[float, str, str, dict[str, Any]]

POD = build.pod("p", claims={"gpu": "k"})
ALLOCATED: build.Obj = {"allocation": build.allocation("node-0"), "driver": "gpu.example.com"}
IN_USE = build.claim("k", **ALLOCATED, reserved_for=[build.pod("other")], resourceVersion="100")
RETURNING = build.claim("k", **ALLOCATED, deallocation_requested=True, resourceVersion="103")
REALLOCATE = "0/1 nodes are available: resourceclaim must be reallocated."


def listed(*items: build.Obj, version: str = "") -> dict[str, Any]:
    meta = {"resourceVersion": version} if version else {}
    return {"apiVersion": items[0]["apiVersion"] if items else build.DRA, "metadata": meta, "items": list(items)}


def said(message: str, version: str = "") -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "default", "name": "p", "uid": POD["metadata"]["uid"]}
    meta = build.meta("said", "default", resourceVersion=version)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta,
        "involvedObject": about,
        "reason": "FailedScheduling",
        "message": message,
        "lastTimestamp": build.CREATED,
    }


BEGIN: list[Row] = [
    (0.0, "nodes", "LIST", listed(build.node("node-0"), version="50")),
    (0.0, "pods", "LIST", listed(POD, version="51")),
    (0.0, "resourceclasses", "LIST", listed(build.resource_class("gpu"), version="52")),
    (0.0, "resourceclaims", "LIST", listed(build.claim("k"), version="53")),
    (0.0, "events", "LIST", listed(version="54")),
]


def replayed(*rows: Row) -> tuple[Replay, list[Said]]:
    run = Replay()
    told = [one for row in (*BEGIN, *rows) for one in run.take(*row)]
    return run, told + list(run.end())


@pytest.mark.parametrize("version", ["105", ""])
@pytest.mark.parametrize("heard", [0.4, 1.0, 1.1])
def test_the_state_of_a_later_list_stands(heard: float, version: str) -> None:
    _, told = replayed(
        (heard, "resourceclaims", "MODIFIED", IN_USE),
        (1.1, "resourceclaims", "LIST", listed(RETURNING, version=version)),
        (4.0, "events", "ADDED", said(REALLOCATE, "110")),
    )
    assert [(s.message, s.agrees) for s in told] == [(REALLOCATE, True)]


@pytest.mark.parametrize("version", ["105", ""])
@pytest.mark.parametrize("heard", [0.4, 1.0, 1.1])
def test_what_a_later_list_does_not_have_is_gone(heard: float, version: str) -> None:
    run, _ = replayed(
        (heard, "resourceclaims", "ADDED", build.claim("new", resourceVersion="100")),
        (1.1, "resourceclaims", "LIST", listed(version=version)),
    )
    assert not run.cluster.claims


@pytest.mark.parametrize("version", ["105", ""])
def test_what_the_watch_brings_after_a_list_comes_after_it(version: str) -> None:
    run, _ = replayed(
        (1.0, "resourceclaims", "LIST", listed(version=version)),
        (1.1, "resourceclaims", "ADDED", build.claim("new", resourceVersion="106")),
        (1.2, "resourceclaims", "MODIFIED", build.claim("new", resourceVersion="107", mode="Immediate")),
    )
    assert [c.spec.allocation_mode for c in run.cluster.claims.values()] == ["Immediate"]


def test_a_list_of_a_cluster_that_was_restored_to_an_older_version_replaces_too() -> None:
    run, _ = replayed(
        (1.0, "resourceclaims", "MODIFIED", IN_USE),
        (1.1, "resourceclaims", "LIST", listed(RETURNING, version="60")),
        (1.2, "resourceclaims", "ADDED", build.claim("new", resourceVersion="61")),
    )
    assert sorted(run.cluster.claims) == ["default/k", "default/new"]
    assert run.cluster.claims["default/k"].status.deallocation_requested


def test_other_kinds_still_come_by_their_versions_around_a_list() -> None:
    """The event was heard first; what the scheduler had seen before it came in a list of a slower watch."""
    _, told = replayed(
        (3.0, "events", "ADDED", said(REALLOCATE, "110")),
        (3.3, "resourceclaims", "LIST", listed(RETURNING, version="105")),
    )
    assert [(s.at, s.agrees) for s in told] == [(3.3, True)]


def test_a_row_that_is_too_late_does_not_overtake_by_its_version() -> None:
    in_use = "0/1 nodes are available: resourceclaim in use."
    _, told = replayed(
        (1.0, "resourceclaims", "MODIFIED", IN_USE),
        (3.0, "events", "ADDED", said(in_use, "110")),
        (3.6, "pods", "DELETED", POD | {"metadata": POD["metadata"] | {"resourceVersion": "60"}}),
    )
    assert [s.agrees for s in told] == [True]
