"""`manage.py agreement RECORDING`: does the scheduler say what our verdicts say?"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dradash.cli.output import of_output
from dradash.informer.recording import BadRecording, read
from dradash.kinds.registry import KINDS
from dradash.management.filekind import RECORDING, WrongFile, expect
from dradash.scheduling.replay import Replay, Said

_NOTHING_SAID = "Nothing is counted: the scheduler said nothing of these pods while the recording was made."
_BEFORE = (
    "before: what the scheduler had said before the recording, beside our verdict on the first state. "
    "It is not counted: where they are not the same, the cluster may have changed in between."
)
_LONGER = (
    "Record for six minutes or more (a pod that waits is tried again after five), or while something changes that may "
    "help the pods."
)
_WORD = {True: "agree", False: "differ", None: "not modelled"}


class Command(BaseCommand):
    help = "Replay a recording without waiting; compare each FailedScheduling message with our verdict at that moment."
    requires_system_checks: list[str] = []  # reads a file only: no Redis, no web server

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("recording", type=Path, help="a file made by `manage.py record` (plain or gzip)")

    def handle(self, *_args: Any, recording: Path, **_options: Any) -> None:
        try:
            expect(recording, RECORDING)
        except WrongFile as error:
            raise CommandError(str(error), returncode=2) from error
        counts: Counter[bool | None] = Counter()
        replay = Replay()
        try:
            for row in read(recording, self._warn):
                for said in replay.take(row.t, row.kind, row.type, row.object):
                    self._tell(said, counts)
        except (BadRecording, OSError) as error:
            if isinstance(error, OSError) and of_output(error):
                raise
            raise CommandError(str(error)) from error
        for said in replay.end():
            self._tell(said, counts)
        before = list(replay.before())
        for said in before:
            self._tell_before(said)
        if before:
            self.stdout.write(_BEFORE)
        if replay.not_judged:
            judged = ", ".join(KINDS["resourceclaims"].versions)
            self.stdout.write(f"{replay.not_judged} is in this recording; verdicts are made for {judged}")
        if not counts:
            self.stdout.write(f"{_NOTHING_SAID} {_LONGER}")
        self.stdout.write(f"{counts[True]} agree, {counts[False]} differ, {counts[None]} not modelled")
        if counts[False]:
            raise SystemExit(1)

    def _warn(self, said: str) -> None:
        self.stderr.write(self.style.WARNING(said))

    def _tell(self, said: Said, counts: Counter[bool | None]) -> None:
        counts[said.agrees] += 1
        by_condition = " (by the pod's condition: a repeated event keeps its first text)"
        note = by_condition if said.source == "condition" else ""
        self.stdout.write(f"{said.at:9.3f}s {_WORD[said.agrees]:12} {said.pod}: {said.message}{note}")
        if said.agrees is not True:
            self._explain(said)

    def _tell_before(self, said: Said) -> None:
        self.stdout.write(f"   before  {'agree' if said.agrees else 'not compared':12} {said.pod}: {said.message}")
        if not said.agrees:
            self._explain(said)

    def _explain(self, said: Said) -> None:
        for clause in said.clauses:
            ours = "not modelled" if not clause.modelled else f"ours: {'-' if clause.ours is None else clause.ours}"
            self.stdout.write(f"             {clause.count or ''} {clause.text} ({ours})")
        for sentence in said.ours:
            self.stdout.write(f"             we say: {sentence}")
