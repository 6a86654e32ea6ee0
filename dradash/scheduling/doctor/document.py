"""docs/doctor.md: `python -m dradash.scheduling.doctor.document > docs/doctor.md`."""

from __future__ import annotations

import sys
from typing import Final

import msgspec

from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.doctor.thresholds import MEANINGS, Thresholds

_HEAD: Final = """\
# What the doctor finds

`/doctor` lists what is wrong in the cluster. Each finding has a code, one sentence, the objects, since when, what to do
and a kubectl command that shows it. Its address, `/doctor/<code>.<digest>`, stays the same for as long as it is the
same trouble with the same object (by UID), so it can be linked and alerted on. When it is over, the page says since
when, as far back as the history reaches, also after a restart (decisions/0012-findings-that-are-over.md). Since when it
holds does not move while it holds.

A check is left out while a kind that it needs cannot be read: unknown is not absent.

This page is made by `python -m dradash.scheduling.doctor.document`.

## Codes
"""


def document() -> str:
    defaults = msgspec.structs.asdict(Thresholds())
    parts = [_HEAD]
    for rule in RULES.values():
        parts.append(f"### {rule.code}\n\n**{rule.title}** ({rule.severity}). {rule.meaning}\n\n*Do:* {rule.remedy}\n")
        if rule.threshold:
            name = f"DRADASH_DOCTOR_{rule.threshold.upper()}"
            parts.append(f"*From:* `{name}`, by default {_value(rule.threshold, defaults[rule.threshold])}.\n")
        if rule.needs:
            parts.append(f"*Needs:* {', '.join(rule.needs)}.\n")
    parts.append("## Thresholds\n\n| setting | default | meaning |\n|---|---|---|")
    parts += [
        f"| `DRADASH_DOCTOR_{name.upper()}` | {_value(name, value)} | {MEANINGS[name]} |"
        for name, value in defaults.items()
    ]
    return "\n".join(parts) + "\n"


def _value(name: str, value: float) -> str:
    return f"{value:g}" if name == "changes" else f"{value:g} s"


if __name__ == "__main__":
    sys.stdout.write(document())
