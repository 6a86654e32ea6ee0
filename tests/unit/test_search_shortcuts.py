"""The search's shortcuts change nothing: answers, errors and their words are those of a search without any.

Random small clusters, judged twice: as always, and node by node with nothing but upstream's own order of trying. The
shortcuts: devices that are alike, what cannot suffice, counting what is hopeless, nodes in one situation, answers of
selectors that are kept.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.status import Code, Status
from dradash.scheduling.structured import allocator, nodefilter, plugin, search, selection, shortcuts
from dradash.scheduling.structured.cel import compile_selector
from dradash.scheduling.structured.claims import pod_claims
from dradash.scheduling.structured.cycle import CycleState
from dradash.scheduling.structured.listers import listed
from dradash.scheduling.structured.nodefilter import filter_nodes
from dradash.scheduling.structured.search import Search
from tests import build, builddevices

Raw = dict[str, Any]
DRIVER: Final = "d.io"
MINE: Final = f'device.attributes["{DRIVER}"]'
NODES: Final = 3
SELECTORS: Final = ("true", f'{MINE}.m == "a"', f'{MINE}.?m.orValue("") != "b"', f"{MINE}.numa >= 0", "false")
SEEDS: Final = 500


class Answer(NamedTuple):
    code: Code
    text: str


# --- random clusters -------------------------------------------------------------------------------------------------


def device(choose: random.Random, name: str, *, counters: bool, shared: bool) -> Raw:
    attributes: Raw = {}
    if choose.random() < 0.8:
        attributes["m"] = {"string": choose.choice("aab")}
    if choose.random() < 0.6:
        attributes["numa"] = {"int": choose.randrange(2)}
    more: Raw = {}
    if choose.random() < 0.1:
        more["taints"] = [{"key": "t", "value": "", "effect": "NoSchedule"}]
    if counters and choose.random() < 0.7:
        size = str(choose.randint(1, 2))
        more["consumesCounters"] = [{"counterSet": "card", "counters": {"slots": {"value": size}}}]
    if shared and choose.random() < 0.6:
        more["allowMultipleAllocations"] = True
        if choose.random() < 0.8:
            more["capacity"] = {"memory": {"value": "3"}}
    return {"name": name, "attributes": attributes, **more}


def devices(choose: random.Random, *, counters: bool, shared: bool) -> list[Raw]:
    found = [device(choose, f"d{i}", counters=counters, shared=shared) for i in range(choose.randint(1, 4))]
    return [found[0] | {"name": each["name"]} for each in found] if choose.random() < 0.5 else found


def pools(choose: random.Random) -> list[Raw]:
    """A pool for each node, often the same but for its name, and at times one that all nodes reach."""
    counters, shared = choose.random() < 0.3, choose.random() < 0.25
    models = [devices(choose, counters=counters, shared=shared) for _ in range(2)]
    found: list[Raw] = []
    for node in range(NODES):
        broken = choose.random()
        count = (2 if counters else 1) + (broken < 0.04)
        there = choose.choice(models)
        if broken > 0.96:
            there = [*there, there[0]]
        where: Raw = {"driver": DRIVER, "node": f"node-{node}", "count": count}
        found.append(builddevices.resource_slice(*there, name=f"slice-{node}", **where))
        if counters:
            sets = [{"name": "card", "counters": {"slots": {"value": "3"}}}]
            found.append(builddevices.resource_slice(name=f"card-{node}", sharedCounters=sets, **where))
    if choose.random() < 0.3:
        there = devices(choose, counters=False, shared=shared)
        found.append(builddevices.resource_slice(*there, driver=DRIVER, pool="all", allNodes=True))
    return found


def ask(choose: random.Random, *, admin: bool, all_of: float = 0.3) -> Raw:
    """all_of: how likely it asks for all devices."""
    wanted: Raw = {"deviceClassName": "gpu"}
    if choose.random() < all_of:
        wanted["allocationMode"] = "All"
    else:
        wanted |= {"allocationMode": "ExactCount", "count": choose.choice((1, 1, 1, 2, 3))}
    if choose.random() < 0.4:
        wanted["selectors"] = [{"cel": {"expression": choose.choice(SELECTORS)}}]
    if choose.random() < 0.2:
        wanted["tolerations"] = [{"key": "t", "operator": "Exists"}]
    if choose.random() < 0.1:
        wanted["capacity"] = {"requests": {"memory": choose.choice(("1", "2"))}}
    if admin and choose.random() < 0.1:
        wanted["adminAccess"] = True
    return wanted


def devices_of(choose: random.Random) -> Raw:
    requests: list[Raw] = []
    names = ("one", "two", "three")[: choose.choice((1, 2, 2, 3))]
    all_behind = choose.random() < 0.5  # all devices, behind requests that have taken some, and constrained
    for name in names:
        if all_behind and name == names[-1]:
            requests.append({"name": name, "exactly": ask(choose, admin=False, all_of=1)})
        elif choose.random() < 0.25:
            subs = [{"name": s, **ask(choose, admin=False)} for s in ("x", "y")]
            requests.append({"name": name, "firstAvailable": subs})
        else:
            requests.append({"name": name, "exactly": ask(choose, admin=True)})
    constraints: list[Raw] = []
    if all_behind:
        constraints.append({"matchAttribute": f"{DRIVER}/numa", "requests": [names[-1]]})
    while choose.random() < 0.45 and len(constraints) < 2:
        kind = "matchAttribute" if choose.random() < 0.8 else "distinctAttribute"
        about = [name for name in names if choose.random() < 0.5]
        named = {"requests": about} if about else {}
        constraints.append({kind: f"{DRIVER}/{choose.choice(('numa', 'm'))}", **named})
    return {"requests": requests, **({"constraints": constraints} if constraints else {})}


def random_cluster(seed: int) -> Cluster:
    choose = random.Random(seed)
    found = pools(choose)
    held = [
        builddevices.result(each["name"], pool=item["spec"]["pool"]["name"], driver=DRIVER)
        for item in found
        for each in item["spec"].get("devices", ())
        if choose.random() < 0.15 and not each.get("allowMultipleAllocations")
    ]
    claims = {f"c{i}": devices_of(choose) for i in range(choose.choice((1, 1, 2)))}
    return build.cluster(
        *build.nodes(NODES),
        builddevices.device_class("gpu", *([choose.choice(SELECTORS)] if choose.random() < 0.1 else [])),
        *found,
        *([builddevices.claim("holder", devices=held)] if held else []),
        *(builddevices.claim(name, spec=spec) for name, spec in claims.items()),
        build.pod(claims={name: name for name in claims}),
    )


def admin_cluster(seed: int) -> Cluster:
    """Claims with admin access to what others of the pod have, and as few devices as they can do with."""
    choose = random.Random(seed)
    claims: Raw = {}
    alone = 0
    for i in range(choose.randint(2, 3)):
        requests = []
        for name in ("one", "two", "three")[: choose.randint(1, 3)]:
            wanted: Raw = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
            if choose.random() < (0.9 if i == 0 else 0.6):
                wanted["adminAccess"] = True
            if choose.random() < (0.8 if i == 0 else 0.15):
                test = choose.choice(("", "!"))
                wanted["selectors"] = [{"cel": {"expression": f'{test}("m" in {MINE})'}}]
            alone += "adminAccess" not in wanted
            requests.append({"name": name, "exactly": wanted})
        claims[f"c{i}"] = {"requests": requests}
    has_m = [choose.random() < 0.5 for _ in range(max(2, *(len(c["requests"]) for c in claims.values()), alone))]
    there = [{"name": f"d{i}", "attributes": {"m": {"string": "a"}} if m else {}} for i, m in enumerate(has_m)]
    return build.cluster(
        *build.nodes(1),
        builddevices.device_class("gpu"),
        builddevices.resource_slice(*there, driver=DRIVER, node="node-0"),
        *(builddevices.claim(name, spec=spec) for name, spec in claims.items()),
        build.pod(claims={name: name for name in claims}),
    )


# --- judged with shortcuts and without -------------------------------------------------------------------------------


def state_of(cluster: Cluster) -> CycleState | None:
    pod = cluster.pods["default/pod"]
    caches = listed(cluster)
    state, status = plugin.pre_filter(pod, caches, pod_claims(pod, caches.claims))
    return state if status.is_success else None


def answers(state: CycleState, statuses: dict[str, Status]) -> dict[str, Answer | list[Any]]:
    """Of each node; where it fits, what would be taken there."""
    return {
        name: list(state.node_allocations[name].results) if status.is_success else Answer(status.code, status.message)
        for name, status in statuses.items()
    }


def each_node(state: CycleState, cluster: Cluster) -> dict[str, Answer | list[Any]]:
    return answers(state, {n: plugin.filter_node(state, node, 0.0) for n, node in cluster.nodes.by_name.items()})


def without_shortcuts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(search, "leaves_nothing_behind", lambda *_: False)
    patch.setattr(Search, "_is_hopeless", lambda _: False)
    patch.setattr(
        selection,
        "asked_of",
        lambda e, driver, one, left: selection._evaluated(compile_selector(e), driver, one, left),
    )


def check(cluster: Cluster, limit: int) -> Counter[Code]:
    """limit: the most devices that a claim may get."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (search, shortcuts, allocator):
            patch.setattr(module, "MAX_RESULTS", limit)
        patch.setattr(allocator, "STEPS", 10_000_000)
        patch.setattr(search, "COUNTS_AFTER", range(40))
        with pytest.MonkeyPatch.context() as inner:
            without_shortcuts(inner)
            plain = state_of(cluster)
            if plain is None:
                return Counter()
            expected = each_node(plain, cluster)
        state = state_of(cluster)
        assert state is not None
        assert each_node(state, cluster) == expected
        state = state_of(cluster)
        assert state is not None
        check_together(state, cluster, expected)
        patch.setattr(nodefilter, "MANY", 0)
        check_together(state, cluster, expected)
    return Counter(Code.SUCCESS if isinstance(a, list) else a.code for a in expected.values())


def check_together(state: CycleState, cluster: Cluster, expected: dict[str, Answer | list[Any]]) -> None:
    """Nodes of one situation are answered at once: an error has the words that it has on the first of them."""
    found = filter_nodes(state, cluster.nodes, cluster.nodes.all, 0.0)
    wrong = [a.text for a in expected.values() if isinstance(a, Answer) and a.code is Code.ERROR]
    assert set(found.errors) == set(wrong)
    for status, members in found.statuses:
        names = cluster.nodes.names(members)
        for name in names:
            answer = expected[name]
            code = Code.SUCCESS if isinstance(answer, list) else answer.code
            assert code is status.code
            if isinstance(answer, Answer) and code is not Code.ERROR:
                assert answer.text == status.message


def cases(first: int, count: int, made: Callable[[int], Cluster] = random_cluster) -> Counter[Code]:
    seen: Counter[Code] = Counter()
    for seed in range(first, first + count):
        try:
            seen += check(made(seed), 3 if seed % 4 == 0 else 32)
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}: {wrong}") from wrong
    return seen


def test_a_search_with_shortcuts_ends_as_one_without_them() -> None:
    seen = cases(0, SEEDS)
    assert min(seen[code] for code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR)) > SEEDS // 10


def test_admin_access_in_several_claims_of_a_pod_changes_that_in_nothing() -> None:
    seen = cases(0, 2 * SEEDS, admin_cluster)
    assert min(seen[code] for code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)) > SEEDS // 10
