"""`manage.py record FILE`: record a cluster's streams."""

from __future__ import annotations

import signal
import threading
import time
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dradash.conf import BadSetting, from_environ
from dradash.informer.kubernetes_source import KubernetesSource
from dradash.informer.record import record
from dradash.informer.recording import Writer, open_for_writing
from dradash.informer.redact import Redactor
from dradash.informer.source import SourceError
from dradash.kinds.registry import KINDS


class Command(BaseCommand):
    help = (
        "Record what a cluster's API server says about pods that use claims, and all that decides over them, until "
        "Ctrl-C. Secrets and managedFields are never written."
    )
    requires_system_checks: list[str] = []  # reads a cluster only: no Redis, no web server

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="where to; .gz is compressed, - is standard output")
        parser.add_argument("--seconds", type=_seconds, metavar="N", help="end by itself after N seconds")
        parser.add_argument("--kubeconfig", default="", metavar="F", help="default: KUBECONFIG or ~/.kube/config")
        parser.add_argument("--context", default="", metavar="C", help="default: the current one")
        parser.add_argument(
            "--redact",
            action="store_true",
            help="replace names, labels and annotations consistently; leave out images, commands, driver data",
        )

    def handle(self, *_args: Any, file: str, seconds: float | None, **options: Any) -> None:
        writer: Writer | None = None
        try:
            conf = from_environ()
            source = KubernetesSource.from_kubeconfig(
                options["kubeconfig"] or conf.kubeconfig, options["context"] or conf.context
            )
            stop = _stop_on_signal()
            with open_for_writing(file) as out:
                writer = Writer(out, KINDS, time.monotonic)
                summary = record(
                    source,
                    writer,
                    redactor=Redactor() if options["redact"] else None,
                    seconds=seconds,
                    stop=stop,
                )
        except (BadSetting, SourceError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(_failed(file, writer, error)) from error
        # To stderr: the recording itself may go to stdout.
        self.stderr.write(self.style.NOTICE(f"{file}: {summary.text}"))
        if not summary.counts:
            raise CommandError("nothing could be recorded")


def _failed(file: str, writer: Writer | None, error: OSError) -> str:
    if writer is None:  # it was not opened
        return str(error)
    rows = "1 row was" if writer.written == 1 else f"{writer.written} rows were"
    return f"{file} cannot be written any more: {error.strerror or error}; {rows} written, with them the file ends"


def _seconds(raw: str) -> float:
    seconds = float(raw)
    if not 0 < seconds < float("inf"):
        raise ArgumentTypeError("use a number above zero")
    return seconds


def _stop_on_signal() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop
