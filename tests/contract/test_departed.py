"""What is gone is found by UID, by who saw it go and by who begins later; on both stores."""

from __future__ import annotations

import random

import pytest

from dradash.reader import departed
from dradash.reader.alertlabels import Found
from dradash.reader.departed import Departed
from dradash.reader.follower import Follower
from dradash.store.model import Model
from tests import build


def _follower(model: Model) -> Follower:
    follower = Follower(model, lambda _topics, _revision: None)
    assert follower.step()
    return follower


def test_whoever_asks_finds_what_went_and_when_and_not_what_is_there(model: Model) -> None:
    rng = random.Random(11)
    epoch = model.acquire("test", 3600.0)
    assert epoch is not None
    model.apply(epoch, [build.write(build.node("n"))], (), 999.0)
    follower = _follower(model)
    eyewitness = Departed(follower)
    assert eyewitness.find("not-yet", model) is None
    there: dict[str, build.Obj] = {}
    gone: dict[str, Found] = {}
    for number in range(150):
        name, at, uid = f"pod-{rng.randrange(8)}", 1000.0 + number, f"uid-{number}"
        old = there.get(name)
        new = build.pod(name, "ml", uid=uid)
        if old is None:
            there[name] = new
            model.apply(epoch, [build.write(new)], (), at)
            continue
        what = rng.choice(("change", "delete", "replace", "replace unseen"))
        if what == "change":
            there[name] = build.pod(name, "ml", uid=old["metadata"]["uid"], labels={"n": uid})
            model.apply(epoch, [build.write(there[name])], (), at)
            continue
        gone[old["metadata"]["uid"]] = Found("pods", f"ml/{name}", old["metadata"]["uid"], at)
        del there[name]
        writes = [] if what == "replace unseen" else [build.write(old, "DELETED")]
        if what != "delete":
            writes.append(build.write(new))
            there[name] = new
        model.apply(epoch, writes, (), at)
        follower.step()
    assert follower.step()
    latecomer = Departed(_follower(model))
    assert len(gone) > 50
    for who in (eyewitness, latecomer):
        assert {uid: who.find(uid, model) for uid in gone} == gone
        assert [who.find(obj["metadata"]["uid"], model) for obj in there.values()] == [None] * len(there)


def test_of_more_than_are_read_those_that_are_gone_come_before_the_last_changed(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(departed, "READ", 2)
    epoch = model.acquire("test", 3600.0)
    assert epoch is not None
    pods = [build.pod(f"pod-{i}", "ml", uid=f"uid-{i}") for i in range(6)]
    model.apply(epoch, [build.write(p) for p in pods], (), 1000.0)
    for at, pod in enumerate(pods[:3]):
        model.apply(epoch, [build.write(pod, "DELETED")], (), 1001.0 + at)
    changed = [build.pod(f"pod-{i}", "ml", uid=f"uid-{i}", labels={"new": "1"}) for i in (3, 4, 5)]
    model.apply(epoch, [build.write(p) for p in changed], (), 1010.0)
    later = Departed(_follower(model))
    assert [later.find(f"uid-{i}", model) is not None for i in range(6)] == [False, True, True, False, False, False]
