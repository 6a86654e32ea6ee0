"""The overview's pictures."""

from __future__ import annotations

from dradash.reader.series import NO_REASON, OTHER, Sample
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.web.presenters import pictures


def sample(at: float, **pending: int) -> Sample:
    return Sample(at, {"Pending": 2, "Reserved": 1}, {k.replace("_", " "): n for k, n in pending.items()}, {})


def test_every_state_of_a_claim_has_a_layer_of_its_own() -> None:
    view = pictures.present([sample(0.0), sample(15.0)])
    assert len({a.css for a in view.claims.areas}) == len(ClaimState)
    assert {a.label: a.latest for a in view.claims.areas if a.latest} == {"Pending": 2, "Reserved": 1}


def test_the_reasons_met_most_have_layers_and_the_others_share_one() -> None:
    many = {f"reason_{i}": 10 - i for i in range(8)}
    view = pictures.present([sample(0.0, **many), Sample(15.0, {}, {OTHER: 3, NO_REASON: 4, "reason 0": 1}, {})])
    labels = [a.label for a in view.pending.areas]
    assert labels == [f"reason {i}" for i in range(6)] + [OTHER, "not refused"]
    assert {a.label: a.latest for a in view.pending.areas if a.latest} == {OTHER: 3, "not refused": 4, "reason 0": 1}
    assert view.pending.rows[-1].values == (10, 9, 8, 7, 6, 5, 4 + 3, 0)


def test_nothing_seen_yet_is_no_picture() -> None:
    view = pictures.present([])
    assert not view.pending.drawn
    assert not view.claims.drawn
