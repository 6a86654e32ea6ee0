"""The composition root: the one place that chooses which store, source and broker the parts work with."""

from __future__ import annotations

from dradash import celery
from dradash.conf import Conf
from dradash.store.model import StoreUnavailable
from dradash.store.redis_store import RedisModel


def model(conf: Conf) -> RedisModel:
    """Connects when first used; thread-safe and fork-safe."""
    return RedisModel(
        conf.redis_url,
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
