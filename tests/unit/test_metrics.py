"""/metrics: valid, complete, bounded, and silent about what is not known."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client, override_settings
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.parser import text_string_to_metric_families

from dradash.conf import from_environ
from dradash.metrics.bounds import OTHER, Names, folded, label
from dradash.metrics.document import document
from dradash.metrics.process import PROCESS
from dradash.metrics.scrape import Scraper
from dradash.metrics.table import METRICS
from dradash.reader import current
from dradash.scheduling.doctor.rules import RULES
from dradash.store.memory import MemoryModel
from dradash.store.model import StoreUnavailable
from tests import build
from tests import builddevices as make
from tests.scene import Scene

TRAIN = build.pod("train", "ml", claims={"gpu": "train-gpu"})
LOST = build.pod("lost", "web", claims={"gpu": "nowhere"})
HELD = build.claim("held", "ml", allocation=build.allocation("node-0"), reserved_for=[TRAIN])


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(
        *build.nodes(4),
        build.resource_class(),
        TRAIN,
        LOST,
        HELD,
        build.claim("train-gpu", "ml"),
        build.context(TRAIN, potential=["node-1"], selected="node-1"),
    )
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def scrape(*namespaces: str, at: float | None = None) -> dict[str, Family]:
    clock = time.time if at is None else lambda: at
    text = Scraper(namespaces, clock).text(current.get()).decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def values(family: Family, *labels: str) -> dict[tuple[str, ...], float]:
    return {tuple(s.labels[name] for name in labels): s.value for s in family.samples}


def family_name(metric: str) -> str:
    """The parser's: without what the text format appends."""
    return re.sub(r"_(total|gcount|gsum)$", "", metric)


@pytest.mark.usefixtures("scene")
def test_every_metric_of_the_table_is_told_and_no_other_of_ours() -> None:
    PROCESS.answered("GET", "pods", 200, 0.01)
    PROCESS.responded("gpu.example.com", 1.0)
    told = {family_name(name) for name in scrape("ml") if name.startswith("dradash_")}
    assert told == {family_name(name) for name in METRICS}


@pytest.mark.usefixtures("scene")
def test_each_sample_has_the_labels_of_the_table_and_a_help() -> None:
    for family in scrape("ml").values():
        if family.name.startswith("dradash_"):
            name = family_name(family.name)
            metric = METRICS.get(name) or METRICS[f"{name}_total"]
            assert family.documentation == metric.help
            for sample in family.samples:
                assert set(sample.labels) - {"le"} == set(metric.labels), sample


def test_names_and_units_follow_prometheus_conventions() -> None:
    for metric in METRICS.values():
        assert re.fullmatch(r"dradash_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.name.endswith("_total") == (metric.type == "counter"), metric.name
        assert not re.search(r"_(ms|milliseconds|minutes|count|sum|bucket)$", metric.name)
        if "wait" in metric.name or "age" in metric.name or "lag" in metric.name or "duration" in metric.name:
            assert metric.name.endswith("_seconds"), metric.name


def told_codes() -> set[str]:
    return (
        {code for (code,) in values(scrape()["dradash_findings"], "code")} if "dradash_findings" in scrape() else set()
    )


def test_findings_of_which_nothing_can_be_said_are_left_out_and_come_back_with_what_was_found(scene: Scene) -> None:
    scene.web.doctor.look(scene.now + 3600)
    missing = {code for code, rule in RULES.items() if "resourceclaims" in rule.needs}
    assert told_codes() == set(RULES)
    assert values(scrape()["dradash_findings"], "code")["claim-missing",] == 1
    scene.sync("resourceclaims", "forbidden", "no right")
    scene.look()
    assert told_codes() == set(RULES) - missing, "before the doctor has looked again"
    scene.web.doctor.look(scene.now + 3600)
    assert told_codes() == set(RULES) - missing
    assert values(scrape()["dradash_findings"], "code")["kind-forbidden",] == 1
    scene.sync("resourceclaims", "synced")
    scene.look()
    assert told_codes() == set(RULES) - missing, "the last look could not see it"
    scene.web.doctor.look(scene.now + 3600)
    assert values(scrape()["dradash_findings"], "code")["claim-missing",] == 1


@pytest.mark.parametrize("elected", [False, True], ids=["no model", "nothing written yet"])
def test_no_finding_is_said_to_be_absent_where_no_cluster_was_ever_watched(elected: bool) -> None:
    model = MemoryModel()
    if elected:
        model.acquire("leader", 3600.0)
    here = current.build(model)
    here.follower.step()
    current.use(here)
    assert told_codes() == set()
    assert values(scrape()["dradash_model_up"])[()] == 1
    current.use(None)


@pytest.mark.usefixtures("scene")
def test_pending_pods_are_told_by_verdict_and_reason_code() -> None:
    pods = values(scrape()["dradash_pending_pods"], "outcome", "reason")
    assert pods["Blocked", "ClaimNotFound"] == 1
    assert sum(pods.values()) == 2


def test_the_reason_is_the_one_that_says_most(scene: Scene) -> None:
    """Not the first of the node checks, which nearly every verdict has, and none where nodes pass."""
    pods = values(scrape()["dradash_pending_pods"], "outcome", "reason")
    assert pods["Waiting", "WaitingForDriver"] == 1
    cordoned = [build.node(f"node-{i}", unschedulable=i == 0) for i in range(4)]
    unsuitable = build.resource_class(suitable=build.with_labels(zone="nowhere"))
    scene.put(*cordoned, unsuitable)
    scene.look()
    pods = values(scrape()["dradash_pending_pods"], "outcome", "reason")
    assert pods["Unschedulable", "ClassFilterExcluded"] == 1


@pytest.mark.usefixtures("scene")
def test_claims_are_told_by_state_and_class() -> None:
    assert values(scrape()["dradash_claims"], "state", "class") == {("Reserved", "gpu"): 1, ("Pending", "gpu"): 1}


def test_a_negotiation_is_told_by_who_must_act_and_since_when(scene: Scene) -> None:
    told = scrape(at=scene.now + 45)
    ages = {
        (s.labels["acts_next"], s.labels["le"]): s.value
        for s in told["dradash_negotiation_age_seconds"].samples
        if "le" in s.labels
    }
    assert ages["driver", "30.0"] == 0
    assert ages["driver", "+Inf"] == 1
    waits = values(told["dradash_driver_longest_wait_seconds"], "driver")
    assert waits["gpu.example.com",] == pytest.approx(45, abs=2)


def test_a_driver_for_which_nobody_waits_is_told_as_zero(scene: Scene) -> None:
    scene.delete(TRAIN)
    scene.look()
    assert values(scrape()["dradash_driver_longest_wait_seconds"], "driver") == {("gpu.example.com",): 0.0}


@pytest.mark.usefixtures("scene")
def test_no_pod_claim_or_node_name_is_a_label_and_namespaces_only_those_that_are_allowed() -> None:
    text = Scraper((), time.time).text(current.get()).decode()
    for name in ("train", "lost", "held", "nowhere", "node-0", "ml", "web"):
        assert f'"{name}"' not in text
    told = scrape("ml")
    assert values(told["dradash_namespace_claims"], "namespace", "state") == {
        ("ml", "Reserved"): 1,
        ("ml", "Pending"): 1,
    }
    assert {n for n, _ in values(told["dradash_namespace_pending_pods"], "namespace", "reason")} == {"ml"}


def test_devices_pools_and_their_claims_are_told_by_state() -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    devices = [make.device("held"), make.device("shared", allowMultipleAllocations=True), make.device("free")]
    devices += [make.device("tainted", taints=[taint]), make.device("cpu", "epyc")]
    a100 = make.device_class("a100", f'device.attributes["{make.DRIVER}"].model == "a100"')
    scene = Scene(
        make.resource_slice(*devices),
        make.resource_slice(make.device("gpu-0"), node="node-1", count=2),
        make.resource_slice(make.device("x"), make.device("x"), node="node-2", driver="nic.example.com"),
        a100,
        make.device_class("none", "false"),
        make.claim("c", devices=[make.result("held")], reserved_for=[TRAIN]),
        make.claim("d", devices=[make.result("shared", shareID="s", consumedCapacity={})]),
        make.claim("e"),
    )
    scene.look()
    text = Scraper(()).text(scene.web).decode()
    told = {family.name: family for family in text_string_to_metric_families(text)}
    counted = values(told["dradash_devices"], "driver", "state")
    assert {state: n for (driver, state), n in counted.items() if driver == make.DRIVER} == {
        "free": 2,
        "blocked": 0,
        "held": 1,
        "shared": 1,
        "tainted": 1,
        "unusable": 1,
    }
    assert counted["nic.example.com", "unusable"] == 2
    of_class = values(told["dradash_class_devices"], "class", "state")
    assert {state: n for (name, state), n in of_class.items() if name == "a100"} == {
        "free": 1,
        "blocked": 0,
        "held": 1,
        "shared": 1,
        "tainted": 1,
    }
    assert of_class["none", "free"] == 0
    pools = values(told["dradash_pools"], "driver", "state")
    assert {state: n for (driver, state), n in pools.items() if driver == make.DRIVER} == {
        "usable": 1,
        "incomplete": 1,
        "invalid": 0,
    }
    assert pools["nic.example.com", "invalid"] == 1
    claims = values(told["dradash_device_claims"], "state")
    assert claims == {("Pending",): 1, ("Allocated",): 1, ("Reserved",): 1, ("Deleting",): 0}


def test_devices_change_their_state_with_claims_and_slices() -> None:
    def told() -> dict[tuple[str, ...], float]:
        cluster.look()
        text = Scraper(()).text(cluster.web).decode()
        families = {family.name: family for family in text_string_to_metric_families(text)}
        return {k: v for k, v in values(families["dradash_class_devices"], "state").items() if v}

    claim = make.claim("c", devices=[make.result("gpu-0")])
    cluster = Scene(make.resource_slice(make.device("gpu-0")), make.device_class("gpu"))
    assert told() == {("free",): 1}
    cluster.put(claim)
    assert told() == {("held",): 1}
    cluster.delete(claim)
    assert told() == {("free",): 1}
    cluster.put(make.resource_slice(make.device("gpu-0"), make.device("gpu-1")))
    assert told() == {("free",): 2}
    cluster.put(make.resource_slice(make.device("gpu-0"), count=2))
    assert told() == {}


def test_without_claims_nobody_knows_which_devices_are_free() -> None:
    scene = Scene(make.resource_slice(make.device("gpu-0")), make.device_class("gpu"))
    scene.sync("resourceclaims", "forbidden", "no")
    scene.look()
    text = Scraper(()).text(scene.web).decode()
    told = {family.name: family for family in text_string_to_metric_families(text)}
    assert {"dradash_devices", "dradash_class_devices", "dradash_device_claims"}.isdisjoint(told)
    assert values(told["dradash_pools"], "driver", "state")[make.DRIVER, "usable"] == 1


def test_findings_are_told_by_code_also_those_that_nothing_has(scene: Scene) -> None:
    scene.web.doctor.look(scene.now + 3600)
    found = values(scrape()["dradash_findings"], "code", "severity")
    assert found["claim-missing", "error"] == 1
    assert {code for code, _ in found} == set(RULES)
    assert 0 in found.values()


def test_what_the_workers_counted_is_told(scene: Scene) -> None:
    scene.model.add_figures({"leaders_elected": 1})
    told = scrape()
    judged = {s.name: s.value for s in told["dradash_judging_seconds"].samples if "le" not in s.labels}
    assert judged["dradash_judging_seconds_count"] == scene.model.figures()["verdicts_judged"]
    assert judged["dradash_judging_seconds_sum"] > 0
    assert values(told["dradash_verdict_changes"], "outcome")["Blocked",] >= 1
    assert told["dradash_leader_elections"].samples[0].value == 1


def test_a_kind_that_cannot_be_read_is_absent_not_zero(scene: Scene) -> None:
    scene.sync("resourceclaims", "forbidden", "no")
    scene.look()
    told = scrape()
    assert "dradash_claims" not in told
    assert values(told["dradash_informer_state"], "kind", "state")["resourceclaims", "forbidden"] == 1
    assert ("resourceclaims",) not in values(told["dradash_objects"], "kind")


def test_while_the_model_cannot_be_read_only_that_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> dict[str, float]:
        raise StoreUnavailable("Redis is away")

    monkeypatch.setattr(scene.model, "figures", broken)
    told = scrape()
    assert told["dradash_model_up"].samples[0].value == 0
    assert "dradash_pending_pods" not in told
    assert "dradash_build_info" in told


def test_a_name_that_was_told_stays_told_and_the_rest_are_other() -> None:
    names = Names(most=2)
    names.tell(["big", "middle", "small"])
    assert [names.of(n) for n in ("big", "middle", "small")] == ["big", "middle", OTHER]
    names.tell(["small", "big", "middle"])
    assert names.of("small") == OTHER
    names.tell(["small", "big"])
    assert names.of("small") == "small"


def test_counts_of_names_beyond_the_bound_are_added_up() -> None:
    counts = {("Pending", f"class-{i}"): i for i in range(1, 6)}
    assert folded(counts, Names(most=2)) == {
        ("Pending", "class-5"): 5,
        ("Pending", "class-4"): 4,
        ("Pending", OTHER): 6,
    }


def test_hostile_names_stay_valid_labels(scene: Scene) -> None:
    evil = 'a"b\\c\nd{}'
    scene.put(build.claim("evil", "ml", resource_class=evil))
    scene.look()
    classes = {c for _, c in values(scrape()["dradash_claims"], "state", "class")}
    assert evil in classes
    assert label("\ud800") == "?"
    assert len(label("x" * 5000)) < 200


@pytest.mark.usefixtures("scene")
def test_the_page_answers_in_prometheus_text_format_and_needs_the_token() -> None:
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        response = Client().get("/metrics")
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert list(text_string_to_metric_families(response.content.decode()))
    guarded = from_environ({"DRADASH_AUTH": "token", "DRADASH_AUTH_TOKEN": "a-long-enough-token"})
    with override_settings(DRADASH=guarded, ALLOWED_HOSTS=["testserver"]):
        assert Client().get("/metrics").status_code == 401  # a scraper would take a form it is led to for metrics
        bearer = {"Authorization": "Bearer a-long-enough-token"}
        assert Client().get("/metrics", headers=bearer).status_code == 200


@pytest.mark.usefixtures("scene")
def test_requests_are_counted_by_view_never_by_path() -> None:
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        Client().get("/ns/ml/pods/train")
        Client().get("/no/such/page/at-all")
    requests = values(scrape()["dradash_http_requests"], "method", "view", "status")
    assert requests["GET", "pod", "200"] >= 1
    assert requests["GET", "none", "404"] >= 1


def test_the_document_is_that_of_the_table() -> None:
    assert Path("docs/metrics.md").read_text() == document(), "python -m dradash.metrics.document > docs/metrics.md"


def test_a_scrape_of_a_large_cluster_has_no_more_rows_than_states_and_fifty_classes() -> None:
    pods = [build.pod(f"p{i}", f"ns{i % 20}", claims={"gpu": f"c{i}"}) for i in range(1000)]
    claims = [build.claim(f"c{i}", f"ns{i % 20}", resource_class=f"class-{i % 80}") for i in range(10_000)]
    classes = [build.resource_class(f"class-{i}") for i in range(80)]
    scene = Scene(*build.nodes(20), *classes, *claims, *pods)
    scene.look()
    scraper = Scraper((), lambda: scene.now)
    scene.web.doctor.look(scene.now)
    text = scraper.text(scene.web)
    told = {family.name: family for family in text_string_to_metric_families(text.decode())}
    claims_told = values(told["dradash_claims"], "state", "class")
    assert sum(claims_told.values()) == 10_000
    assert len(claims_told) == 51
