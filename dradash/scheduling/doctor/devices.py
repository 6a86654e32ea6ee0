"""What is wrong with devices: pools whose devices nobody gets, and device classes whose selectors find none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from dradash.scheduling import nodechecks
from dradash.scheduling.doctor.demand import expressions, pods_wanting, refused_chains
from dradash.scheduling.doctor.exam import Exam, count, created, identity
from dradash.scheduling.doctor.finding import POOLS, Finding, Ref
from dradash.scheduling.doctor.publishing import drivers_named
from dradash.scheduling.doctor.reach import nodes_in, of_pool
from dradash.scheduling.structured import ledger, matching
from dradash.scheduling.structured.anymatch import Budget, Chain, Look, Reads, anywhere, looks_in
from dradash.scheduling.structured.ledger import PoolState

SLICES: Final = "resourceslices"
ASKED: Final = 100_000  # devices at one look, for pods that bad pools block
NAMED: Final = 3  # pods that a sentence names
_RESTS_ON: Final = ("pods", "nodes", "resourceclaims", "deviceclasses")  # whom a pool blocks
LINKED: Final = 20  # pods that a finding leads to: there may be thousands of pools and of pods


def check(exam: Exam) -> Iterator[Finding]:
    yield from _pools(exam)
    yield from _classes(exam)


def slices_changed(exam: Exam, state: PoolState) -> float:
    """When a slice of the pool changed last, Unix seconds."""
    return max((exam.changed(SLICES, s.name) or created(s) for s in state.slices), default=0.0)


def _pools(exam: Exam) -> Iterator[Finding]:
    bad = [s for s in ledger.pool_states(exam.cluster.inventory) if s.state != ledger.USABLE]
    if not bad:
        return
    chains = refused_chains(exam) if exam.readable.issuperset(_RESTS_ON) else {}
    blocked = _Blocked(exam, chains)
    for state in bad:
        yield from _pool(exam, state, blocked.by(state))


class _Blocked:
    """Pods that wait and could be given devices of a pool, as far as selectors, also of nodes, and node taints go.

    Pools with devices that look the same block the same pods, but for the nodes that they reach.
    """

    def __init__(self, exam: Exam, chains: dict[Chain, list[str]]) -> None:
        self._exam, inventory = exam, exam.cluster.inventory
        self._inventory, self._budget = inventory, Budget(ASKED)
        self._wanted: dict[Reads, list[tuple[frozenset[Look], list[str]]]] = {}
        for chain, pods in chains.items():
            answer = anywhere(inventory, chain, self._budget)
            if answer is not None and answer.matched:
                self._wanted.setdefault(answer.reads, []).append((answer.matched, pods))
        self._known: dict[tuple[frozenset[Look], ...], dict[int, list[str]]] = {}
        self._nodes: dict[str, int] = {}  # those where a pod may run

    def by(self, state: PoolState) -> list[str]:
        """Their keys, sorted."""
        seen = (looks_in(self._inventory, state, reads, self._budget) for reads in self._wanted)
        looks = tuple(frozenset(there or ()) for there in seen)
        if looks not in self._known:
            found: set[str] = set()
            for there, wanted in zip(looks, self._wanted.values(), strict=True):
                for matched, pods in wanted:
                    if not matched.isdisjoint(there):
                        found.update(pods)
            self._known[looks] = self._by_nodes(found)
        reached = nodes_in(of_pool(self._inventory, state), self._exam.cluster.nodes)
        return sorted(pod for nodes, pods in self._known[looks].items() if nodes & reached for pod in pods)

    def _by_nodes(self, pods: Iterable[str]) -> dict[int, list[str]]:
        """By the nodes where they may run; there are few such sets."""
        found: dict[int, list[str]] = {}
        for pod in pods:
            found.setdefault(self._nodes_of(pod), []).append(pod)
        return found

    def _nodes_of(self, pod: str) -> int:
        if pod not in self._nodes:
            of, nodes = self._exam.cluster.pods[pod], self._exam.cluster.nodes
            _, shown = nodechecks.pre_filter(of, nodes)
            _, self._nodes[pod] = nodechecks.check_nodes(of, nodes, shown)
        return self._nodes[pod]


def _pool(exam: Exam, state: PoolState, blocked: list[str]) -> Iterator[Finding]:
    since = slices_changed(exam, state)
    incomplete = state.state == ledger.INCOMPLETE
    if incomplete and not exam.for_longer(since, exam.thresholds.missing):
        return
    devices = count(state.devices, "device")
    if incomplete:
        has = f"{len(state.slices)} of {state.expected} slices of generation {state.generation}"
        sentence = f"Pool {state.id} has {has}: none of its {devices} can be allocated."
    else:
        sentence = f"Pool {state.id} is invalid ({state.invalid}): none of its {devices} can be allocated."
    if blocked:
        more = f" and {len(blocked) - NAMED} more" if len(blocked) > NAMED else ""
        waits = "1 pending pod" if len(blocked) == 1 else f"{len(blocked)} pending pods"
        sentence += f" It keeps back what {waits} could use: {', '.join(blocked[:NAMED])}{more}."
    yield exam.finding(
        "pool-incomplete" if incomplete else "pool-invalid",
        (str(state.id),),
        sentence,
        (
            *(Ref(SLICES, s.name) for s in state.slices),
            Ref(POOLS, str(state.id)),
            *(Ref("pods", key) for key in blocked[:LINKED]),
        ),
        since,
        driver=state.id.driver,
    )


def _classes(exam: Exam) -> Iterator[Finding]:
    inventory = exam.cluster.inventory
    published = {pool.driver for pool in inventory.pool_ids}
    for name, of in exam.cluster.device_classes.items():
        total, left = matching.leaves(inventory, expressions(of.spec.selectors))
        since = exam.changed("deviceclasses", name) or created(of)
        wrong = next((one for one in left if one.error), None)
        if wrong is not None:
            code, sentence = "selector-fails", f"A selector of DeviceClass {name} fails: {wrong.error}."
        elif left and total and not left[-1].devices:
            if not published.issuperset(drivers_named(of)):
                continue  # driver-publishes-nothing tells why
            code = "class-matches-no-device"
            sentence = f"The selectors of DeviceClass {name} leave none of {count(total, 'device')}."
        else:
            continue
        objects = (Ref("deviceclasses", name), *exam.pending_among(pods_wanting(exam, (name,))))
        yield exam.finding(code, (identity(of),), sentence, objects, since, resource_class=name)
