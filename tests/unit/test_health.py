"""/livez and /readyz: what is wrong is named, in the form of Kubernetes' own."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from django.test import Client, override_settings

from dradash.conf import from_environ
from dradash.kinds.registry import KINDS
from dradash.metrics.health import CHECKS, Check, readiness, report
from dradash.reader import current
from dradash.reader.follower import OVERDUE
from dradash.reader.world import Freshness
from dradash.store.model import DuePod, SyncState
from tests import build
from tests.scene import Scene

WELL = Freshness(state="live", leader="a")
SYNCED = {kind: SyncState(kind, "synced") for kind in KINDS}
POD = build.pod("p", "ml", claims={"gpu": "c"})


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(POD, build.claim("c", "ml"), build.resource_class(), build.node("n"))
    made.look()
    current.use(made.web)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        yield made
    current.use(None)


def get(path: str) -> tuple[int, str]:
    response = Client().get(path)
    return response.status_code, response.content.decode()


def failed(freshness: Freshness = WELL, sync: dict[str, SyncState] = SYNCED) -> dict[str, str]:
    return {c.name: c.why for c in readiness(freshness, sync, 100.0, 30.0) if not c.ok}


def test_a_dradash_that_is_well_is_ready() -> None:
    assert failed() == {}


def test_a_model_that_cannot_be_read_leaves_nothing_known() -> None:
    assert set(failed(Freshness(state="unavailable", leader="a"))) == set(CHECKS)
    assert failed(Freshness())["model"] == "nothing was read yet"


def test_without_a_leader_it_is_not_ready() -> None:
    said = "nobody watches the cluster: the watching worker's log says why, if one runs"
    assert failed(Freshness(state="live")) == {"leader": said}


def test_a_redis_that_refuses_writes_is_named_as_the_reason_and_not_quoted() -> None:
    full = Freshness(state="live", refusing="Redis at 10.0.0.7:6379 is out of memory")
    assert failed(full) == {"leader": "nobody watches the cluster: Redis refuses writes"}


def test_a_stale_kind_is_named_and_one_that_is_not_served_is_no_reason() -> None:
    sync = SYNCED | {"pods": SyncState("pods", "stale"), "resourceclasses": SyncState("resourceclasses", "notServed")}
    assert failed(sync=sync) == {"kinds": "pods stale"}


def test_while_no_kind_at_all_can_be_read_it_is_not_ready() -> None:
    sync = {kind: SyncState(kind, "forbidden", error="secret-path") for kind in KINDS}
    sync["resourceclasses"] = SyncState("resourceclasses", "notServed")
    said = "no kind can be read: see the credentials, the role and the watching worker's log"
    assert failed(sync=sync) == {"kinds": said}
    assert failed(sync=sync | {"nodes": SyncState("nodes", "synced")}) == {}


def test_pods_that_wait_too_long_to_be_judged_are_a_reason() -> None:
    assert failed(msgspec.structs.replace(WELL, due=3, due_since=80.0)) == {}
    late = failed(msgspec.structs.replace(WELL, due=3, due_since=60.0))
    assert late == {"judging": "3 pods wait to be judged, the oldest for 40 s; 30 s are allowed"}


def test_the_report_lists_all_checks_when_one_fails_or_when_asked_for() -> None:
    checks = [Check("model", True), Check("leader", False, "nobody")]
    body, status = report("readyz", checks, (), verbose=False)
    assert (status, body) == (503, "[+]model ok\n[-]leader failed: nobody\nreadyz check failed\n")
    assert report("readyz", checks[:1], (), verbose=False) == ("ok\n", 200)
    assert report("readyz", checks[:1], (), verbose=True) == ("[+]model ok\nreadyz check passed\n", 200)


def test_a_check_can_be_excluded_and_a_wrong_name_is_told() -> None:
    checks = [Check("leader", False, "nobody")]
    assert report("readyz", checks, ["leader"], verbose=False) == ("ok\n", 200)
    body, status = report("readyz", checks, ["laeder"], verbose=False)
    assert status == 503
    assert "no matches for laeder" in body


def test_the_addresses_answer_without_signing_in(scene: Scene) -> None:
    guarded = from_environ({"DRADASH_AUTH": "token", "DRADASH_AUTH_TOKEN": "a-long-enough-token"})
    with override_settings(DRADASH=guarded):
        assert get("/livez") == (200, "ok\n")
        assert get("/readyz")[0] == 200
        assert get("/readyz/kinds")[0] == 200
        assert get("/readyz/nonsense")[0] == 404


def test_a_leader_that_went_away_and_pods_that_nobody_judges_are_told(scene: Scene) -> None:
    scene.model.release("test", scene.epoch)
    epoch = scene.model.acquire("other", 0.000001)
    assert epoch is not None
    scene.model.apply(epoch, [], [DuePod("ml/p", scene.model.revision())], scene.now)
    scene.web.follower._lease_at = 0.0
    scene.look()
    status, body = get("/readyz?verbose")
    assert status == 503
    assert "[-]leader failed: nobody watches the cluster" in body
    assert "[-]judging failed: 1 pod waits to be judged" in body
    assert "[+]kinds ok" in body


def test_every_page_says_that_pods_wait_to_be_judged(scene: Scene) -> None:
    assert "to be judged" not in get("/pods")[1]
    version = scene.web.follower.version()
    scene.model.mark_due(scene.epoch, [DuePod("ml/p", scene.model.revision())])
    scene.model._state.due["ml/p"].since = scene.now - OVERDUE - 5
    scene.web.follower._lease_at = 0.0
    scene.look()
    assert scene.web.follower.version() != version, "a page that was rendered before must be rendered again"
    page = get("/pods")[1]
    assert "<b>1 pod waits to be judged</b>" in page
