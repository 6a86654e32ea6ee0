"""The cluster's devices adjusted change by change, and nodes asked by their situation: the same as all over again."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from unittest import mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.kinds.registry import KINDS, decode, read_object
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling import nodeset
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.status import Code
from dradash.scheduling.structured import columns, matching, nodefilter, plugin, search, vectors
from dradash.scheduling.structured.claims import pod_claims
from dradash.scheduling.structured.cycle import CycleState, Listed
from dradash.scheduling.structured.devices import AllocatedState, AllocationError
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import devices_in, pool_states
from dradash.scheduling.structured.listers import listed
from dradash.scheduling.structured.nodefilter import filter_nodes
from dradash.scheduling.structured.pools import Pool, PoolID, concerning, gathered
from dradash.scheduling.structured.reading import EVERYTHING, Reading
from tests import build
from tests import builddevices as devices

VECTORS: Final = Path(__file__).parents[1] / "parity" / "data" / "structured.jsonl.gz"
DRIVERS: Final = ("gpu.example.com", "nic.example.com")
NODES: Final = tuple(f"node-{i}" for i in range(4))
SLICES: Final = tuple(f"slice-{i}" for i in range(6))
MODELS: Final = ("a100", "h100")
TAINT: Final = {"key": "broken", "effect": "NoSchedule"}
# Not a quantity: what the claim takes is then not known.
AMOUNTS: Final = ("1Gi", "512Mi", "1.5Gi", "0", "much")


# --- random parts of clusters ----------------------------------------------------------------------------------------


def random_device(choose: random.Random, name: str, *, broken: float = 0.1) -> build.Obj:
    more: build.Obj = {}
    if choose.random() < 0.2:
        more["taints"] = [TAINT]
    if choose.random() < 0.3:
        more |= {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "4Gi"}}}
    if choose.random() < broken:
        more["attributes"] = {"model": {"version": "no version"}}
    return devices.device(name, choose.choice(MODELS), **more)


def consumption(choose: random.Random) -> build.Obj:
    counters = {"memory": {"value": choose.choice(("1Gi", "2Gi", "4Gi"))}}
    return {"consumesCounters": [{"counterSet": "set-0", "counters": counters}]}


def partitioned(choose: random.Random, node: str, driver: str) -> list[build.Obj]:
    """A pool whose devices share counters, in most cases one that can be used."""
    pool = node if choose.random() < 0.9 else choose.choice(NODES)
    made = [random_device(choose, f"dev-{i}", broken=0.01) | consumption(choose) for i in range(choose.randint(1, 4))]
    counters = [{"name": "set-0", "counters": {"memory": {"value": choose.choice(("2Gi", "4Gi", "4Gi"))}}}]
    more: dict[str, Any] = {"node": node, "pool": pool, "driver": driver, "count": 2 if choose.random() < 0.95 else 3}
    name = f"{node}-{driver}"
    generation = 1 if choose.random() < 0.95 else 2
    return [
        devices.resource_slice(*made, name=name, generation=generation, **more),
        devices.resource_slice(name=f"{name}-counters", sharedCounters=counters, **more),
    ]


def random_slice(choose: random.Random, name: str) -> build.Obj:
    where: dict[str, Any] = {"node": choose.choice(NODES)}
    pool = str(where["node"])
    kind = choose.random()
    if kind < 0.15:
        where, pool = {"allNodes": True}, "fabric"
    elif kind < 0.3:
        where, pool = {"nodeSelector": build.with_labels(zone=choose.choice("ab"))}, "fabric"
    elif kind < 0.4:
        where, pool = {"perDeviceNodeSelection": True}, "mixed"
    made = [random_device(choose, f"dev-{i}") for i in range(choose.randrange(4))]
    if choose.random() < 0.2:
        counters = {"memory": {"value": choose.choice(("4Gi", "8Gi"))}}
        made, where = [], where | {"sharedCounters": [{"name": "set-0", "counters": counters}]}
    elif choose.random() < 0.3:
        made = [device | consumption(choose) for device in made]
    if pool == "mixed":
        made = [d | choose.choice([{"allNodes": True}, {"nodeName": choose.choice(NODES)}]) for d in made]
    return devices.resource_slice(
        *made,
        pool=pool,
        name=name,
        driver=choose.choice(DRIVERS),
        generation=choose.choice((1, 1, 2)),
        count=choose.choice((1, 1, 1, 2)),
        **where,
    )


def random_result(choose: random.Random) -> build.Obj:
    more: build.Obj = {}
    if choose.random() < 0.4:
        more = {"shareID": str(choose.random()), "consumedCapacity": {"memory": choose.choice(AMOUNTS)}}
    elif choose.random() < 0.2:
        more = {"adminAccess": True}
    pool, driver = choose.choice((*NODES, "fabric", "mixed")), choose.choice(DRIVERS)
    return devices.result(f"dev-{choose.randrange(3)}", pool=pool, driver=driver, **more)


def random_holder(choose: random.Random, name: str) -> build.Obj:
    return devices.claim(name, devices=[random_result(choose) for _ in range(choose.randrange(3))])


def random_node(choose: random.Random, name: str) -> build.Obj:
    return build.node(name, labels={"zone": choose.choice("ab")})


def of_slice(obj: build.Obj) -> ResourceSlice:
    return decode(ResourceSlice, build.raw(obj))


def of_claim(obj: build.Obj) -> ResourceClaim:
    return decode(ResourceClaim, build.raw(obj))


def of_node(obj: build.Obj) -> Node:
    return decode(Node, build.raw(obj))


# --- the inventory ---------------------------------------------------------------------------------------------------


def taken(state: AllocatedState) -> Any:
    """Amounts that are zero say nothing."""
    capacity = {d: {n: str(q) for n, q in have.items() if not q.is_zero} for d, have in state.capacity.items()}
    return state.devices, state.shared, {device: have for device, have in capacity.items() if have}


def pools(inventory: Inventory, node: Node) -> Any:
    try:
        return told(inventory.pools(node))
    except AllocationError as error:
        return str(error)


def pools_of(slices: Mapping[str, ResourceSlice], node: Node) -> Any:
    """From all slices, as upstream gathers them."""
    try:
        return told(
            gathered(concerning(slices.values(), node), lambda id_: [s for s in slices.values() if of(s) == id_])
        )
    except AllocationError as error:
        return str(error)


def of(item: ResourceSlice) -> PoolID:
    return PoolID(item.spec.driver, item.spec.pool.name)


def told(found: Iterable[Pool]) -> Any:
    """Less those that can be used and have nothing here."""
    return [
        (
            *(pool.id, pool.is_incomplete, pool.invalid_reason, pool.counter_sets),
            *(sorted(s.name for s in slices) for slices in (pool.here, pool.elsewhere)),
        )
        for pool in found
        if pool.here or not pool.is_usable
    ]


def alike(inventory: Inventory, reading: Reading, nodes: NodeTable) -> set[frozenset[str]]:
    return {frozenset(nodes.names(members)) for members in inventory.situations(reading, nodes).values()}


class Twin:
    """An inventory that follows changes, and what it should be the same as."""

    def __init__(self) -> None:
        self.inventory = Inventory()
        self.slices: dict[str, ResourceSlice] = {}
        self.claims: dict[str, ResourceClaim] = {}
        self.nodes = NodeTable()

    def change(self, choose: random.Random) -> None:
        match choose.randrange(6):
            case 0 | 1:
                name = choose.choice(SLICES)
                new = of_slice(random_slice(choose, name)) if choose.random() < 0.8 else None
                _put(self.slices, name, new)
                self.inventory.put_slice(name, new)
            case 2 | 3 | 4:
                key = f"default/claim-{choose.randrange(4)}"
                claim = of_claim(random_holder(choose, key)) if choose.random() < 0.8 else None
                _put(self.claims, key, claim)
                self.inventory.put_claim(key, claim)
            case _:
                node = choose.choice(NODES)
                if choose.random() < 0.8:
                    self.nodes.put(of_node(random_node(choose, node)))
                else:
                    self.nodes.remove(node)
                self.inventory.node_changed(node)

    def check(self, inventory: Inventory) -> None:
        anew = Inventory(self.slices.values(), self.claims)
        assert inventory.slices == anew.slices
        assert taken(inventory.taken) == taken(anew.taken)
        assert {k: str(e) for k, e in inventory.faults.items()} == {k: str(e) for k, e in anew.faults.items()}
        assert inventory.label_keys() == anew.label_keys()
        for node in self.nodes.by_name.values():
            assert pools(inventory, node) == pools(anew, node) == pools_of(self.slices, node)
        for reading in (Reading(), EVERYTHING):
            assert alike(inventory, reading, self.nodes) == alike(anew, reading, self.nodes)


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    into.pop(key, None)
    if value is not None:
        into[key] = value


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 25))
def test_adjusted_change_by_change_it_is_as_if_built_anew(seed: int, changes: int) -> None:
    choose = random.Random(seed)
    twin = Twin()
    for _ in range(changes):
        twin.change(choose)
        twin.check(twin.inventory)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_a_copy_is_the_same_and_goes_its_own_way(seed: int) -> None:
    choose = random.Random(seed)
    twin = Twin()
    for _ in range(12):
        twin.change(choose)
    original, twin.inventory = twin.inventory, twin.inventory.copy()
    before = (taken(original.taken), dict(original.slices))
    twin.check(twin.inventory)
    for _ in range(12):
        twin.change(choose)
    twin.check(twin.inventory)
    assert (taken(original.taken), original.slices) == before


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_what_selectors_leave_is_what_each_device_says(seed: int) -> None:
    choose = random.Random(seed)
    twin = Twin()
    for _ in range(8):
        twin.change(choose)
        chain = tuple(choose.choice(SELECTORS[:4]) for _ in range(choose.randint(1, 2)))
        usable = [state for state in pool_states(twin.inventory) if state.state == "usable"]
        said = [matching.match(one, chain) for state in usable for one in devices_in(state.slices)]
        total, left = matching.leaves(twin.inventory, chain)
        assert total == len(said)
        for index, each in enumerate(left):
            assert each.devices == sum(match.matches or match.at > index for match in said)
            failed = [match.error for match in said if match.at == index and match.error]
            assert (each.failed, each.error) == (len(failed), failed[0] if failed else "")


def test_columns_begin_again_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST", 1)
    choose = random.Random(1)
    twin = Twin()
    for name in NODES:
        twin.nodes.put(of_node(random_node(choose, name)))
    first = twin.inventory.columns
    for _ in range(60):
        twin.change(choose)
        twin.check(twin.inventory)
        assert not twin.inventory.columns.is_full
    assert twin.inventory.columns is not first


def test_two_claims_may_say_that_they_hold_one_device_and_it_is_free_when_both_are_gone() -> None:
    inventory = Inventory()
    holders = [of_claim(devices.claim(name, devices=[devices.result("gpu-0")])) for name in ("a", "b")]
    for claim in holders:
        inventory.put_claim(claim.key, claim)
    inventory.put_claim(holders[0].key, None)
    assert len(inventory.taken.devices) == 1
    inventory.put_claim(holders[1].key, None)
    assert inventory.taken.devices == set()


# --- nodes by situation ----------------------------------------------------------------------------------------------

MINE: Final = 'device.attributes["gpu.example.com"]'
SELECTORS: Final = (
    "true",
    f'{MINE}.model == "a100"',
    'device.driver == "gpu.example.com"',
    f"{MINE}.nothing == 1",
    "(",
)


def random_request(choose: random.Random, name: str, selectors: Sequence[str] = SELECTORS) -> build.Obj:
    def asked() -> build.Obj:
        made = devices.exactly("gpu", choose.randint(1, 3), [choose.choice(selectors)] if choose.random() < 0.7 else ())
        if choose.random() < 0.3:
            made["tolerations"] = [{"key": "broken", "operator": "Exists"}]
        if choose.random() < 0.15:
            made = {k: v for k, v in made.items() if k != "count"} | {"allocationMode": "All"}
        if choose.random() < 0.2:
            made["capacity"] = {"requests": {"memory": "1Gi"}}
        return made

    if choose.random() < 0.25:
        return {"name": name, "firstAvailable": [{"name": n, **asked()} for n in ("best", "good")]}
    return {"name": name, "exactly": asked()}


def random_cluster(choose: random.Random) -> tuple[Cluster, Pod]:
    objects = [random_node(choose, name) for name in NODES]
    objects += [random_slice(choose, name) for name in SLICES]
    objects += [random_holder(choose, f"holder-{i}") for i in range(3)]
    objects.append(devices.device_class("gpu", *([choose.choice(SELECTORS[:3])] if choose.random() < 0.5 else ())))
    requests = [random_request(choose, f"r{i}") for i in range(choose.randint(1, 2))]
    claim = devices.claim("mine", "default", *requests)
    if choose.random() < 0.3:
        names = ("r0/best" if "firstAvailable" in requests[0] else "r0",)
        claim["spec"]["devices"]["constraints"] = [{"requests": list(names), "matchAttribute": "gpu.example.com/model"}]
    objects.append(claim)
    if choose.random() < 0.3:
        on = build.with_labels(zone="a") if choose.random() < 0.7 else None
        objects.append(devices.claim("other", devices=[random_result(choose)], on=on))
    pod = build.pod("p", claims={"a": "mine", "b": "other"} if len(objects) > 15 else {"a": "mine"})
    cluster = build.cluster(*objects, pod)
    return cluster, cluster.pods["default/p"]


def partitioned_cluster(choose: random.Random) -> tuple[Cluster, Pod]:
    """Nodes whose devices share counters, many of them alike."""
    few, alike_ones = random.Random(choose.random()), random.Random(choose.random())
    seeds = [alike_ones.random() for _ in range(1 if few.random() < 0.5 else 2)]
    objects = [random_node(choose, name) for name in NODES]
    for node in NODES:
        same = random.Random(choose.choice(seeds))
        for driver in DRIVERS[: 1 if choose.random() < 0.7 else 2]:
            objects += partitioned(same, node, driver)
        if few.random() < 0.5:
            taken = [devices.result(f"dev-{few.randrange(3)}", pool=node)]
            objects.append(devices.claim(f"holder-{node}", devices=taken))
    if choose.random() < 0.15:
        objects.append(random_slice(choose, "one-more"))
    objects.append(devices.device_class("gpu"))
    requests = [
        random_request(choose, f"r{i}", ("true", 'device.driver == "gpu.example.com"'))
        for i in range(choose.randint(1, 2))
    ]
    objects.append(devices.claim("mine", "default", *requests))
    pod = build.pod("p", claims={"a": "mine"})
    cluster = build.cluster(*objects, pod)
    return cluster, cluster.pods["default/p"]


def begun(pod: Pod, caches: Listed) -> CycleState | None:
    """None where PreFilter refuses the pod."""
    state, status = plugin.pre_filter(pod, caches, pod_claims(pod, caches.claims))
    return state if status.is_success else None


def one_by_one(state: CycleState, nodes: Iterable[Node]) -> dict[str, tuple[Code, tuple[str, ...], int]]:
    answers = {}
    for node in nodes:
        status = plugin.filter_node(state, node, build.NOW)
        answers[node.name] = (status.code, status.reasons, plugin.score(state, node.name) if status.is_success else 0)
    return answers


def at_once(state: CycleState, nodes: NodeTable) -> dict[str, tuple[Code, tuple[str, ...], int]]:
    found = filter_nodes(state, nodes, nodes.all, build.NOW)
    scores = {name: value for value, members in found.scores for name in nodes.names(members)}
    answers = {}
    for status, members in found.statuses:
        for slot in nodeset.slots(members):
            name = nodes.name(slot)
            answers[name] = (status.code, status.reasons, scores.get(name, 0))
    return answers


def compared(pod: Pod, first: Listed, second: Listed, nodes: NodeTable) -> Mapping[str, Any] | None:
    """The answers, after a look at whether both ways give the same ones. Listed twice: neither may help the other."""
    state, again = begun(pod, first), begun(pod, second)
    if state is None or again is None:
        return None
    slow = one_by_one(state, nodes.by_name.values())
    for many in (nodefilter.MANY, 0):  # by the values that selectors see, and by what they say of them
        with mock.patch.object(nodefilter, "MANY", many):
            check_alike(slow, again, nodes)
    return slow


def check_alike(slow: Mapping[str, Any], again: CycleState, nodes: NodeTable) -> None:
    quick = at_once(again, nodes)
    assert slow.keys() == quick.keys()
    for name, answer in slow.items():
        if answer[0] is Code.ERROR:  # its words may be those of another node's pool: the attempt ends anyway
            assert quick[name][0] is Code.ERROR
        else:
            assert quick[name] == answer, name
    said = {reasons for code, reasons, _ in slow.values() if code is Code.ERROR}
    told = filter_nodes(again, nodes, nodes.all, build.NOW).errors
    assert {(text,) for text in told} == said


@pytest.mark.parametrize("cluster_of", [random_cluster, partitioned_cluster])
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_asking_one_node_of_each_situation_says_what_asking_each_node_says(
    cluster_of: Callable[[random.Random], tuple[Cluster, Pod]], seed: int
) -> None:
    cluster, pod = cluster_of(random.Random(seed))
    fresh = build.cluster(*(json.loads(raw) for of_kind in cluster.raw.values() for raw in of_kind.values()))
    compared(pod, listed(cluster), listed(fresh), cluster.nodes)


@pytest.mark.parametrize("cluster_of", [random_cluster, partitioned_cluster])
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), after=st.integers(1, 8))
def test_counting_soon_says_what_the_search_says(
    cluster_of: Callable[[random.Random], tuple[Cluster, Pod]], seed: int, after: int
) -> None:
    cluster, pod = cluster_of(random.Random(seed))
    answers: list[Any] = []
    for steps in ((after,), ()):
        with mock.patch.object(search, "COUNTS_AFTER", steps):
            state = begun(pod, listed(cluster))
            answers.append(one_by_one(state, cluster.nodes.by_name.values()) if state is not None else None)
    assert answers[0] == answers[1]


def test_nodes_whose_devices_share_counters_alike_are_in_one_situation() -> None:
    """And those of which more is taken in another; a node whose pool has the name of another one's is like no other."""
    objects: list[build.Obj] = [build.node(name) for name in NODES]
    for name in NODES:
        objects += partitioned(random.Random(1), name, DRIVERS[0])
    objects.append(devices.claim("holder", devices=[devices.result("dev-0", pool="node-3")]))
    cluster = build.cluster(*objects)
    inventory = cluster.inventory
    assert alike(inventory, Reading(), cluster.nodes) == {frozenset(NODES[:3]), frozenset(NODES[3:])}
    also = of_slice(partitioned(random.Random(1), "node-0", DRIVERS[1])[0])
    pool = msgspec.structs.replace(also.spec.pool, name="node-1")
    inventory.put_slice("also", msgspec.structs.replace(also, spec=msgspec.structs.replace(also.spec, pool=pool)))
    found = alike(inventory, Reading(), cluster.nodes)
    assert frozenset(("node-1",)) in found
    inventory.put_slice("also", None)
    assert alike(inventory, Reading(), cluster.nodes) == {frozenset(NODES[:3]), frozenset(NODES[3:])}
    for broken in ("broken", "broken-too"):
        lone = devices.resource_slice(pool=broken, count=2, sharedCounters=[{"name": "set-0", "counters": {}}])
        inventory.put_slice(broken, of_slice(lone))
        assert alike(inventory, Reading(), cluster.nodes) == {frozenset(NODES[:3]), frozenset(NODES[3:])}


def test_the_random_clusters_have_all_sorts_of_answers() -> None:
    codes: set[str] = set()
    for seed in range(150):
        cluster, pod = (random_cluster, partitioned_cluster)[seed % 2](random.Random(seed))
        answers = compared(pod, listed(cluster), listed(cluster), cluster.nodes) or {}
        codes.update(answer[0] for answer in answers.values())
        if len(set(answers.values())) > 1:
            codes.add("several in one cluster")
    assert codes >= {Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR, "several in one cluster"}


def test_on_the_vectors_inputs_too() -> None:
    compared_cases = 0
    with gzip.open(VECTORS, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            case = json.loads(line)["input"]
            if case["op"] != "cycle" or number % 5:
                continue
            nodes = NodeTable()
            for raw in case.get("nodes") or ():
                nodes.put(decode(Node, raw))
            if compared(decode(Pod, case["pod"]), vectors.listed(case), vectors.listed(case), nodes) is not None:
                compared_cases += 1
    assert compared_cases > 250


# --- reading objects -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
@pytest.mark.parametrize(
    "obj",
    [
        devices.claim("c", devices=[devices.result("gpu-0")]),
        devices.resource_slice(devices.device("gpu-0")),
        devices.device_class("gpu", "true"),
    ],
    ids=lambda obj: obj["kind"],
)
def test_an_object_reads_the_same_in_every_version_that_has_its_shape(obj: build.Obj, version: str) -> None:
    kind = KINDS[build.plural(obj)]
    read = read_object(kind, build.raw({**obj, "apiVersion": f"resource.k8s.io/{version}"}))
    assert type(read) is kind.struct
    assert read == read_object(kind, build.raw(obj))


def test_v1beta1_reads_as_v1_and_v1alpha2_as_itself() -> None:
    kind = KINDS["resourceclaims"]
    flat = devices.claim("c") | {"apiVersion": "resource.k8s.io/v1beta1"}
    flat["spec"] = {"devices": {"requests": [{"name": "gpu", **devices.exactly()}]}}
    assert read_object(kind, build.raw(flat)) == read_object(kind, build.raw(devices.claim("c")))
    assert type(read_object(kind, build.raw(build.claim("c")))) is kind.classic


def test_an_object_without_a_version_reads_as_v1() -> None:
    kind = KINDS["resourceclaims"]
    bare = {k: v for k, v in devices.claim("c").items() if k != "apiVersion"}
    assert read_object(kind, build.raw(bare)) == read_object(kind, build.raw(devices.claim("c")))


def test_nodes_are_told_apart_by_what_a_selector_says_where_each_device_has_a_value_of_its_own() -> None:
    def slice_of(node: int, serial: str) -> build.Obj:
        made = devices.device("dev-0", attributes={"serial": {"string": serial}})
        return devices.resource_slice(made, name=f"slice-{node}", node=f"node-{node}")

    count = nodefilter.MANY + 16
    request = devices.request("r", "gpu", 1, [f'{MINE}.serial == "wanted"'])
    objects: list[build.Obj] = [build.node(f"node-{i}") for i in range(count)]
    objects += [slice_of(i, f"serial-{i}") for i in range(count)]
    objects += [devices.device_class("gpu"), devices.claim("claim", "default", request)]
    cluster = build.cluster(*objects, build.pod("pod", claims={"c": "claim"}))
    pod = cluster.pods["default/pod"]

    def fits() -> tuple[list[str], int]:
        state = begun(pod, listed(cluster))
        assert state is not None
        with mock.patch.object(plugin, "filter_node", wraps=plugin.filter_node) as asked:
            found = filter_nodes(state, cluster.nodes, cluster.nodes.all, build.NOW)
        return cluster.nodes.names(found.feasible), asked.call_count

    assert fits() == ([], 1)
    for serial, expected in (("wanted", (["node-7"], 2)), ("other", ([], 1))):
        cluster.inventory.put_slice("slice-7", of_slice(slice_of(7, serial)))
        assert fits() == expected
