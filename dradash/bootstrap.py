"""The composition root: the one place that chooses which store, source and broker the parts work with."""

from __future__ import annotations

import functools
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from typing import Final

from dradash import celery
from dradash.conf import Conf, from_environ
from dradash.informer.kubernetes_source import KubernetesSource
from dradash.informer.run import Informer
from dradash.informer.sink import Sink
from dradash.pipeline.judge import Judge
from dradash.pipeline.leader import Leader
from dradash.store.model import ReadModel, StoreUnavailable
from dradash.store.redis_connection import ANSWER_WITHIN
from dradash.store.redis_store import RedisModel
from dradash.waker import Waker

log = logging.getLogger(__name__)

READ_WITHIN: Final = 3.0  # seconds; Prometheus waits 10 for a whole answer


def model(conf: Conf) -> RedisModel:
    """Connects when first used; thread-safe and fork-safe."""
    return _model(conf, ANSWER_WITHIN)


def read_model(conf: Conf) -> ReadModel:
    """For who answers requests: a Redis that hangs is given up on long before the asking side gives up on us."""
    return _model(conf, READ_WITHIN)


def _model(conf: Conf, answer_within: float) -> RedisModel:
    return RedisModel(
        conf.redis_url,
        answer_within=answer_within,
        cluster=conf.cluster,
        changes_length=conf.changes_length,
        history_seconds=conf.history_seconds,
        history_bytes=conf.history_bytes,
    )


def why_unavailable(conf: Conf) -> str:
    """Why the store cannot be used and what to do about it; "" when it answers."""
    store = model(conf)
    try:
        store.revision()
    except StoreUnavailable as error:
        return str(error)
    finally:
        store.close()
    return ""


def wake_now() -> None:
    """Send the judges a wake-up. Raises kombu's errors when the broker cannot be reached."""
    celery.app.send_task(celery.JUDGE_TASK, expires=celery.WAKE_EXPIRES)


@functools.cache
def _waker() -> Waker:
    return Waker(wake_now)


def leader(conf: Conf) -> Leader:
    """A candidate for leading the informer of the configured cluster. Raises informer.source.SourceError."""

    def make_informer(sink: Sink, wanted: Callable[[str], bool]) -> Informer:
        source = KubernetesSource.from_kubeconfig(conf.kubeconfig, conf.context)
        log.info("watching %s", source.server)
        return Informer(source, sink, wanted=wanted, limit=conf.list_limit, watch_timeout=conf.watch_timeout)

    return Leader(
        model(conf),
        make_informer,
        holder=f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}",
        ttl=conf.lease_ttl,
        wake=_waker().wake,
        clock=time.time,
    )


_judges = threading.local()


def judging() -> Judge:
    """This thread's judge. Its replica is loaded once and then follows: a forked child of a worker loads its own."""
    judge: Judge | None = getattr(_judges, "judge", None)
    if judge is None or _judges.pid != os.getpid():
        judge = Judge(model(from_environ()), time.time)
        _judges.judge, _judges.pid = judge, os.getpid()
    return judge
