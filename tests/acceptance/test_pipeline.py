"""Watch -> Redis -> Celery as processes: whatever breaks, in the end the model is the cluster, object by object."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
import redis

from dradash.store.replica import decode_verdict
from tests import build, builddevices
from tests.acceptance.pipeline import Churn, Pipeline
from tests.acceptance.processes import until


@pytest.fixture
def pipeline() -> Iterator[Pipeline]:
    with Pipeline() as running:
        running.api.load([*build.nodes(20), build.resource_class(), build.namespace("team")])
        yield running


def add_pod(pipeline: Pipeline, n: int) -> None:
    claim = build.claim(f"claim-{n}", "team")
    pipeline.api.load([claim, build.pod(f"pod-{n}", "team", claims={"gpu": f"claim-{n}"})])


def change(pipeline: Pipeline, n: int) -> None:
    """The n-th of an endless series of changes of several kinds: pods and claims come and go, nodes change."""
    add_pod(pipeline, n)
    node = pipeline.api.get("nodes", f"node-{n % 20}")
    node["metadata"]["labels"]["round"] = str(n)
    node["spec"]["unschedulable"] = n % 3 == 0
    pipeline.api.update("nodes", node)
    if n >= 10:
        pipeline.api.delete("pods", f"pod-{n - 10}", "team")
        pipeline.api.delete("resourceclaims", f"claim-{n - 10}", "team")


def test_what_is_in_the_cluster_is_in_the_model_and_judged(pipeline: Pipeline) -> None:
    for n in range(30):
        add_pod(pipeline, n)
    pipeline.watch()
    pipeline.judge(2)
    pipeline.until_equal()
    for n in range(30, 60):
        change(pipeline, n)
    pipeline.until_equal()


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_devices_are_in_the_model_and_pods_are_judged_by_them(version: str) -> None:
    def served(obj: build.Obj) -> build.Obj:
        return {**obj, "apiVersion": f"resource.k8s.io/{version}"}

    with Pipeline(versions=(version,)) as running:
        slices = [builddevices.resource_slice(builddevices.device("gpu-0"), node=f"node-{i}") for i in range(4)]
        running.api.load([*build.nodes(5), build.namespace("team"), served(builddevices.device_class())])
        running.api.load([served(item) for item in slices[:3]])
        running.api.load([served(builddevices.claim(f"claim-{n}", "team")) for n in range(10)])
        running.api.load([build.pod(f"pod-{n}", "team", claims={"gpu": f"claim-{n}"}) for n in range(10)])
        running.watch()
        running.judge(2)
        running.until_equal()
        taken = [builddevices.result("gpu-0", pool=f"node-{i}") for i in range(2)]
        held = builddevices.claim("holder", "team", devices=taken)
        running.api.load([served(held), served(slices[3])])
        running.until_equal()
        fits = {decode_verdict(raw).nodes_fit for raw in running.model.load().verdicts.values()}
        assert fits == {2}


def test_the_other_worker_leads_after_the_leader_is_killed(pipeline: Pipeline) -> None:
    workers = [pipeline.watch(), pipeline.watch()]
    pipeline.judge()
    until(lambda: pipeline.leader() in {w.pid for w in workers}, "one of them leads")
    leader = next(w for w in workers if w.pid == pipeline.leader())
    other = next(w for w in workers if w is not leader)
    with Churn(lambda n: change(pipeline, n)):
        until(lambda: pipeline.model.revision() > 100, "the leader writes")
        leader.signal(signal.SIGKILL)
        until(lambda: pipeline.leader() == other.pid, "the other one leads")
    pipeline.until_equal()


def test_sigterm_hands_the_lead_over_at_once(pipeline: Pipeline) -> None:
    first = pipeline.watch()
    until(lambda: pipeline.leader() == first.pid, "the only one leads")
    second = pipeline.watch()
    pipeline.judge()
    with Churn(lambda n: change(pipeline, n)):
        first.signal(signal.SIGTERM)
        assert first.wait() == 0
        assert pipeline.leader() != first.pid  # given back, not run out
        until(lambda: pipeline.leader() == second.pid, "the other one leads")
    pipeline.until_equal()


def test_an_emptied_redis_is_filled_again(pipeline: Pipeline) -> None:
    pipeline.watch()
    pipeline.judge()
    with Churn(lambda n: change(pipeline, n)) as churn:
        until(lambda: churn.steps > 20, "some changes")
        with redis.Redis.from_url(pipeline.env["REDIS_URL"]) as client:
            client.flushall()
        seen = churn.steps
        until(lambda: churn.steps > seen + 20, "more changes")
    pipeline.until_equal()


def test_a_redis_that_died_and_came_back_empty_is_filled_again(pipeline: Pipeline) -> None:
    pipeline.watch()
    pipeline.judge()
    pipeline.until_equal()
    assert pipeline.redis is not None
    with Churn(lambda n: change(pipeline, n)) as churn:
        pipeline.redis.signal(signal.SIGKILL)
        pipeline.redis.wait()
        seen = churn.steps
        until(lambda: churn.steps > seen + 50, "changes while there is no Redis")
        pipeline.start_redis()
        until(lambda: churn.steps > seen + 100, "changes after it came back")
    pipeline.until_equal()


def test_an_api_server_that_was_gone_for_a_minute_is_caught_up_with(pipeline: Pipeline) -> None:
    pipeline.watch()
    pipeline.judge()
    pipeline.until_equal()
    pipeline.listener.stop()
    gone = time.monotonic()
    with Churn(lambda n: change(pipeline, n), pause=0.5):
        until(lambda: pipeline.model.load().sync["pods"].state == "stale", "the model says that it is stale")
        until(lambda: time.monotonic() - gone >= 60, "the minute is over")
        pipeline.api.compact()
        pipeline.listener.start()
        until(lambda: pipeline.model.load().sync["pods"].state == "synced", "the model is in sync again")
    pipeline.until_equal()


def test_a_storm_of_expired_watches_loses_nothing(pipeline: Pipeline) -> None:
    pipeline.watch()
    pipeline.judge()
    pipeline.until_equal()

    def storm(n: int) -> None:
        change(pipeline, n)
        if n % 10 == 0:
            pipeline.api.compact()
            pipeline.api.end_watches()

    with Churn(storm) as churn:
        until(lambda: churn.steps > 150, "fifteen rounds of 410")
    pipeline.until_equal()


def test_what_a_killed_judge_had_taken_is_judged_by_another(pipeline: Pipeline) -> None:
    pipeline.watch()
    worker = pipeline.judge(2)
    with Churn(lambda n: change(pipeline, n), pause=0.005) as churn:
        until(lambda: churn.steps > 50, "much to judge")
        children = [pid for pid in pipeline.processes() if parent_of(pid) == worker.pid]
        assert len(children) == 2
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        until(lambda: churn.steps > 100, "more to judge")
    pipeline.until_equal()


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])
