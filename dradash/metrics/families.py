"""Counts as Prometheus' metric families. What is not known is left out: absent is not zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import accumulate
from typing import Final

import msgspec
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeHistogramMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.utils import floatToGoString

from dradash.metrics.bounds import Names, folded, label
from dradash.metrics.table import METRICS
from dradash.metrics.tally import AGES, Counts
from dradash.reader.world import Freshness
from dradash.scheduling.doctor.finding import Finding
from dradash.scheduling.doctor.rules import RULES
from dradash.store import figures as names
from dradash.store.model import SyncState

STATES: Final = ("unknown", "notServed", "forbidden", "syncing", "synced", "stale")


class Told(msgspec.Struct):
    """Which names are told, from one scrape to the next."""

    classes: Names = msgspec.field(default_factory=Names)
    drivers: Names = msgspec.field(default_factory=Names)
    device_drivers: Names = msgspec.field(default_factory=Names)
    pool_drivers: Names = msgspec.field(default_factory=Names)
    device_classes: Names = msgspec.field(default_factory=Names)


def families(
    counts: Counts,
    sync: Mapping[str, SyncState],
    freshness: Freshness,
    findings: Sequence[Finding],
    unknown: Set[str],
    figures: Mapping[str, float],
    now: float,
    told: Told,
) -> Iterator[Family]:
    """Everything about the cluster and the workers, at `now` (Unix seconds). The model could be read.

    unknown: codes of findings of which nothing can be said.
    """
    yield _gauge("dradash_model_up", [((), 1)])
    yield _gauge("dradash_model_revision", [((), freshness.revision)])
    yield _gauge("dradash_leader", [((), 1 if freshness.leader else 0)])
    yield _gauge("dradash_objects", (((kind,), n) for kind, n in counts.objects.items()))
    yield from _pods(counts, told)
    yield from _claims(counts, told)
    yield from _devices(counts, told)
    yield from _findings(findings, unknown)
    yield from _informer(sync, now)
    yield from _workers(figures, freshness, now)


def model_down() -> Family:
    return _gauge("dradash_model_up", [((), 0)])


def _gauge(name: str, samples: Iterable[tuple[Sequence[str], float]]) -> Family:
    family = GaugeMetricFamily(name, METRICS[name].help, labels=METRICS[name].labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _counter(name: str, samples: Iterable[tuple[Sequence[str], float]]) -> Family:
    family = CounterMetricFamily(name, METRICS[name].help, labels=METRICS[name].labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _pods(counts: Counts, told: Told) -> Iterator[Family]:
    if counts.pending is None:
        return
    yield _gauge("dradash_pending_pods", counts.pending.items())
    yield _gauge("dradash_pending_pod_longest_wait_seconds", (((who,), age) for who, age in counts.longest.items()))
    told.drivers.tell(sorted(counts.drivers | counts.by_driver.keys()))
    waits = {told.drivers.of(driver): 0.0 for driver in counts.drivers}
    for driver, age in counts.by_driver.items():
        name = told.drivers.of(driver)
        waits[name] = max(waits.get(name, 0.0), age)
    yield _gauge("dradash_driver_longest_wait_seconds", (((name,), age) for name, age in waits.items()))
    name = "dradash_negotiation_age_seconds"
    histogram = GaugeHistogramMetricFamily(name, METRICS[name].help, labels=METRICS[name].labels)
    for who, ages in counts.negotiations.items():
        histogram.add_metric((who,), _cumulative(AGES, ages.counts), ages.total)
    yield histogram
    yield _gauge("dradash_verdict_disagreements", [((), counts.disagreements)])
    if counts.pending_in:
        yield _gauge("dradash_namespace_pending_pods", _labelled(counts.pending_in))


def _claims(counts: Counts, told: Told) -> Iterator[Family]:
    if counts.claims is not None:
        yield _gauge("dradash_claims", folded(counts.claims, told.classes).items())
        if counts.claims_in:
            yield _gauge("dradash_namespace_claims", _labelled(counts.claims_in))


def _devices(counts: Counts, told: Told) -> Iterator[Family]:
    if counts.device_claims is not None:
        yield _gauge("dradash_device_claims", (((state,), n) for state, n in counts.device_claims.items()))
    for name, numbers, known in (
        ("dradash_devices", counts.devices, told.device_drivers),
        ("dradash_class_devices", counts.class_devices, told.device_classes),
        ("dradash_pools", counts.pools, told.pool_drivers),
    ):
        if numbers is not None:
            yield _gauge(name, folded(numbers, known).items())


def _labelled(counts: Mapping[tuple[str, str], int]) -> Iterator[tuple[tuple[str, str], int]]:
    return (((label(namespace), what), n) for (namespace, what), n in counts.items())


def _findings(findings: Sequence[Finding], unknown: Set[str]) -> Iterator[Family]:
    """Every code that can be looked for, also those that nothing has: an alert that ends has to see the zero."""
    numbers = {(code, str(rule.severity)): 0 for code, rule in RULES.items() if code not in unknown}
    for finding in findings:
        if finding.code not in unknown:
            numbers[finding.code, str(finding.severity)] += 1
    yield _gauge("dradash_findings", numbers.items())


def _informer(sync: Mapping[str, SyncState], now: float) -> Iterator[Family]:
    states = sync.values()
    yield _gauge(
        "dradash_informer_state", (((s.kind, state), float(s.state == state)) for s in states for state in STATES)
    )
    yield _gauge("dradash_informer_lag_seconds", (((s.kind,), max(0.0, now - s.seen)) for s in states if s.seen))
    yield _counter("dradash_informer_events_total", (((s.kind,), s.events) for s in states))
    yield _counter("dradash_informer_relists_total", (((s.kind,), s.relists) for s in states))
    yield _counter("dradash_informer_malformed_total", (((s.kind,), s.malformed) for s in states))


def _workers(figures: Mapping[str, float], freshness: Freshness, now: float) -> Iterator[Family]:
    yield _counter("dradash_leader_elections_total", [((), figures.get(names.ELECTED, 0))])
    yield _counter("dradash_judging_failures_total", [((), figures.get(names.FAILED, 0))])
    changed = ((n.removeprefix(names.CHANGED), v) for n, v in sorted(figures.items()) if n.startswith(names.CHANGED))
    yield _counter("dradash_verdict_changes_total", (((outcome,), value) for outcome, value in changed))
    bounds = (*names.JUDGING_BUCKETS, float("inf"))
    taken = [int(figures.get(f"{names.JUDGING_LE}{bound:g}", 0)) for bound in bounds]
    name = "dradash_judging_seconds"
    histogram = HistogramMetricFamily(name, METRICS[name].help)
    histogram.add_metric((), _cumulative(names.JUDGING_BUCKETS, taken), figures.get(names.JUDGING_SUM, 0.0))
    yield histogram
    yield _gauge("dradash_judging_queue_pods", [((), freshness.due)])
    age = max(0.0, now - freshness.due_since) if freshness.due else 0.0
    yield _gauge("dradash_judging_queue_age_seconds", [((), age)])


def _cumulative(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    names_of = [*map(floatToGoString, bounds), "+Inf"]
    return list(zip(names_of, accumulate(counts), strict=True))
