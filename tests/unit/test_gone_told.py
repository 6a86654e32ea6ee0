"""What is being deleted, and what is gone: since when, in words that are right for every time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.scheduling.rfc3339 import deletion_asked
from dradash.store.model import Write
from dradash.web.templatetags.dradash import ago
from tests import build
from tests.scene import Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*build.nodes(1), build.resource_class())
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def text_of(path: str) -> str:
    page = Client().get(path).content.decode()
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2026-11-30T03:59:18Z", "42s ago"),
        ("2026-11-30T04:00:00Z", "0s ago"),
        ("2026-11-30T04:00:12Z", "in 12s"),
        ("2026-11-30T05:01:00Z", "in 1h 1m"),
    ],
)
def test_a_time_to_come_is_told_as_that(value: str, said: str) -> None:
    assert f">{said}</time>" in ago({"moment": build.NOW}, value)


@pytest.mark.parametrize(
    ("value", "said"), [("2026-11-31T00:00:00Z", "at 2026-11-31T00:00:00Z"), ("", "at an unknown time")]
)
def test_nothing_is_ago_that_is_no_time(value: str, said: str) -> None:
    assert ago({"moment": build.NOW}, value) == said


def test_deletion_was_asked_for_before_its_grace_period_began() -> None:
    times: build.Obj = {"deletionTimestamp": "2026-11-30T04:00:30Z"}
    pod = build.struct(build.pod("p", deletionGracePeriodSeconds=30, **times))
    assert deletion_asked(pod.metadata) == build.NOW
    assert deletion_asked(build.struct(build.claim("c", **times)).metadata) == build.NOW + 30
    assert deletion_asked(build.struct(build.claim("c")).metadata) == 0.0
    assert deletion_asked(build.struct(build.claim("c", deletionTimestamp="soon")).metadata) == 0.0


def test_the_page_of_a_pod_that_ends_tells_when_that_was_asked_for(scene: Scene) -> None:
    ends: build.Obj = {"deletionTimestamp": "2026-11-30T04:00:20Z", "deletionGracePeriodSeconds": 30}
    scene.put(build.pod("p", claims={"gpu": "claim"}, **ends))
    scene.look()
    text = text_of("/ns/default/pods/p?at=2026-11-30T04:00:02Z")
    assert "Deletion was asked for 12s ago , with 30 seconds of grace." in text


def test_an_impossible_time_of_creation_is_not_ago(scene: Scene) -> None:
    scene.put(build.claim("odd", created="2026-11-31T00:00:00Z"))
    scene.look()
    assert "created at 2026-11-31T00:00:00Z" in text_of("/ns/default/claims/odd")
    assert "2026-11-31T00:00:00Z ago" not in text_of("/ns/default/claims/odd")


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("pods", "/ns/default/pods/odd"),
        ("resourceclaims", "/ns/default/claims/odd"),
        ("podschedulingcontexts", "/ns/default/negotiations/odd"),
    ],
)
def test_what_was_malformed_and_is_deleted_was_seen(scene: Scene, kind: str, path: str) -> None:
    raw = b'{"metadata":{"name":"odd","namespace":"default","labels":7}}'
    for change in ("ADDED", "DELETED"):
        scene.model.apply(scene.epoch, [Write(kind, "default/odd", change, raw)], [], scene.now)
    scene.look()
    text = text_of(path)
    assert "has not seen one" not in text
    assert "It was deleted" in text
    assert "labels" in text
