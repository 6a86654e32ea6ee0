"""Moments that were rebuilt are kept, but not believed before they are over for good."""

from __future__ import annotations

import pytest

from dradash.reader.current import PASTS, SETTLED_AFTER, UNSETTLED_FOR, Pasts
from dradash.store.past import BeforeHistory
from tests import build
from tests.scene import Scene


@pytest.fixture
def scene() -> Scene:
    made = Scene(build.node("n"))
    made.look()
    return made


def test_a_moment_that_is_over_is_rebuilt_once(scene: Scene) -> None:
    now = [scene.now + SETTLED_AFTER + 1.0]
    pasts = Pasts(scene.web.follower, scene.model, lambda: now[0])
    first = pasts.get(scene.now)
    now[0] += 3600.0
    assert pasts.get(scene.now) is first


def test_a_moment_that_has_just_been_is_looked_at_again_until_it_is_settled(scene: Scene) -> None:
    now = [scene.now + 0.5]
    at = scene.now
    pasts = Pasts(scene.web.follower, scene.model, lambda: now[0])
    first = pasts.get(at)
    assert pasts.get(at) is first  # one page asks several times
    now[0] += UNSETTLED_FOR + 0.1
    second = pasts.get(at)
    assert second is not first
    now[0] += SETTLED_AFTER
    settled = pasts.get(at)
    now[0] += SETTLED_AFTER
    assert pasts.get(at) is settled is not second


def test_only_a_few_moments_are_kept_those_looked_at_last(scene: Scene) -> None:
    now = scene.now + 1000.0
    pasts = Pasts(scene.web.follower, scene.model, lambda: now)
    first, second = pasts.get(scene.now), pasts.get(scene.now + 1.0)
    for n in range(2, PASTS):
        pasts.get(scene.now + n)
    assert pasts.get(scene.now) is first
    pasts.get(scene.now + PASTS)
    assert pasts.get(scene.now) is first
    assert pasts.get(scene.now + 1.0) is not second


def test_a_model_that_was_lost_has_another_past(scene: Scene) -> None:
    now = scene.now + 1000.0
    pasts = Pasts(scene.web.follower, scene.model, lambda: now)
    pasts.get(scene.now)
    scene.model.wipe()
    scene.epoch = build.fill(scene.model, build.node("m"), at=scene.now + 500.0)
    scene.look()
    with pytest.raises(BeforeHistory):
        pasts.get(scene.now)
