"""What is advised about whole claims: their requests together ask for too much."""

from __future__ import annotations

from dradash.kinds.deviceclaim import ALL, MAX_RESULTS
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.nodefunnel import NodeFunnel


def over_limit(funnel: NodeFunnel, *, everywhere: bool) -> list[Hint]:
    """Claims that ask for more devices than the API lets a claim have: no other change helps."""
    hints = []
    for claim, courses in zip(funnel.claims, funnel.courses, strict=True):
        least = _least(courses)
        if least <= MAX_RESULTS:
            continue
        name, node = object_name(claim), ""
        if any(c.request.mode == ALL for c in courses):
            node = funnel.node.name  # elsewhere all may be fewer
        sentence = f"claim {name} asks for {least} devices{f' on {node}' if node and everywhere else ''}"
        sentence += f", and a claim may have {MAX_RESULTS} at most"
        hints.append(Hint(kind="limit", sentence=sentence, claim=name, request="", node=node, verified=False))
    return hints


def compete(funnel: NodeFunnel) -> Hint:
    """Each request finds enough devices, and not all of them together do."""
    left = {f.id for courses in funnel.courses for c in courses for f in c.left}
    needed = sum(map(_least, funnel.courses))
    sentence = "each request finds enough devices alone; together they do not (constraints, capacity or counters)"
    if needed > len(left):
        sentence = f"each request finds enough devices alone; together they need {needed}, and {len(left)} are left"
    return Hint(kind="together", sentence=sentence, claim="", request="", node=funnel.node.name, verified=False)


def _least(courses: list[Course]) -> int:
    """Devices that a claim needs, with the alternative of each request that needs the fewest."""
    return sum(min(c.needed for c in courses if c.group == group) for group in {c.group for c in courses})
