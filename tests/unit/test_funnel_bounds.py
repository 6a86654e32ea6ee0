"""The funnel of a large pod is bounded by looks at devices, and says what it left out."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

from dradash.cli.funneltext import funnel_lines
from dradash.cli.style import Style
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import looks, nodefunnel
from dradash.scheduling.structured.allocator import Allocator
from dradash.scheduling.structured.devicereport import DeviceReport, device_report
from dradash.scheduling.structured.effort import Effort
from dradash.scheduling.structured.fates import Judge
from dradash.scheduling.structured.nearest import CUT
from dradash.web.presenters import poddevices
from dradash.web.presenters.query import Query
from tests import build
from tests.devicescene import DRIVER, Raw, device, device_class, pool, request, selectors, waiting_pod

SLICE = 100  # devices, as many as the API allows


def cluster(claims: int, requests: list[Raw], devices: int = 3_000, nodes: int = 1, **spec: Any) -> Cluster:
    """team/train with so many claims of these requests; the devices are of a pool that all nodes see."""
    count = devices // SLICE
    slices = [
        pool(*[device(f"d{i}-{j}") for j in range(SLICE)], name="big", suffix=str(i), allNodes=True, slices=count)
        for i in range(count)
    ]
    claim, pod = waiting_pod(*requests, **spec)
    pod["spec"]["resourceClaims"] = [{"name": f"c{i}", "resourceClaimName": f"c{i}"} for i in range(claims)]
    made = [copy.deepcopy(claim) for _ in range(claims)]
    for i, one in enumerate(made):
        one["metadata"] |= {"name": f"c{i}", "uid": f"uid-c{i}"}
    found = Cluster()
    for obj in (device_class(), *(build.node(f"node-{i}") for i in range(nodes)), *slices, *made, pod):
        _, new = found.put(build.plural(obj), build.key(obj), build.raw(obj))
        assert new is not None, found.malformed
    return found


def report(of: Cluster) -> DeviceReport:
    found = device_report(of.pods["team/train"], of, build.NOW)
    assert found is not None
    return found


def alike(count: int) -> list[Raw]:
    return [request(f"r{i}", selectors=selectors("false")) for i in range(count)]


def different(count: int) -> list[Raw]:
    return [request(f"r{i}", selectors=selectors(f"{i} < 0")) for i in range(count)]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Looks at devices by the funnel, and answers of the allocator."""
    counted: Counter[str] = Counter()
    fate, allocate = Judge._fate, Allocator.allocate

    def counting_fate(self: Judge, *args: Any) -> Any:
        counted["looks"] += 1
        return fate(self, *args)

    def counting_allocate(self: Allocator, *args: Any) -> Any:
        counted["answers"] += 1
        return allocate(self, *args)

    monkeypatch.setattr(Judge, "_fate", counting_fate)
    monkeypatch.setattr(Allocator, "allocate", counting_allocate)
    return counted


def test_requests_that_ask_for_the_same_are_judged_once(looked: Counter[str]) -> None:
    found = report(cluster(2, alike(32)))
    assert looked["looks"] == 3_000
    assert len(found.requests) == 64
    assert (found.complete, found.requests_left_out) == (True, 0)
    assert {r.stages for r in found.requests} == {found.requests[0].stages}
    assert found.requests[0].stages[3].lost == 3_000


def test_what_sets_requests_apart_sets_their_fates_apart() -> None:
    taint = {"key": "broken", "value": "fan", "effect": "NoSchedule"}
    found = Cluster()
    bears: Raw = {"tolerations": [{"key": "broken", "operator": "Exists"}]}
    given = waiting_pod(request("a"), request("b", **bears), request("c", adminAccess=False, **bears))
    for obj in (device_class(), build.node("node-0"), pool(device("d", taints=[taint])), *given):
        found.put(build.plural(obj), build.key(obj), build.raw(obj))
    assert [r.nodes_enough for r in report(found).requests] == [0, 1, 1]


@pytest.mark.parametrize("claims", [2, 10])
def test_the_looks_at_a_large_pod_are_bounded_and_the_rest_is_said_to_be_left_out(
    claims: int, looked: Counter[str]
) -> None:
    found = report(cluster(claims, different(32), nodes=2))
    assert 0 < looked["looks"] <= looks.LOOKS
    assert not found.complete
    assert [r.request for r in found.requests] == [f"r{i}" for i in range(len(found.requests))]
    assert len(found.requests) * 3_000 == looked["looks"]
    assert found.requests_left_out == claims * 32 - len(found.requests)
    assert looked["answers"] == 2  # of the node, and of a change that was tried
    assert [a.message for a in found.answers] == ["cannot allocate all claims"]


def test_the_page_and_the_command_line_say_what_is_left_out() -> None:
    found = report(cluster(10, alike(32), devices=100))
    assert (len(found.requests), found.requests_left_out, found.complete) == (64, 256, False)
    view = poddevices.present(found, Query())
    assert view.incomplete == "The first 64 of 320 requests are told: the rest was not looked at."
    lines = list(funnel_lines(found, Style(False)))
    assert "  incomplete: the first 64 of 320 requests are told" in lines


def test_a_claim_that_is_refused_by_its_size_is_told_so_and_nothing_is_tried(looked: Counter[str]) -> None:
    found = report(cluster(1, alike(2_000)))
    says = "claim team/c0 asks for 2000 devices, and a claim may have 32 at most"
    assert [(h.kind, h.sentence, h.verified) for h in found.hints] == [("limit", says, False)]
    (answer,) = found.answers
    assert answer.message == "claim team/c0: number of requested devices 2000 exceeds the claim limit of 32"
    assert answer.stops
    assert looked["looks"] <= looks.LOOKS
    assert looked["answers"] == 1


def test_situations_of_nodes_are_looked_at_for_as_long_as_the_looks_last(looked: Counter[str]) -> None:
    of = cluster(1, different(2), devices=3_000, nodes=6)
    for i in range(6):
        extra = pool(*[device(f"own-{j}") for j in range(i + 1)], node=f"node-{i}")
        of.put(build.plural(extra), build.key(extra), build.raw(extra))
    found = report(of)
    assert len(found.requests) == 2
    assert (found.nodes, found.requests_left_out, found.complete) == (6, 0, False)
    assert 0 < found.nodes_seen < 6
    assert looked["looks"] <= looks.LOOKS + 3_000 + 6


def test_a_search_that_passes_many_devices_is_told_as_not_decided() -> None:
    """Each step may pass all devices; values of the constraint are all different, which only trying shows."""
    made = [device(f"d{i}", numa=i) for i in range(SLICE)]
    pair = [request("a"), request("b")]
    of = cluster(1, pair, devices=0, constraints=[{"matchAttribute": f"{DRIVER}/numa"}])
    for i in range(30):
        some = pool(
            *[
                d | {"name": f"{d['name']}-{i}", "attributes": {"numa": {"int": i * SLICE + n}}}
                for n, d in enumerate(made)
            ],
            name="big",
            suffix=str(i),
            allNodes=True,
            slices=30,
        )
        of.put(build.plural(some), build.key(some), build.raw(some))
    found = report(of)
    assert [a.message for a in found.answers] == [CUT]


UNIQUE = f'device.attributes["{DRIVER}"].serial'


def unlike(*requests: Raw, devices: int = 3_000, **spec: Any) -> Cluster:
    """Devices of one pool for all nodes, each with a serial number of its own under 16 names."""
    of = cluster(1, list(requests), devices=0, **spec)
    count = devices // SLICE
    for i in range(count):
        made = [device(f"d{i}-{j}") for j in range(SLICE)]
        for j, one in enumerate(made):
            one["attributes"] |= {name: {"int": i * SLICE + j} for name in ("serial", *(f"s{k}" for k in range(15)))}
        some = pool(*made, name="big", suffix=str(i), allNodes=True, slices=count)
        of.put(build.plural(some), build.key(some), build.raw(some))
    return of


class Meter:
    """All units of work that are spent, however much there was to spend."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.spent = 0
        spend = Effort.spend

        def metered(effort: Effort, units: int) -> None:
            self.spent += min(units, max(0, effort.left))
            spend(effort, units)

        patch.setattr(Effort, "spend", metered)


MOST = looks.SELECTORS + 2 * looks.ASKED


def matching(*names: str) -> list[Raw]:
    return [{"matchAttribute": f"{DRIVER}/{name}"} for name in names]


LOOPS = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 0].all({0}, {1})"


@pytest.mark.parametrize(
    ("requests", "spec"),
    [
        ([request(f"r{i}") for i in range(16)], {"constraints": matching("serial")}),
        ([request(f"r{i}") for i in range(16)], {"constraints": matching("serial", *(f"s{k}" for k in range(15)))}),
        ([request("r", selectors=selectors(" && ".join(f"{UNIQUE} != {-i}" for i in range(1, 80))))], {}),
        (
            [request("r", selectors=selectors(" || ".join(f'string({UNIQUE}).matches("x{i}.*")' for i in range(80))))],
            {},
        ),
        (
            [
                request(
                    "r", selectors=selectors(LOOPS.format("a", LOOPS.format("b", LOOPS.format("c", f"{UNIQUE} > a"))))
                )
            ],
            {},
        ),
    ],
    ids=["one matchAttribute", "sixteen", "a chain of &&", "regular expressions", "loops"],
)
def test_whatever_takes_time_counts_and_what_was_left_out_is_said(
    requests: list[Raw], spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    of = unlike(*requests, **spec)
    meter = Meter(monkeypatch)
    found = report(of)
    assert 0 < meter.spent <= MOST
    assert not found.complete or [a.message for a in found.answers] == [CUT]
    assert len(found.requests) + found.requests_left_out == len(requests)


def test_what_selectors_cost_is_the_same_whoever_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    of = unlike(request("r", selectors=selectors(f'string({UNIQUE}).matches("x.*")')), devices=1_000)
    meter = Meter(monkeypatch)
    report(of)
    first, meter.spent = meter.spent, 0
    report(of)
    assert meter.spent == first


def test_a_selector_that_is_left_out_leaves_no_half_of_its_request() -> None:
    costly = " || ".join(f'string({UNIQUE}).matches("x{i}.*")' for i in range(80))
    found = report(unlike(request("a"), request("b", selectors=selectors(costly)), request("c")))
    assert [r.request for r in found.requests] == ["a"]
    assert (found.requests_left_out, found.complete) == (2, False)
    assert found.requests[0].stages[-1].left == 3_000


def test_the_first_request_is_told_of_more_devices_than_there_are_looks_but_not_of_any_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looks.Budget.__init__, "__defaults__", (500,))
    monkeypatch.setattr(nodefunnel, "FIRST", 1_500)
    of = unlike(request("a"), request("b"), devices=1_000)
    assert [r.request for r in report(of).requests] == ["a"]
    of = unlike(request("a"), request("b"), devices=2_000)
    found = report(of)
    assert (found.requests, found.requests_left_out, found.complete) == ((), 2, False)
