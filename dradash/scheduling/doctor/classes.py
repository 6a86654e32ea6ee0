"""Classes whose filter lets no node through, or is none."""

from __future__ import annotations

from collections.abc import Iterator

from dradash.scheduling.doctor import lasting
from dradash.scheduling.doctor.exam import Exam, created, identity
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.nodetable import InvalidSelector


def check(exam: Exam) -> Iterator[Finding]:
    for key, resource_class in exam.cluster.classes.items():
        if resource_class.suitable_nodes is None:
            continue
        try:
            if exam.cluster.nodes.matching(resource_class.suitable_nodes):
                continue
            code, sentence = "class-matches-no-node", f"The node filter of ResourceClass {key} matches no node."
        except InvalidSelector as error:
            code, sentence = "class-filter-invalid", f"The node filter of ResourceClass {key} is invalid: {error}."
        yield exam.finding(
            code,
            (identity(resource_class),),
            sentence,
            (Ref("resourceclasses", key), *exam.hanging(unallocated(exam, key))),
            exam.lasts("resourceclasses", key, lasting.filters(resource_class)) or created(resource_class),
            resource_class=key,
            driver=resource_class.driver_name,
        )


def unallocated(exam: Exam, resource_class: str) -> list[str]:
    """Keys of claims of the class that may still need it."""
    claims = exam.cluster.claims
    return [k for k in exam.cluster.claims_by_class.members(resource_class) if claims[k].status.allocation is None]
