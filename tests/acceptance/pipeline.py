"""The workers as real processes between a real Redis and a simulated API server that the test can change and break."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path
from typing import Any, Final

from dradash.kinds.registry import CLASSIC
from dradash.lifecycle import NOTIFY_SOCKET
from dradash.scheduling.evaluate import evaluate
from dradash.sim import kubeconfig
from dradash.sim.apiserver import APIServer
from dradash.sim.http import Application
from dradash.sim.listener import Listener
from dradash.sim.resources import served
from dradash.store import embedded
from dradash.store.model import StoreUnavailable
from dradash.store.redis_store import RedisModel
from dradash.store.replica import Replica
from dradash.supervisor.plan import WATCH
from tests.acceptance.processes import MARK, ROOT, Lines, marked, until
from tests.patience import PATIENCE

CLUSTER: Final = "test"


class Process:
    """A child that has said READY=1 (a worker), or that answers (Redis)."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            argv,
            cwd=ROOT,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.log = Lines(self._process.stdout)

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        return self._process.wait(PATIENCE)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(8)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self.log.all()
        if self._process.stdout is not None:
            self._process.stdout.close()


class Pipeline:
    """Use as a context manager. `api` is the cluster, `model` what became of it.

    versions: of resource.k8s.io, that the cluster serves.
    """

    def __init__(self, lease_ttl: float = 5.0, versions: tuple[str, ...] = (CLASSIC,)) -> None:
        self.mark = uuid.uuid4().hex
        self.directory = Path(tempfile.mkdtemp(prefix="dt-", dir="/tmp"))
        self.api = APIServer(served(versions=versions), seed=1)
        self.listener = Listener(Application(self.api))
        self._socket = self.directory / "redis.sock"
        self._processes: list[Process] = []
        self.redis: Process | None = None
        self.model = RedisModel(embedded.url(socket=self._socket), cluster=CLUSTER)
        self.env = {
            MARK: self.mark,
            "REDIS_URL": embedded.url(socket=self._socket),
            "DRADASH_CLUSTER": CLUSTER,
            "DRADASH_LEASE_TTL": str(lease_ttl),
            "DRADASH_KUBECONFIG": str(self.directory / "kubeconfig"),
        }

    def __enter__(self) -> Pipeline:
        self.listener.start()
        kubeconfig.write(self.directory / "kubeconfig", self.listener.url, None)
        self.start_redis()
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.end()
        self.listener.stop()
        self.model.close()
        assert self.processes() == {}
        shutil.rmtree(self.directory)

    def start_redis(self) -> None:
        argv = [*embedded.command(self.directory, socket=self._socket), "--loglevel", "warning"]
        self.redis = Process(argv, {MARK: self.mark})
        self._processes.append(self.redis)
        until(self._redis_answers, "Redis answers")

    def _redis_answers(self) -> bool:
        try:
            self.model.revision()
        except StoreUnavailable:
            return False
        return True

    def watch(self) -> Process:
        return self._worker("watch", *WATCH)

    def judge(self, processes: int = 1) -> Process:
        return self._worker("judge", "-P", "prefork", "-c", str(processes))

    def web(self) -> str:
        """Start the web server; host:port of it."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        env = {"DRADASH_PORT": str(port)}
        self._start("web", [sys.executable, "manage.py", "web"], env)
        return f"127.0.0.1:{port}"

    def _worker(self, name: str, *options: str) -> Process:
        argv = [sys.executable, "-m", "celery", "-q", "-A", "dradash.celery", "worker"]
        argv += ["-n", f"{name}{len(self._processes)}@%h", "--without-gossip", "--without-mingle"]
        return self._start(name, [*argv, "--without-heartbeat", *options], {})

    def _start(self, name: str, argv: list[str], env: dict[str, str]) -> Process:
        notify = self.directory / f"{name}{len(self._processes)}.notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(str(notify))
            sock.settimeout(PATIENCE)
            process = Process(argv, {**self.env, **env, NOTIFY_SOCKET: str(notify)})
            self._processes.append(process)
            sock.recv(64)
        return process

    def processes(self) -> dict[int, str]:
        return marked(self.mark, self.directory)

    # --- what there is to see

    def leader(self) -> int:
        """The leader's process, 0 when nobody leads. Holders are host:pid:random."""
        try:
            lease = self.model.lease()
        except StoreUnavailable:
            return 0
        return int(lease.holder.split(":")[-2]) if lease is not None else 0

    def difference(self) -> str:
        """The first difference between cluster and model, objects and verdicts; "" when they are equal."""
        try:
            loaded = self.model.load()
            due = self.model.count_due()
        except StoreUnavailable as error:
            return str(error)
        for kind in self.api.resources:
            there = {_key(obj): obj for obj in map(_lean, self.api.list(kind))}
            here = {key: json.loads(raw) for key, raw in loaded.objects.get(kind, {}).items()}
            for key in there.keys() | here.keys():
                if there.get(key) != here.get(key):
                    return f"{kind} {key}: cluster {there.get(key)}, model {here.get(key)}"
        if due:
            return f"{due} pods are still to be judged"
        return self._verdict_difference()

    def _verdict_difference(self) -> str:
        replica = Replica(self.model)
        replica.load()
        for key, pod in replica.cluster.pods.items():
            if key not in replica.verdicts:
                return f"{key} has no verdict"
            there = evaluate(pod, replica.cluster, replica.revision).verdict
            here = replica.verdicts[key]
            if (there.outcome, there.sentence, there.acts_next) != (here.outcome, here.sentence, here.acts_next):
                return f"{key}: {there.outcome} {there.sentence!r}, the model says {here.outcome} {here.sentence!r}"
        gone = replica.verdicts.keys() - replica.cluster.pods.keys()
        return f"verdicts on pods that are gone: {sorted(gone)}" if gone else ""

    def until_equal(self) -> None:
        last = ""

        def equal() -> bool:
            nonlocal last
            last = self.difference()
            return not last

        try:
            until(equal, "model = cluster")
        except AssertionError as error:
            logs = "\n".join(line for process in self._processes for line in process.log.so_far()[-15:])
            raise AssertionError(f"{error}: {last}\n{logs}") from None


class Churn:
    """Changes the cluster from a thread of its own until told to end: `step(n)` is the n-th change."""

    def __init__(self, step: Any, pause: float = 0.02) -> None:
        self._step = step
        self._pause = pause
        self._end = threading.Event()
        self.steps = 0
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            while not self._end.wait(self._pause):
                self._step(self.steps)
                self.steps += 1
        except Exception as error:  # noqa: BLE001 - told by __exit__
            self.error = error

    def __enter__(self) -> Churn:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(PATIENCE)
        assert self.error is None, self.error


def _lean(obj: dict[str, Any]) -> dict[str, Any]:
    obj["metadata"].pop("managedFields", None)
    return obj


def _key(obj: dict[str, Any]) -> str:
    of = obj["metadata"]
    return f"{of['namespace']}/{of['name']}" if of.get("namespace") else str(of["name"])
