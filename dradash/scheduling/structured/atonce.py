"""Changes that help only at once: as few and as mild ones as possible, told as one."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from dradash.scheduling.structured.advised import Hint, Option
from dradash.scheduling.structured.nodefunnel import NodeFunnel
from dradash.scheduling.structured.trial import Trials, joined

AT_ONCE: Final = 12  # changes that are tried at once; leaving out each is a trial
# After freeing devices. The last ones are left out first.
MILDEST: Final = ("pool", "tolerate", "capacity", "constraint", "selector")


def smallest(trials: Trials, funnel: NodeFunnel, options: list[Option]) -> list[Option]:
    """Those that are needed. options: the mildest first. Empty where not even all of them help, or trials run out."""
    if not options or trials.left <= len(options) or not trials.fits(funnel, joined(o.change for o in options)):
        return []
    needed = list(options)
    for option in reversed(options):
        less = [o for o in needed if o is not option]
        if less and trials.fits(funnel, joined(o.change for o in less)):
            needed = less
    return needed


def at_once(options: list[Option]) -> Hint:
    """options: that were tried at once."""
    hints = [replace(o.hint, verified=True) for o in options]
    first = hints[0]
    if len(hints) == 1:
        return first
    kinds = {h.kind for h in hints}
    is_one = len(kinds) == 1 and first.kind != "selector"
    requests = {(h.claim, h.request) for h in hints}
    acts = dict.fromkeys(o.act or o.hint.sentence for o in options)
    return replace(
        first,
        kind=first.kind if is_one else "together",
        sentence="; and ".join(acts),
        claim=first.claim if len({claim for claim, _ in requests}) == 1 else "",
        request=first.request if len(requests) == 1 else "",
        names=tuple(dict.fromkeys(n for h in hints for n in h.names)),
        devices=tuple(dict.fromkeys(d for h in hints for d in h.devices)),
        claims=tuple(dict.fromkeys(c for h in hints for c in h.claims)),
        pods=tuple(dict.fromkeys(p for h in hints for p in h.pods)),
    )
