"""One log format for every process: time, level, logger, message, on standard error."""

from __future__ import annotations

import logging
import logging.config
from typing import Any, Final

_PROBES: Final = frozenset({"/healthz", "/livez", "/readyz"})


def not_a_probe(record: logging.LogRecord) -> bool:
    """Django logs each 503 as an error, but "not ready yet" is the answer that a readiness probe asks for."""
    return getattr(getattr(record, "request", None), "path", "") not in _PROBES


def one_line_for_a_refusal(record: logging.LogRecord) -> bool:
    """A request that Django refuses is the asker's mistake: one line says it, no call of ours is to blame.

    A filter of the handler: those of a logger do not see what its children (django.security.DisallowedHost) log.
    """
    refused = record.name == "django.request" and record.levelno == logging.WARNING
    if refused or record.name.startswith("django.security."):
        record.exc_info, record.exc_text = None, None
    return True


def config(*, debug: bool = False) -> dict[str, Any]:
    """For logging.config.dictConfig and Django's LOGGING."""
    quiet = "INFO" if debug else "WARNING"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"format": "%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s", "datefmt": "%H:%M:%S"}
        },
        "filters": {
            "not_a_probe": {"()": lambda: not_a_probe},
            "one_line_for_a_refusal": {"()": lambda: one_line_for_a_refusal},
        },
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["one_line_for_a_refusal"]}
        },
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django.request": {"filters": ["not_a_probe"]},
            "dradash": {"level": "DEBUG" if debug else "INFO"},
            # These tell of every start, connection, task and request, at INFO.
            "uvicorn": {"level": quiet, "handlers": [], "propagate": True},
            "celery": {"level": quiet},
            "kombu": {"level": quiet},
        },
    }


def configure(*, debug: bool = False) -> None:
    logging.config.dictConfig(config(debug=debug))
