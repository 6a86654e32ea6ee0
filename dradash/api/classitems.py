"""What both kinds of classes tell beside themselves: claims by state and pods that wait, and when these change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from dradash.api.asking import Ask
from dradash.reader.tallies import Tallies, waited_for
from dradash.reader.world import World
from dradash.scheduling.claimfacts import class_kind, class_names_of
from dradash.store.model import VERDICTS
from dradash.store.replica import Applied


class ClassItem(msgspec.Struct, frozen=True):
    """of: the kind's struct. claims: that ask for it, by state. waiting: pending pods with such a claim.

    nodes: of a ResourceClass: how many its selector leaves, None where it is invalid or the class is gone.
    """

    name: str
    of: Any
    claims: Mapping[str, int]
    waiting: int
    nodes: int | None = None


def class_item(kind: str, of: Any, tallies: Tallies) -> ClassItem:
    return ClassItem(of.name, of, tallies.claims(kind, of.name), tallies.waiting[kind, of.name])


def class_items(
    kind: str, keeps: Callable[[Ask, Any], bool]
) -> Callable[[Ask, World, Iterable[str] | None], Iterator[ClassItem]]:
    """keeps: whether the filters leave the class."""

    def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[ClassItem]:
        classes, tallies = world.cluster.objects(kind), ask.tallies(world)
        for name in classes if keys is None else [k for k in keys if k in classes]:
            if keeps(ask, classes[name]):
                yield class_item(kind, classes[name], tallies)

    return items


def class_touched(kind: str, matters: Callable[[Applied], bool]) -> Callable[[Ask, World, Applied], Iterable[str]]:
    """matters: whether a change of yet another kind may show on the rows of all classes, which are few."""

    def touched(ask: Ask, world: World, applied: Applied) -> Iterable[str]:  # noqa: ARG001 - as every resource's
        change, old, new = applied.change, applied.old, applied.new
        if change.kind == kind:
            return (change.key,)
        if matters(applied):
            return tuple(world.cluster.objects(kind))
        if change.kind == "resourceclaims":
            claims = [c for c in (old, new) if c is not None and class_kind(c) == kind]
            return {name for claim in claims for name in class_names_of(claim)}
        if change.kind == VERDICTS:
            verdicts = [v for v in (old, new) if v is not None]
        elif change.kind == "pods" and pending_changed(applied):
            verdicts = [v for v in (world.verdicts.get(change.key),) if v is not None]
        else:
            return ()
        return {name for verdict in verdicts for of, name in waited_for(verdict) if of == kind}

    return touched


def pending_changed(applied: Applied) -> bool:
    """Whether the change of a pod made it wait for the scheduler, or not any more."""
    was, now = (pod is not None and pod.is_pending for pod in (applied.old, applied.new))
    return bool(was != now)
