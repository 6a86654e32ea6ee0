"""About: what it says, and what it must never say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from django.test import Client

from dradash.conf import from_environ
from dradash.reader import current
from dradash.scheduling.doctor.thresholds import MEANINGS, Thresholds
from dradash.store.model import StoreUnavailable
from dradash.version import version
from dradash.web.presenters import about
from tests import build
from tests.scene import Scene
from tests.unit import html


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(build.node("node-0"), build.pod("p", claims={"gpu": "c"}))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def page() -> str:
    response = Client().get("/about")
    assert response.status_code == 200
    text = response.content.decode()
    assert html.read(text).faults == []
    return text


def test_it_says_which_version_it_is(scene: Scene) -> None:
    assert f"<dt>Version</dt><dd>{version()}</dd>" in page()


def test_it_says_how_far_dradash_sees_and_who_watches(scene: Scene) -> None:
    scene.sync("resourceclaims", "forbidden", error="no role")
    scene.look()
    text = page()
    for words in ("Forbidden", "no role", "test", "preemption", "History from", "epoch", "Memory in the store"):
        assert words in text
    for name in MEANINGS:
        assert f"DRADASH_DOCTOR_{name.upper()}" in text


def test_no_secret_is_shown(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = from_environ(
        {
            "REDIS_URL": "redis://user:hunter2@redis.example:6379/0?password=hunter3",
            "DRADASH_AUTH_TOKEN": "hunter4",
            "DRADASH_SECRET_KEY": "hunter5",
        }
    )
    monkeypatch.setattr(django_settings, "DRADASH", conf)
    text = page()
    assert "hunter" not in text
    assert "redis://***@redis.example:6379/0" in text
    assert about.HIDDEN in text


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("auth_token", "", "not set"),
        ("oidc_client_secret", "x", about.HIDDEN),
        ("signing_key", "x", about.HIDDEN),
        ("kubeconfig", "/home/me/.kube/config", "/home/me/.kube/config"),
        ("allowed_hosts", ("a", "b"), "a, b"),
        ("hooks", ("https://me:pw@host/x?t=1",), "https://***@host/x?***"),
        ("redis_url", "unix:///run/redis.sock", "unix:///run/redis.sock"),
        ("odd", "user:pw@host", about.HIDDEN),
        ("context", "admin@cluster", "admin@cluster"),
        ("odd", "http://[half", about.HIDDEN),
        ("debug", False, "off"),
        ("lease_ttl", 5.0, "5"),
    ],
)
def test_values_are_shown_without_what_may_be_secret(name: str, value: object, expected: str) -> None:
    assert about.shown(name, value) == expected


def test_thresholds_are_read_from_the_environment_and_told_apart_from_their_defaults() -> None:
    conf = from_environ({"DRADASH_DOCTOR_IDLE": "30", "DRADASH_DOCTOR_CHANGES": "3"})
    assert (conf.doctor.idle, conf.doctor.changes, conf.doctor.create) == (30.0, 3, Thresholds().create)
    changed = {s.name: s.value for s in about.thresholds(conf.doctor) if s.changed}
    assert changed == {"DRADASH_DOCTOR_IDLE": "30 s", "DRADASH_DOCTOR_CHANGES": "3"}
    with pytest.raises(ValueError, match="DRADASH_DOCTOR_IDLE"):
        from_environ({"DRADASH_DOCTOR_IDLE": "soon"})


def test_without_the_store_it_says_so(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise StoreUnavailable("gone away")

    monkeypatch.setattr(scene.model, "memory", refuse)
    assert "Not known: gone away" in page()


def test_a_past_moment_has_the_states_of_then_and_no_counters_of_now(scene: Scene) -> None:
    scene.now = build.NOW + 100
    scene.sync("nodes", "forbidden", error="no role then")
    scene.now = build.NOW + 200
    scene.sync("nodes", "synced")
    scene.look()

    def row(text: str, kind: str) -> str:
        return next(r for r in text.split("<tr>") if f'data-label="Kind">{kind}<' in r)

    def then(moment: str) -> str:
        return Client().get(f"/about?at=2026-11-30T{moment}Z").content.decode()

    refused = row(then("04:01:50"), "nodes")
    assert "Forbidden" in refused
    assert "no role then" in refused
    assert 'data-label="Objects" class="num"><span title="not known' in refused
    assert 'data-label="Events" class="num">\N{EN DASH}' in refused
    well = row(then("04:03:30"), "nodes")
    assert "Synced" in well
    assert 'data-label="Objects" class="num">1<' in well
    assert "no role then" not in row(page(), "nodes")


def test_a_past_moment_shows_nothing_of_now_as_if_it_were_of_then(scene: Scene) -> None:
    """Revision and last change are those of then; what only now is known of says so, or is not there."""
    scene.put(build.node("node-1"))
    scene.look()
    then, revision, moment = scene.now, scene.model.revision(), "2026-11-30T04:00:30Z"
    assert then < build.NOW + 30
    scene.now = build.NOW + 100
    scene.put(build.node("node-2"))
    scene.look()
    assert scene.model.revision() > revision
    text = Client().get(f"/about?at={moment}").content.decode()
    assert html.read(text).faults == []
    assert f"<dt>Revision</dt><dd>{revision}</dd>" in text
    assert f'<dt>Last change</dt><dd><time datetime="2026-11-30T04:00:{then - build.NOW:02.0f}Z"' in text
    assert "Process up" not in text
    assert "Process up" in page()
    of_now = "as it is now, not as it was then"
    before, _, watched = text.partition('<h3 id="watched-title">')
    assert of_now in watched.partition("</h3>")[0]
    for name in ("Last read", "Watched by", "To be judged"):
        assert name not in before
        assert name in watched.partition("</section>")[0]
        assert name in page()
    for title in ("versions", "memory", "models", "settings", "thresholds"):
        heading = text.partition(f'<h2 id="{title}-title"')[2].partition("</h2>")[0]
        assert of_now in heading, title
    assert of_now not in page()
