"""The Celery application.

A task here is only a wake-up: what is to be judged is in Redis (JudgeModel.take_due). So a message may be lost, doubled
or late without harm: early acknowledgement, no results, short expiry.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import click
from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import setup_logging, worker_process_init, worker_ready
from kombu.transport.redis import Transport

from dradash import lifecycle, log
from dradash.conf import Conf, from_environ

JUDGE_TASK: Final = "dradash.judge"
WAKE_EXPIRES: Final = 10.0  # seconds; the leader wakes the judges again every second while anything is due

# A container or a test machine may have no other user, and only JSON is accepted, so root is no danger of its own.
warnings.filterwarnings("ignore", category=SecurityWarning)


def judge_queue(cluster: str) -> str:
    return f"judge.{cluster}"


def broker_url(redis_url: str) -> str:
    """kombu's spelling of redis-py's URL: unix:///path?db=1 is redis+socket:///path?virtual_host=1 there."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    query = [("virtual_host" if name == "db" else name, value) for name, value in parse_qsl(parts.query)]
    # urlunsplit drops an empty host's slashes for schemes that it does not know.
    return f"redis+socket://{parts.netloc}" + urlunsplit(("", "", parts.path, urlencode(query), ""))


# A Redis that becomes a replica answers blocked reads with "UNBLOCKED ...", a ResponseError. kombu takes these for the
# end of the worker; a lost connection, after which it connects again, is what it is.
Transport.connection_errors += tuple(e for e in Transport.channel_errors if e.__name__ == "ResponseError")


def create_app(conf: Conf) -> Celery:
    # fixups: without Celery's Django fix-up the workers start without Django, which they do not need.
    celery = Celery("dradash", broker=broker_url(conf.redis_url), set_as_current=True, fixups=[])
    celery.conf.update(
        accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # Redis comes back, however long it takes
        # redis-py's own default of 5 s would kill kombu's idle blocking reads.
        broker_transport_options={
            "global_keyprefix": "dradash:celery:",
            "socket_timeout": None,
            "socket_connect_timeout": 5,
        },
        imports=("dradash.tasks",),
        task_default_queue=judge_queue(conf.cluster),
        task_ignore_result=True,
        task_publish_retry=False,  # the next wake-up is a second away
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_prefetch_multiplier=1,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
    )
    celery.user_options["worker"].add(
        click.Option(["--watch"], is_flag=True, help="Stand for leader and watch the cluster in this worker.")
    )
    celery.steps["worker"].add("dradash.worker:LeaderStep")
    return celery


app = create_app(from_environ())


@setup_logging.connect
def _configure_logging(**_: Any) -> None:
    log.configure(debug=from_environ().debug)


@worker_ready.connect
def _say_ready(**_: Any) -> None:
    lifecycle.notify_ready()


_worker = os.getpid()  # this module is imported before the worker forks


@worker_process_init.connect
def _end_with_the_worker(**_: Any) -> None:
    """A prefork child waits on pipes that its sisters hold open too: it would not notice that the worker is gone."""
    if os.getpid() != _worker:  # the solo pool sends this signal too, in the worker itself
        lifecycle.die_with(_worker)()
