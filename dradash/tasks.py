"""The Celery task: judge what is due. See dradash/celery.py for why it may be lost or doubled."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from dradash import bootstrap
from dradash.celery import JUDGE_TASK, app
from dradash.store.model import DuePod, JudgeModel, StoreUnavailable

logger = logging.getLogger(__name__)

BATCH: Final = 50  # pods taken at once
LEASE: Final = 10.0  # seconds until pods that a killed worker had taken are due again
BUDGET: Final = 2.0  # seconds after which a task ends and leaves the rest to its successor: SIGTERM waits for no longer


@app.task(name=JUDGE_TASK)
def judge() -> int:
    """Judge due pods until none is left; how many."""
    try:
        judging = bootstrap.judging()
        return work(judging.model, judging.judge, bootstrap.wake_now)
    except StoreUnavailable as error:
        # Not an error of the task: what is due is still due, and the leader wakes us again.
        logger.warning("cannot judge now: %s", error)
        return 0


def work(
    model: JudgeModel,
    judge: Callable[[Sequence[DuePod]], None],
    wake: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
    now: Callable[[], float] = time.time,
) -> int:
    """Take and judge batches until nothing is due or the budget is spent; how many pods. Raises StoreUnavailable.

    A full batch means that there is more: a colleague is woken, so a big wave spreads over all judges.
    """
    done = 0
    started = clock()
    while due := model.take_due(now(), BATCH, LEASE):
        if len(due) == BATCH:
            wake()
        judge(due)
        done += len(due)
        if clock() - started > BUDGET:
            wake()
            break
    return done
