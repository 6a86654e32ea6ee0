"""docs/metrics.md: `python -m dradash.metrics.document > docs/metrics.md`."""

from __future__ import annotations

import sys
from typing import Final

from dradash.metrics.bounds import MOST
from dradash.metrics.table import CLUSTER, METRICS, PROCESS, WORKERS

_HEAD: Final = f"""\
# Metrics

`/metrics` of the web process speaks Prometheus' text format. With `DRADASH_AUTH=token` it wants the token as
`Authorization: Bearer`, as every page does; `deploy/kubernetes` shows a scrape configuration.

Label values are bounded: constants, and names of classes and drivers, of which {MOST} are told and the others are
`other`. Names of pods, claims and nodes are never labels; namespaces are only those that `DRADASH_METRICS_NAMESPACES`
lists (separated by commas), in metrics of their own. What is not known is absent, not 0: while Redis cannot be read
only `dradash_model_up` is told, and what rests on a kind that cannot be read is left out. So are findings of a code
that needs such a kind (docs/doctor.md), and all of them while no cluster has ever been watched: absence is no
"resolved". The alerts in deploy/alerts.yaml keep the last known number for an hour then.

A `gaugehistogram` is a histogram of now, not of what has been: take its `_bucket` series without `rate`; the text
format names its sum and count `_gsum` and `_gcount`.

There may be several web processes: each tells the whole cluster from its own copy of the model and counts its own
requests. So take `max` over instances of the first two groups, and `sum` of the third.

This page is made by `python -m dradash.metrics.document`.
"""
_GROUPS: Final = (
    (CLUSTER, "The cluster"),
    (WORKERS, "The workers, all together (through Redis; they start again at 0 when Redis has lost everything)"),
    (PROCESS, "This web process"),
)


def document() -> str:
    parts = [_HEAD]
    for source, title in _GROUPS:
        parts.append(f"## {title}\n\n| metric | type | labels | meaning |\n|---|---|---|---|")
        for metric in METRICS.values():
            if metric.source == source:
                labels = ", ".join(f"`{name}`" for name in metric.labels) or "-"
                parts.append(f"| `{metric.name}` | {metric.type} | {labels} | {metric.help} |")
        parts.append("")
    parts.append("Besides, `process_*` tell memory, CPU and files of the process.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(document())
