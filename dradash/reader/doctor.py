"""This process's findings, looked for anew in the background whenever the cluster or the time may have brought some."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from dradash.reader import lasted, observed, topics
from dradash.reader.follower import Announce, Follower
from dradash.reader.lookback import LookBack, Resolved
from dradash.reader.waits import past_waits
from dradash.scheduling.doctor.diagnose import CHECKS, blind, diagnose, ordered, run
from dradash.scheduling.doctor.exam import Exam, Memo, Observed
from dradash.scheduling.doctor.finding import DEVICES, DRIVERS, OBJECTS_LISTED, POOLS, Finding
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.store.model import ReadModel, StoreUnavailable
from dradash.store.past import Past

logger = logging.getLogger(__name__)

EVERY: Final = 2.0  # seconds between two looks at most
FIRST: Final = 0.1  # seconds between two looks at whether there is anything to look at yet
QUIET: Final = 6.0  # seconds after which time alone is reason enough for a look
WOKEN: Final = 500  # pages of single objects that one look wakes
PASTS: Final = 6


class Report(msgspec.Struct, frozen=True):
    """One look at the cluster. at: Unix seconds, 0.0 before the first one. findings: worst and oldest first.

    by_object: by (plural, key) of what a finding is about, and by (DRIVERS, name).
    faults: checks that failed, which is a mistake in dradash. blind: codes of which nothing could be said.
    generation grows when the findings have changed.
    """

    at: float = 0.0
    findings: tuple[Finding, ...] = ()
    by_id: dict[str, Finding] = {}
    by_object: dict[tuple[str, str], list[Finding]] = {}
    faults: tuple[str, ...] = ()
    generation: int = 0
    blind: frozenset[str] = frozenset()


def report_of(findings: list[Finding], at: float, faults: tuple[str, ...] = (), generation: int = 0) -> Report:
    by_object: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        about = dict.fromkeys((ref.kind, ref.key) for ref in finding.objects)
        if finding.driver:
            about[DRIVERS, finding.driver] = None
        for named in about:
            by_object.setdefault(named, []).append(finding)
    return Report(at, tuple(findings), {f.id: f for f in findings}, by_object, faults, generation)


class Doctor:
    """`look` is the whole of it: tests call it without a thread."""

    def __init__(
        self,
        follower: Follower,
        model: ReadModel,
        announce: Announce,
        thresholds: Thresholds,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._follower, self._model, self._announce = follower, model, announce
        self._thresholds, self._clock = thresholds, clock
        self._observer = observed.Observer(thresholds)
        follower.listeners.append(self._observer.saw)
        self._memo: Memo = {}
        self._report = Report()
        self._back = LookBack(follower, model, self._findings_at)
        self._pasts: OrderedDict[tuple[str, float], Report] = OrderedDict()
        self._cluster: object = None  # that the observer's knowledge is of
        self._looked_at: tuple[str, int] = ("", 0)
        self._looking = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    # --- reading ---------------------------------------------------------------------------------------------------

    def report(self) -> Report:
        """The last look; the first one is taken now if there was none."""
        if not self._report.at:
            self.look()
        return self._report

    @property
    def generation(self) -> int:
        return self._report.generation

    def resolved(self, id_: str, at: float | None = None) -> Resolved | None:
        """When the finding, which does not hold now (or at `at`), was over; None: the history does not tell.

        That may take seconds in a large cluster, but see `recalls`. Raises StoreUnavailable.
        """
        return self._back.resolved(id_, self.report().at if at is None else at, at)

    def recalls(self, id_: str) -> bool:
        """Whether what is to be said of the finding now is at hand."""
        return id_ in self._report.by_id or self._back.knows(id_)

    def report_at(self, past: Past) -> Report:
        """The findings of a past moment. Raises StoreUnavailable."""
        with self._looking:
            key = (past.instance, past.at)
            if key not in self._pasts:
                self._pasts[key] = self._examine_past(past)
                if len(self._pasts) > PASTS:
                    self._pasts.popitem(last=False)
            return self._pasts[key]

    def _examine_past(self, past: Past) -> Report:
        return report_of(self._findings_at(past), past.at)

    def _findings_at(self, past: Past, only: frozenset[tuple[str, str]] | None = None) -> list[Finding]:
        """only: what is of interest; what the history alone knows of other objects is not asked for."""
        gone = observed.missing_pods(past.cluster, Observed())
        begin = past.at - self._thresholds.window
        of = observed.wanted(past.cluster, past.times, begin, gone)
        if only is not None:
            of = observed.narrowed(of, only)
        waits = past_waits(self._follower.observations.waits, self._model, past)
        then = observed.read(self._model, of, past.at, self._thresholds, waits)
        lasting = lasted.PastLasting(self._model, past.at, self._observer.lasting)
        then = msgspec.structs.replace(then, lasting=lasting.since)
        if only is not None:
            then = observed.told_of(then, only)
        return diagnose(Exam(past.cluster, past.verdicts, past.sync, past.times, then, past.at, self._thresholds))

    # --- looking ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="doctor", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(EVERY + QUIET)

    def _run(self) -> None:
        while not self._stopped.wait(EVERY if self._report.at else FIRST):
            if self.is_due():
                try:
                    self.look()
                except Exception:
                    # The next look may succeed; the page says how old this one is.
                    logger.exception("looking for findings failed")

    def is_due(self) -> bool:
        """Nothing new can be said of a state that is not followed any more: time passes there without us."""
        fresh = self._follower.freshness()
        if fresh.state != "live" or not fresh.leader:
            return False
        instance, revision = self._follower.version()[:2]
        return (instance, revision) != self._looked_at or self._clock() - self._report.at >= QUIET

    def look(self, now: float | None = None) -> Report:
        """Examine the cluster as it is at `now` (Unix seconds, by default the clock's)."""
        now = self._clock() if now is None else now
        with self._looking:
            instance, revision = self._follower.version()[:2]
            if not instance:
                return self._report
            self._learn(now)
            findings: list[Finding] = []
            faults: list[str] = []
            unknown: frozenset[str] = frozenset()
            for check in CHECKS:
                # Released in between: whoever reads or follows waits for one family of checks at most.
                with self._follower.world() as world:
                    seen = self._observer.observed(self._follower.observations.waits)
                    exam = Exam(
                        world.cluster, world.verdicts, world.sync, world.times, seen, now, self._thresholds, self._memo
                    )
                    unknown |= blind(exam.readable)
                    try:
                        findings += run(check, exam)
                    except Exception as error:
                        logger.exception("a check of the doctor failed")
                        faults.append(f"{check.__module__.rpartition('.')[2]}: {type(error).__name__}: {error}")
            self._looked_at = (instance, revision)
            self._take(ordered(findings), tuple(faults), unknown, now)
            return self._report

    def _learn(self, now: float) -> None:
        """Ask the history for what happened before this process saw it."""
        with self._follower.world() as world:
            loaded_anew = world.cluster is not self._cluster
            cluster = world.cluster
            names: list[tuple[str, str]] = []
            if loaded_anew:
                self._observer.begin(world)
                names = lasted.names(world)
            gone = observed.missing_pods(cluster, self._observer.observed())
            begin = now - self._thresholds.window
            of = observed.wanted(cluster, world.times, begin, gone) if loaded_anew else observed.Wanted(gone=gone)
        try:
            earlier = observed.read(self._model, of, float("inf"), self._thresholds)
            begun = lasted.read(self._model, names)
        except StoreUnavailable:
            return  # asked again at the next look
        with self._follower.world():
            self._observer.fill(earlier, begun)
            self._cluster = cluster
            if loaded_anew:
                self._memo.clear()

    def _take(self, findings: list[Finding], faults: tuple[str, ...], unknown: frozenset[str], now: float) -> None:
        before = self._report
        findings = [_begun(f, before.by_id.get(f.id)) for f in findings]
        after = msgspec.structs.replace(report_of(findings, now, faults, before.generation), blind=unknown)
        changed = [f for f in findings if (old := before.by_id.get(f.id)) is not f and old != f]
        over = [f for id_, f in before.by_id.items() if id_ not in after.by_id]
        self._back.saw(changed, over, before.at, now)
        # Whoever shows findings has waited for the first look: nobody need be told of it.
        if before.at and (changed or over or faults != before.faults):
            after = msgspec.structs.replace(after, generation=before.generation + 1)
            self._report = after
            self._announce(_woken(changed + over), self._looked_at[1])
        else:
            self._report = after
        if len(self._memo) > 2 * len(findings) + 1000:
            self._memo.clear()  # of claims that are gone


# These begin with the first of several objects, each of which may go or change while the others stay.
_OF_SEVERAL: Final = frozenset(
    {
        "claim-missing",
        "template-missing",
        "class-missing",
        "driver-publishes-nothing",
        "request-matches-no-device",
        "request-selector-fails",
        "pool-incomplete",
        "pool-invalid",
        "device-vanished",
        "device-allocated-twice",
        "kubelet-too-old",
    }
)


def _begun(finding: Finding, before: Finding | None) -> Finding:
    """It has held since it was first found, whoever of them is left."""
    if before is None or finding.code not in _OF_SEVERAL or not before.since < finding.since:
        return finding
    return msgspec.structs.replace(finding, since=before.since)


_TOPICS: Final[dict[str, Callable[[str], str]]] = {
    "pods": topics.pod,
    "podschedulingcontexts": topics.pod,
    "resourceclaims": topics.claim,
    "resourceclasses": lambda _: topics.CLASSES,
    "nodes": lambda _: topics.NODES,
    "deviceclasses": lambda _: topics.DEVICES,
    "resourceslices": lambda _: topics.DEVICES,
    POOLS: lambda _: topics.DEVICES,
    DEVICES: lambda _: topics.DEVICES,
}


def _woken(findings: list[Finding]) -> frozenset[str]:
    woken = {topics.DOCTOR, topics.OVERVIEW}
    for finding in findings[:WOKEN]:
        if finding.driver:
            woken.add(topics.DRIVERS)
        # Pages of the objects beyond these see it with their next beat.
        woken.update(_TOPICS[ref.kind](ref.key) for ref in finding.objects[:OBJECTS_LISTED] if ref.kind in _TOPICS)
    return frozenset(woken)
