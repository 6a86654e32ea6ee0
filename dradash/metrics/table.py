"""Every metric: name, type, labels and meaning. Collectors, docs/metrics.md and the tests of deploy/ read this table.

Label values are bounded: constants of ours, or names of classes and drivers of which so many are told (bounds.py).
Names of pods, claims and nodes never are label values; namespaces only those that DRADASH_METRICS_NAMESPACES lists.
"""

from __future__ import annotations

from typing import Final

import msgspec

GAUGE, COUNTER, HISTOGRAM, GAUGE_HISTOGRAM = "gauge", "counter", "histogram", "gaugehistogram"
CLUSTER: Final = "cluster"  # derived from the model: the same from every web process
WORKERS: Final = "workers"  # counted by all workers together, through Redis
PROCESS: Final = "process"  # of the web process that is asked


class Metric(msgspec.Struct, frozen=True):
    """name: as it is scraped, counters with their _total. unit is part of the name."""

    name: str
    type: str
    labels: tuple[str, ...]
    source: str
    help: str


METRICS: Final = {
    m.name: m
    for m in (
        Metric(
            "dradash_model_up",
            GAUGE,
            (),
            CLUSTER,
            "1 while the model in Redis can be read; else only this.",
        ),
        Metric("dradash_model_revision", GAUGE, (), CLUSTER, "Revision of the model that the figures are of."),
        Metric("dradash_leader", GAUGE, (), CLUSTER, "1 while a worker leads, that is watches the cluster."),
        Metric("dradash_objects", GAUGE, ("kind",), CLUSTER, "Objects known, by kind."),
        Metric(
            "dradash_pending_pods",
            GAUGE,
            ("outcome", "reason"),
            CLUSTER,
            "Pending pods that use claims, by verdict and the code of its most telling reason (docs/reasons.md).",
        ),
        Metric(
            "dradash_pending_pod_longest_wait_seconds",
            GAUGE,
            ("acts_next",),
            CLUSTER,
            "How long the pod that waits for longest has waited for the same one to act.",
        ),
        Metric(
            "dradash_driver_longest_wait_seconds",
            GAUGE,
            ("driver",),
            CLUSTER,
            "How long the pod that waits for this driver for longest has done so; 0: none does.",
        ),
        Metric("dradash_claims", GAUGE, ("state", "class"), CLUSTER, "ResourceClaims by state and class."),
        Metric(
            "dradash_device_claims",
            GAUGE,
            ("state",),
            CLUSTER,
            "ResourceClaims with structured parameters (v1beta1 and later) by state.",
        ),
        Metric(
            "dradash_devices",
            GAUGE,
            ("state", "driver"),
            CLUSTER,
            "Devices in ResourceSlices: free, blocked (not held, but held devices use up counters that it takes), "
            "held, shared (in part), tainted (free, but tainted NoSchedule or NoExecute) or unusable (in a pool that "
            "is incomplete or invalid).",
        ),
        Metric(
            "dradash_class_devices",
            GAUGE,
            ("state", "class"),
            CLUSTER,
            "Devices of usable pools that pass the selectors of a DeviceClass: free, blocked, held, shared or tainted.",
        ),
        Metric(
            "dradash_pools",
            GAUGE,
            ("state", "driver"),
            CLUSTER,
            "Pools of devices by the state of their newest generation: usable, incomplete or invalid.",
        ),
        Metric(
            "dradash_negotiation_age_seconds",
            GAUGE_HISTOGRAM,
            ("acts_next",),
            CLUSTER,
            "Negotiations under way, by who must act, and since when it is that one's turn.",
        ),
        Metric(
            "dradash_verdict_disagreements",
            GAUGE,
            (),
            CLUSTER,
            "Pending pods of which the scheduler says something else than the verdict.",
        ),
        Metric("dradash_findings", GAUGE, ("code", "severity"), CLUSTER, "What the doctor finds now (docs/doctor.md)."),
        Metric(
            "dradash_namespace_pending_pods",
            GAUGE,
            ("namespace", "reason"),
            CLUSTER,
            "Pending pods of the namespaces in DRADASH_METRICS_NAMESPACES, by reason.",
        ),
        Metric(
            "dradash_namespace_claims",
            GAUGE,
            ("namespace", "state"),
            CLUSTER,
            "ResourceClaims of the namespaces in DRADASH_METRICS_NAMESPACES, by state.",
        ),
        Metric(
            "dradash_informer_state",
            GAUGE,
            ("kind", "state"),
            CLUSTER,
            "1 for the state that a watched kind is in.",
        ),
        Metric(
            "dradash_informer_lag_seconds",
            GAUGE,
            ("kind",),
            CLUSTER,
            "Time since the API server was last heard of a kind: an event, a bookmark or a list.",
        ),
        Metric(
            "dradash_informer_events_total",
            COUNTER,
            ("kind",),
            WORKERS,
            "Watch events since the leader began.",
        ),
        Metric(
            "dradash_informer_relists_total",
            COUNTER,
            ("kind",),
            WORKERS,
            "Whole lists after the first one, since the leader began.",
        ),
        Metric(
            "dradash_informer_malformed_total",
            COUNTER,
            ("kind",),
            WORKERS,
            "Objects that could not be read since the leader began.",
        ),
        Metric("dradash_leader_elections_total", COUNTER, (), WORKERS, "Elections of a leader."),
        Metric("dradash_judging_seconds", HISTOGRAM, (), WORKERS, "Time to judge a pod and to store its verdict."),
        Metric(
            "dradash_judging_failures_total", COUNTER, (), WORKERS, "Pods whose judging raised, a mistake of dradash."
        ),
        Metric(
            "dradash_verdict_changes_total",
            COUNTER,
            ("outcome",),
            WORKERS,
            "Verdicts that came to another outcome, or to another one who must act; by the new outcome.",
        ),
        Metric("dradash_judging_queue_pods", GAUGE, (), WORKERS, "Pods that wait to be judged, or are being judged."),
        Metric("dradash_judging_queue_age_seconds", GAUGE, (), WORKERS, "How long the oldest of them has waited."),
        Metric(
            "dradash_driver_response_seconds",
            HISTOGRAM,
            ("driver",),
            PROCESS,
            "Time from when a driver was asked to its answer or allocation, as this process saw it.",
        ),
        Metric("dradash_websocket_clients", GAUGE, (), PROCESS, "Pages that are open and live."),
        Metric(
            "dradash_http_requests_total", COUNTER, ("method", "view", "status"), PROCESS, "HTTP requests answered."
        ),
        Metric(
            "dradash_http_request_duration_seconds", HISTOGRAM, ("view",), PROCESS, "Time to answer an HTTP request."
        ),
        Metric("dradash_build_info", GAUGE, ("version",), PROCESS, "Always 1; the version of dradash."),
    )
}
