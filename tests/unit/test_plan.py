"""What `up` would start, as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from dradash.conf import from_environ
from dradash.store import embedded
from dradash.store.keys import check_cluster
from dradash.supervisor import listen
from dradash.supervisor.child import Spec
from dradash.supervisor.errors import StartError
from dradash.supervisor.kubeconfig import Target
from dradash.supervisor.plan import Options, plan

WORKDIR = Path("/work")


def planned(env: dict[str, str] | None = None, **options: object) -> dict[str, Spec]:
    chosen = {"host": "127.0.0.1", "port": 8000, "fd": 9} | options
    return {spec.name: spec for spec in plan(Options(**chosen), WORKDIR, env or {})}  # type: ignore[arg-type]  # test sugar


def test_the_demo_is_redis_a_cluster_two_workers_and_the_web_server() -> None:
    specs = planned(demo=True)
    assert list(specs) == ["redis", "cluster", "watch", "judge", "web"]
    assert specs["watch"].after == ("redis", "cluster")
    assert specs["judge"].after == specs["web"].after == ("redis",)


def test_users_stop_before_the_cluster_and_the_cluster_before_redis() -> None:
    ranks = {name: spec.stop_rank for name, spec in planned(demo=True).items()}
    assert ranks["web"] == ranks["judge"] == ranks["watch"] < ranks["cluster"] < ranks["redis"]


def test_a_redis_of_the_users_own_is_used_and_none_started() -> None:
    specs = planned({"REDIS_URL": "redis://there/0"}, demo=True)
    assert "redis" not in specs
    assert "REDIS_URL" not in specs["judge"].env
    assert specs["judge"].after == ()


def test_simulated_clusters_on_one_redis_keep_apart() -> None:
    names = {
        planned({"REDIS_URL": "redis://there/0"}, demo=True, port=port)["web"].env["DRADASH_CLUSTER"]
        for port in (8000, 8001)
    }
    assert len(names) == 2
    assert planned(demo=True)["web"].env["DRADASH_CLUSTER"] == "demo"


@pytest.mark.parametrize(
    ("recording", "name"),
    [
        ("/var/secret-project/classic-1.30.jsonl", "replay-classic-1.30.jsonl"),
        ("/r/{a} b\n<i>\udc80.gz", "replay-a-b-i-.gz"),
        ("/r/\u8a18\u9332", "replay"),
        ("/r/" + "a" * 255, "replay-" + "a" * 48),
    ],
)
def test_a_replayed_cluster_is_called_a_replay_of_its_file(recording: str, name: str) -> None:
    assert planned(replay=recording)["web"].env["DRADASH_CLUSTER"] == name
    shared = [
        planned({"REDIS_URL": "redis://there/0"}, replay=recording, port=port)["web"].env["DRADASH_CLUSTER"]
        for port in (8001, 8002)
    ]
    assert shared == [f"{name}-8001", f"{name}-8002"]
    assert check_cluster(shared[0])


def test_a_real_cluster_has_the_name_of_its_context_made_fit_for_keys() -> None:
    target = Target("/my/kubeconfig", "arn:aws:eks:eu/dev", "arn:aws:eks:eu/dev")
    specs = planned(target=target)
    assert list(specs) == ["redis", "watch", "judge", "web"]
    env = specs["watch"].env
    assert env["DRADASH_CLUSTER"] == "arn-aws-eks-eu-dev"
    assert env["DRADASH_KUBECONFIG"] == "/my/kubeconfig"
    assert env["DRADASH_CONTEXT"] == "arn:aws:eks:eu/dev"


def test_what_the_user_has_set_stays() -> None:
    mine = {"DRADASH_CLUSTER": "mine", "DRADASH_SECRET_KEY": "mine", "DRADASH_ALLOWED_HOSTS": "dash.example"}
    env = planned(mine, demo=True)["web"].env
    assert env["DRADASH_CLUSTER"] == "mine"
    assert env["DRADASH_SECRET_KEY"] == mine["DRADASH_SECRET_KEY"]
    assert "DRADASH_ALLOWED_HOSTS" not in env


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.7", "::1"])
def test_the_settings_of_the_children_parse_and_allow_the_host_that_is_served(host: str) -> None:
    conf = from_environ(planned(demo=True, host=host, port=8123)["web"].env)
    assert (conf.host, conf.port) == (host, 8123)
    assert "localhost" in conf.allowed_hosts
    assert listen.in_url(host) in conf.allowed_hosts


def test_all_children_share_one_random_key() -> None:
    keys = {spec.env["DRADASH_SECRET_KEY"] for spec in planned().values() if spec.name != "redis"}
    assert len(keys) == 1
    assert keys != {spec.env["DRADASH_SECRET_KEY"] for spec in planned().values() if spec.name != "redis"}


def test_scenario_seed_and_recording_reach_the_simulated_cluster() -> None:
    demo = planned(demo=True, scenario="two-drivers", seed=7)["cluster"].argv
    assert demo[-4:] == ("--scenario", "two-drivers", "--seed", "7")
    replay = planned(replay="/r.jsonl", speed=4.0)["cluster"].argv
    assert replay[-6:] == ("--speed", "4.0", "--await-watch", "60", "--replay", "/r.jsonl")


def test_only_the_web_server_inherits_the_socket() -> None:
    assert {spec.name for spec in planned(demo=True).values() if spec.pass_fds} == {"web"}


def test_no_redis_anywhere_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> list[str]:
        raise embedded.NoServer("no Redis: set REDIS_URL")

    monkeypatch.setattr(embedded, "command", none)
    with pytest.raises(StartError, match="set REDIS_URL"):
        planned(demo=True)
