"""Which processes one `up` consists of, with their command lines and settings. Starts nothing."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dradash.store import embedded
from dradash.supervisor import listen, probes
from dradash.supervisor.child import Spec
from dradash.supervisor.errors import StartError
from dradash.supervisor.kubeconfig import Target

STOP_USERS, STOP_CLUSTER, STOP_REDIS = range(3)
DEMO: Final = "demo"
REPLAY: Final = "replay"
RECORDING_SHOWN: Final = 48  # characters of its file name
# Nothing is ever sent to the queue: a Celery worker must have one, and the watch worker must not get tasks.
WATCH: Final = ("-Q", "watch", "--watch", "-P", "solo")
AWAIT_WATCH: Final = 60  # seconds until a recording is played though nobody watches; see supervisor.run.READY_TIMEOUT
REPORT: Final = "Start again with DRADASH_DEBUG=1 to see more."


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `manage.py up` was asked for; paths are absolute."""

    host: str
    port: int  # of the listening socket: never 0
    fd: int  # of the listening socket
    judges: int = 2
    demo: bool = False
    scenario: str = ""
    seed: int = 0
    replay: str = ""
    speed: float = 1.0
    target: Target | None = None  # None with demo and replay

    @property
    def simulated(self) -> bool:
        return self.demo or bool(self.replay)


def plan(options: Options, workdir: Path, env: Mapping[str, str]) -> list[Spec]:
    """The children, in the order of their log names. Raises StartError."""
    socket_path = workdir / "redis.sock"
    own_redis = not env.get("REDIS_URL", "").strip()
    shared = _shared_env(options, workdir, env)
    specs = []
    base: tuple[str, ...] = ()
    if own_redis:
        shared["REDIS_URL"] = embedded.url(socket=socket_path)
        specs.append(_redis(socket_path))
        base = ("redis",)
    watch_after = base
    if options.simulated:
        specs.append(_cluster(options, workdir, shared))
        watch_after = (*base, "cluster")
    specs.append(_worker("watch", shared, workdir, watch_after, *WATCH))
    specs.append(_worker("judge", shared, workdir, base, "-P", "prefork", "-c", str(options.judges)))
    specs.append(_web(options, shared, workdir, base))
    return specs


def _shared_env(options: Options, workdir: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Settings of every process. What the user has set stays, except what the command line says."""
    shared = {
        "PYTHONUNBUFFERED": "1",
        "DRADASH_HOST": options.host,
        "DRADASH_PORT": str(options.port),
        "DRADASH_CLUSTER": env.get("DRADASH_CLUSTER", "").strip() or _cluster_name(options, env),
        # One key for one run: sessions survive a reload of the page, not of dradash, unless the user sets a key.
        "DRADASH_SECRET_KEY": env.get("DRADASH_SECRET_KEY", "").strip() or secrets.token_urlsafe(48),
        "DRADASH_KUBECONFIG": str(workdir / "kubeconfig") if options.simulated else "",
        "DRADASH_CONTEXT": "",
    }
    if not env.get("DRADASH_ALLOWED_HOSTS", "").strip() and not listen.is_wildcard(options.host):
        shared["DRADASH_ALLOWED_HOSTS"] = ",".join(("localhost", "127.0.0.1", "[::1]", listen.in_url(options.host)))
    if options.target is not None:
        shared["DRADASH_KUBECONFIG"] = options.target.kubeconfig
        shared["DRADASH_CONTEXT"] = options.target.context
    return shared


def _cluster_name(options: Options, env: Mapping[str, str]) -> str:
    """Simulated clusters that share a Redis must not share a model; the port is theirs alone on this machine.

    A replayed cluster was a real one, so it is not called the demo: the name says which file is shown.
    """
    if options.target is not None:
        return _plain(options.target.name) or "default"
    name = f"{REPLAY}-{_plain(Path(options.replay).name)[:RECORDING_SHOWN]}".strip("-") if options.replay else DEMO
    return f"{name}-{options.port}" if env.get("REDIS_URL", "").strip() else name


def _plain(name: str) -> str:
    """A name from outside, as keys of Redis and the page's header may have it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def _redis(socket_path: Path) -> Spec:
    try:
        argv = (*embedded.command(socket_path.parent, socket=socket_path), "--loglevel", "warning")
    except embedded.NoServer as error:
        raise StartError(str(error)) from error
    return Spec(
        name="redis",
        argv=argv,
        ready=probes.redis_answers(socket_path),
        stop_rank=STOP_REDIS,
        hide="overcommit_memory",  # a warning about saving in a forked process, which this Redis never does
        advice="Set REDIS_URL to use another Redis.",
    )


def _cluster(options: Options, workdir: Path, shared: Mapping[str, str]) -> Spec:
    kubeconfig = workdir / "kubeconfig"
    what: tuple[str, ...] = ("--scenario", options.scenario, "--seed", str(options.seed))
    if options.replay:
        what = ("--await-watch", str(AWAIT_WATCH), "--replay", options.replay)
    return Spec(
        name="cluster",
        argv=(
            sys.executable,
            "manage.py",
            "sim",
            "--port",
            "0",
            "--kubeconfig",
            str(kubeconfig),
            "--speed",
            str(options.speed),
            *what,
        ),
        env=shared,
        ready=probes.file_written(kubeconfig),
        stop_rank=STOP_CLUSTER,
        advice=REPORT,
    )


def _worker(name: str, shared: Mapping[str, str], workdir: Path, after: tuple[str, ...], *options: str) -> Spec:
    return Spec(
        name=name,
        argv=(
            *(sys.executable, "-m", "celery", "-q", "-A", "dradash.celery", "worker"),
            *("-n", f"{name}@%h"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            *options,
        ),
        env=shared,
        after=after,
        ready=probes.at_once,
        notify=workdir / f"{name}.notify",
        stop_rank=STOP_USERS,
        advice=REPORT,
    )


def _web(options: Options, shared: Mapping[str, str], workdir: Path, after: tuple[str, ...]) -> Spec:
    return Spec(
        name="web",
        argv=(sys.executable, "manage.py", "web", "--fd", str(options.fd)),
        env=shared,
        after=after,
        ready=probes.http_answers(listen.reachable(options.host), options.port, "/healthz"),
        notify=workdir / "web.notify",
        stop_rank=STOP_USERS,
        pass_fds=(options.fd,),
        advice=REPORT,
    )
