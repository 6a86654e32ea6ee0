"""Whatever changes, and wherever a watch breaks off: who applies its events has the rows that the list gives."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dradash.api import following, watching
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, names_of
from dradash.api.endpoints import ENDPOINTS
from dradash.api.schemas import Shape
from dradash.reader import current, lately
from tests import build
from tests import builddevices as make
from tests.scene import Scene
from tests.unit.test_dependencies import random_object

WATCHED: Final = {e.name: e for e in ENDPOINTS if e.watchable and e.name != "changes"}
# What is broken in a negotiation may be so by its age alone: docs/api.md.
AGELESS: Final = tuple(n for n in names_of(WATCHED["negotiations"].shape or Shape) if n != "broken")
ASKED: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("pods", {}),
    ("pods", {"outcome": "any", "namespace": "default"}),
    ("pods", {"outcome": "Unschedulable"}),
    ("pods", {"class": "class-1"}),
    ("pods", {"waiting": 4.0}),
    ("claims", {}),
    ("claims", {"driver": "gpu.example.com", "state": "Pending"}),
    ("claims", {"class": "class-1", "fields": ("name", "pods", "place")}),
    ("negotiations", {"fields": AGELESS}),
    ("negotiations", {"fields": AGELESS, "driver": "other.example.com"}),
    ("negotiations", {"fields": AGELESS, "waiting": 3.0}),
    ("nodes", {}),
    ("nodes", {"class": "class-1"}),
    ("nodes", {"label": "zone=a", "state": "schedulable"}),
    ("classes", {}),
    ("classes", {"driver": "gpu.example.com"}),
    ("deviceclasses", {}),
    ("deviceclasses", {"q": "h100"}),
    ("slices", {}),
    ("slices", {"node": "node-1"}),
)


def test_each_list_that_can_be_watched_is_asked_about_here() -> None:
    assert {name for name, _ in ASKED} == set(WATCHED)


class Reader:
    """What somebody has who lists, watches from the list's revision, loses the stream and comes back."""

    def __init__(self, scene: Scene, endpoint: Endpoint, params: Mapping[str, Any], *, careful: bool) -> None:
        self.scene, self.endpoint, self.params, self.careful = scene, endpoint, dict(params), careful
        listed = self.list()
        self.rows: dict[str, bytes] = dict(listed)
        self.ever = set(listed)
        self.revision = scene.model.revision()
        self.watch: watching.Watch | None = None

    def ask(self) -> Ask:
        return Ask(self.scene.web, self.params, {}, self.scene.now)

    def list(self) -> dict[str, bytes]:
        listing, ask = self.endpoint.listing, self.ask()
        assert listing is not None
        with ask.world() as world:
            keys = [listing.identity(item) for item in listing.items(ask, world, None)]
            sort = next(iter(listing.sortings))
        params = {**self.params, "limit": 1000, "sort": sort}
        page = self.endpoint.answer(Ask(self.scene.web, params, {}, self.scene.now)).items
        assert len(page) == len(keys)
        with ask.world() as world:
            items = sorted(listing.items(ask, world, None), key=listing.identity)
            items.sort(key=listing.sortings[sort])
        named = zip((listing.identity(item) for item in items), page, strict=True)
        return {key: msgspec.json.encode(row) for key, row in named}

    def connect(self) -> None:
        self.watch = watching.begin(self.endpoint, self.ask(), self.revision)
        self.watch.end()  # no stream is made of it that would give its place back

    def read(self, most: int | None = None) -> None:
        """Apply what is new; with `most` the stream breaks after so many events."""
        assert self.watch is not None
        instance, revision, _, _ = self.scene.web.follower.version()
        events = watching._news(self.watch, instance, revision) if self.watch.has_news(revision, instance) else []
        for event in events[:most]:
            assert event.type in ("ADDED", "MODIFIED", "DELETED"), event.problem
            self.check(event)
            if event.type == "DELETED":
                self.rows.pop(event.key, None)
            else:
                self.rows[event.key] = bytes(event.object)
            assert event.revision >= self.revision
            self.revision = event.revision
        if most is None:
            self.revision = self.watch.after
        else:
            self.watch = None

    def check(self, event: watching.WatchEvent) -> None:
        """Who was never cut off between two events of one change is told rightly what is new for it."""
        if self.careful and event.type != "DELETED" and "waiting" not in self.params:
            assert event.type == ("MODIFIED" if event.key in self.rows else "ADDED")


class Story:
    """A cluster of both generations that changes at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.scene = Scene(*build.nodes(2))
        self.scene.look()
        self.there: dict[tuple[str, str], build.Obj] = {}

    def step(self) -> None:
        if self.rng.random() < 0.15:
            self.scene.now += 3.0
        if self.there and self.rng.random() < 0.25:
            gone = self.rng.choice(sorted(self.there))
            self.scene.delete(self.there.pop(gone))
        else:
            objects = [self.random() for _ in range(self.rng.choice((1, 1, 2, 4)))]
            self.there |= {(build.plural(o), build.key(o)): o for o in objects}
            self.scene.put(*objects)
        self.scene.look()

    def random(self) -> build.Obj:
        rng, number = self.rng, self.rng.randrange(3)
        kinds = ("pods", "nodes", "resourceclasses", "resourceclaims", "resourceclaimtemplates", "contexts")
        kind = rng.choice((*kinds, "resourceslices", "deviceclasses", "deviceclaims"))
        match kind:
            case "resourceclasses":
                suitable = build.with_labels(zone=rng.choice("ab")) if rng.random() < 0.6 else None
                driver = rng.choice(("gpu.example.com", "other.example.com"))
                made = build.resource_class(f"class-{number}", driver=driver, suitable=suitable)
            case "resourceslices":
                devices = [make.device(f"gpu-{i}", rng.choice(("a100", "h100"))) for i in range(rng.randrange(3))]
                pool, generation = f"node-{rng.randrange(2)}", rng.randrange(1, 3)
                made = make.resource_slice(*devices, node=pool, generation=generation, name=f"slice-{number}")
            case "deviceclasses":
                chosen = f'device.attributes["gpu.example.com"].model == "{rng.choice(("a100", "h100"))}"'
                made = make.device_class(f"class-{number}", *([chosen] if rng.random() < 0.7 else []))
            case "deviceclaims":
                devices = [make.result("gpu-0", pool="node-0")] if rng.random() < 0.4 else []
                on = build.with_labels(zone="a") if devices and rng.random() < 0.5 else None
                of = make.request(device_class=f"class-{rng.randrange(3)}")
                made = make.claim(f"claim-{number}", "default", of, devices=devices, on=on)
            case _:
                made = random_object(rng, kind, number)
        if kind not in ("pods", "nodes") and rng.random() < 0.07:
            made["metadata"]["labels"] = 7
        return made


def run(seed: int, length: int, *, careful: bool) -> None:
    story = Story(seed)
    scene, rng = story.scene, story.rng
    with (
        patch.object(following, "time", SimpleNamespace(time=lambda: scene.now)),
        patch.object(watching, "time", SimpleNamespace(time=lambda: scene.now, monotonic=time.monotonic)),
    ):
        for _ in range(rng.randrange(6)):
            story.step()
        readers = [Reader(scene, WATCHED[name], params, careful=careful) for name, params in ASKED]
        for _ in range(length):
            story.step()
            for reader in readers:
                move(reader, rng, careful=careful)
        for reader in readers:
            if reader.watch is None:
                reader.connect()
            reader.read()
            assert reader.rows == reader.list(), (reader.endpoint.name, reader.params)
        as_loaded_anew(scene)


def as_loaded_anew(scene: Scene) -> None:
    """What is counted change by change is what is counted at once."""
    afresh = current.build(scene.model)
    afresh.follower.step()
    for name, endpoint in WATCHED.items():
        # Refusals and waits are what a process has seen itself; a verdict that says the same again is told to nobody.
        learnt = ("refusals", "silentSince", "moves", "also", "broken", "revision", "judgedAt")
        fields = tuple(n for n in names_of(endpoint.shape or Shape) if n not in learnt)
        here, there = (endpoint.answer(Ask(w, {"fields": fields}, {}, scene.now)) for w in (scene.web, afresh))
        assert msgspec.to_builtins(here.items) == msgspec.to_builtins(there.items), name


def move(reader: Reader, rng: random.Random, *, careful: bool) -> None:
    chance = rng.random()
    if reader.watch is None:
        if chance < 0.5:
            reader.connect()
    elif chance < 0.2:
        reader.read(most=None if careful else rng.randrange(3))
        reader.watch = None
    elif chance < 0.8:
        reader.read()
        assert reader.rows == reader.list(), (reader.endpoint.name, reader.params)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 25))
def test_who_applies_the_events_of_a_watch_has_the_list(seed: int, length: int) -> None:
    run(seed, length, careful=True)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 25))
@example(seed=233, length=22)  # a driver's refusal that is told when its claim comes
def test_also_when_the_stream_breaks_between_two_events_of_one_change(seed: int, length: int) -> None:
    run(seed, length, careful=False)


def test_also_when_more_changes_at_once_than_are_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lately, "KEPT", 2)
    for seed in range(5):
        run(seed, 12, careful=True)
