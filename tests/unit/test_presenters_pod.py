"""The pod and claim pages as data."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from dradash.reader.waits import Waits
from dradash.scheduling import nodeset
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.negotiations import id_of
from dradash.scheduling.status import Code
from dradash.scheduling.verdict import POINTS, STRUCTURED_POINTS, Choice, ClaimRef, HintNote, Outcome, Step, Verdict
from dradash.store.model import HistoryEntry
from dradash.web.presenters import claim, kubectl, nodes, pod, steps
from tests import build
from tests.unit.test_presenters_lists import World

POD = build.pod("p", claims={"gpu": "c"}, templates={"nic": "t"})
NO_HISTORY = pod.PodHistory()


def judged(cluster: Cluster, *groups: tuple[range, str]) -> tuple[Verdict, dict[str, int]]:
    """A verdict whose Filter gave these nodes these reasons, with its node sets."""
    sets, views = {}, []
    for numbers, reason in groups:
        names = [f"node-{i}" for i in numbers]
        views.append(build.group(cluster, names, reason))
        members = cluster.nodes.named(names)
        sets[nodeset.digest(members)] = members
    step = Step(point="Filter", code=Code.UNSCHEDULABLE, groups=tuple(views))
    return build.verdict(POD, ran=(step,), nodes_total=len(cluster.nodes)), sets


def shown(world: World, history: pod.PodHistory = NO_HISTORY, sets: dict[str, int] | None = None) -> pod.PodView:
    facts = pod.gather(world, "default/p")
    assert facts is not None
    return pod.present(facts, history, sets or {}, world.cluster.nodes.names)


def entry(at: float, obj: build.Obj, type_: str = "MODIFIED") -> HistoryEntry:
    return HistoryEntry(int(at), at, type_, build.raw(obj))


def test_nodes_are_grouped_with_a_letter_for_each_refusal_and_passing_ones_first() -> None:
    world = World(POD, *build.nodes(10))
    verdict, sets = judged(world.cluster, (range(3), "excluded"), (range(3, 4), "tainted"), (range(4, 10), ""))
    view = nodes.present(verdict, sets, world.cluster.nodes.names)
    assert [(g.mark, g.kind, g.count) for g in view.groups] == [("", 0, 6), ("A", 1, 3), ("B", 2, 1)]
    assert view.groups[1].cells == view.groups[1].names == ("node-0", "node-1", "node-2")
    assert (view.total, view.lazy_href) == (10, "")


def test_thousands_of_nodes_come_on_their_own_and_again_only_when_their_sets_change() -> None:
    world = World(POD, *build.nodes(400))
    verdict, sets = judged(world.cluster, (range(100), "excluded"), (range(100, 400), ""))
    other, _ = judged(world.cluster, (range(101), "excluded"), (range(101, 400), ""))
    view = nodes.present(verdict, sets, world.cluster.nodes.names)
    assert all(not g.cells for g in view.groups)
    assert [g.unlisted for g in view.groups] == [300 - nodes.LISTED_NAMES, 100 - nodes.LISTED_NAMES]
    again = msgspec.structs.replace(verdict, revision=99)
    assert nodes.present(again, sets, world.cluster.nodes.names).lazy_href == view.lazy_href != ""
    assert nodes.present(other, sets, world.cluster.nodes.names).lazy_href != view.lazy_href


def test_a_node_set_that_is_not_there_any_more_still_counts() -> None:
    world = World(POD, *build.nodes(4))
    verdict, _ = judged(world.cluster, (range(4), "excluded"))
    (group,) = nodes.present(verdict, {}, world.cluster.nodes.names).groups
    assert (group.count, group.names, group.unlisted) == (4, (), 4)


WAITS = "waiting for binding conditions for device on node node-0"


@pytest.mark.parametrize(
    ("ran", "event", "said"),
    [
        (Step(point="PreEnqueue", code=Code.PENDING), None, "Nothing yet. A pod that PreEnqueue refuses gets neither"),
        (Step(point="PreBind", code=Code.PENDING), None, "Nothing yet: it has not refused the pod, in no event and no"),
        (
            Step(point="PreBind", code=Code.PENDING),
            build.event(POD, WAITS, reason="BindingConditionsPending"),
            f"It has not refused the pod. It said that it waits: {WAITS}.",
        ),
    ],
)
def test_why_the_scheduler_has_said_nothing_follows_from_the_attempt(
    ran: Step, event: build.Obj | None, said: str
) -> None:
    world = World(POD, *([event] if event else ()), verdicts=(build.verdict(POD, ran=(ran,)),))
    assert shown(world).unsaid.startswith(said)


def test_the_deciding_point_is_the_first_that_refuses() -> None:
    ran = (
        Step(point="PreEnqueue"),
        Step(point="Filter", code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        Step(point="PostFilter", code=Code.UNSCHEDULABLE, reasons=("still not schedulable",)),
    )
    view = shown(World(POD, verdicts=(build.verdict(POD, ran=ran),)))
    assert [s.point for s in view.steps if s.decided] == ["Filter"]
    assert [s.point for s in view.steps if s.reached] == ["PreEnqueue", "Filter", "PostFilter"]


def test_what_is_written_next_is_yaml_with_the_command_that_shows_it_now() -> None:
    context = build.context(POD, potential=["node-1"])
    ran = (Step(point="Reserve", code=Code.PENDING, effects=(build.effect(context, "create"),)),)
    (effect,) = shown(World(POD, verdicts=(build.verdict(POD, ran=ran),))).effects
    assert yaml.safe_load(effect.yaml) == context
    assert effect.command == "kubectl -n default get podschedulingcontext.resource.k8s.io p -o yaml"
    assert (effect.verb, effect.key, effect.point) == ("create", "default/p", "Reserve")


def test_names_in_commands_are_quoted_for_a_shell() -> None:
    assert kubectl.get("pods", "a;b", "$(x)") == "kubectl -n 'a;b' get pod '$(x)' -o yaml"


def test_random_choices_are_told_with_all_options() -> None:
    choice = Choice(what="potential nodes", chosen=("a",), options=tuple(f"n{i}" for i in range(40)), take=1)
    ran = (Step(point="PreScore", choices=(choice,)),)
    (view,) = next(s for s in shown(World(POD, verdicts=(build.verdict(POD, ran=ran),))).steps if s.choices).choices
    assert (view.count, len(view.options), view.unlisted) == (40, 24, 16)


def test_each_claim_is_shown_with_what_it_resolves_to() -> None:
    ref = ClaimRef(name="gpu", claim="c", resource_class="gpu", driver="d", state="Pending")
    world = World(
        POD,
        build.claim("c", allocation=build.allocation("node-0"), reserved_for=[POD]),
        build.resource_class("gpu"),
        *build.nodes(2),
        verdicts=(build.verdict(POD, claims=(ref,)),),
    )
    gpu, nic = shown(world).claims
    assert (gpu.chip.text, gpu.href, gpu.classes[0].exists) == ("Reserved", "/ns/default/claims/c", True)
    assert gpu.allocation is not None
    assert gpu.allocation.nodes == ("node-0",)
    assert (nic.chip.text, nic.claim, nic.template) == ("Missing", "", "t")


def test_another_scheduler_and_gates_are_said() -> None:
    spec = {"schedulerName": "volcano", "schedulingGates": [{"name": "quota"}]}
    view = shown(World(build.pod("p", spec=spec)))
    assert (view.headline.other_scheduler, view.headline.gates) == ("volcano", ("quota",))
    assert shown(World(POD)).headline.other_scheduler == ""


def test_the_verdicts_history_tells_each_change_once_newest_first() -> None:
    def at(time: float, sentence: str, type_: str = "MODIFIED") -> HistoryEntry:
        return HistoryEntry(int(time), time, type_, msgspec.json.encode(build.verdict(POD, sentence=sentence)))

    history = pod.PodHistory(verdicts=[at(1, "a"), at(2, "a"), at(3, "b"), at(4, "a"), at(5, "a", "DELETED")])
    rows = shown(World(POD), history).history
    assert [(r.at, r.sentence) for r in rows] == [(4, "a"), (3, "b"), (1, "a")]


def test_history_that_cannot_be_read_is_left_out() -> None:
    broken = HistoryEntry(1, 1.0, "MODIFIED", b'{"spec": 5}')
    history = pod.PodHistory(verdicts=[broken], contexts=[broken], claims={"gpu": [broken]})
    view = shown(World(POD), history)
    assert (view.history, view.negotiation.rounds) == ((), ())


def test_an_earlier_pod_of_the_same_name_is_another_pod() -> None:
    before = build.pod("p", uid="before")
    verdict = HistoryEntry(1, 1.0, "MODIFIED", msgspec.json.encode(build.verdict(before, sentence="old")))
    context = entry(2.0, build.context(before, potential=["a"]))
    view = shown(World(POD), pod.PodHistory(verdicts=[verdict], contexts=[context]))
    assert (view.history, view.headline.sentence, view.negotiation.rounds) == ((), "", ())


def test_a_hint_names_the_change_and_what_upstream_makes_of_it() -> None:
    hints = (HintNote(kind="resourceclaims", key="default/c", change="MODIFIED", hint="Queue", revision=7),)
    (hint,) = shown(World(POD, verdicts=(build.verdict(POD, hints=hints),))).hints
    assert (hint.text, hint.hint, hint.href) == ("resourceclaims default/c modified", "Queue", "/ns/default/claims/c")


def test_a_pod_that_is_gone_is_shown_as_it_was() -> None:
    last = entry(50.0, POD, "DELETED")
    facts = pod.gather(World(), "default/p", last)
    assert facts is not None
    verdict = HistoryEntry(1, 1.0, "DELETED", msgspec.json.encode(build.verdict(POD, Outcome.WAITING, "waiting")))
    view = pod.present(facts, pod.PodHistory(verdicts=[verdict]), {}, lambda _: [])
    assert (view.gone, view.headline.sentence) == (50.0, "waiting")
    assert pod.gather(World(), "default/p") is None


def test_a_negotiation_without_history_still_shows_its_state() -> None:
    world = World(POD, build.claim("c"), build.context(POD, potential=["a"], selected="b"))
    facts = pod.gather(world, "default/p", waits=Waits(), now=build.NOW)
    assert facts is not None
    view = pod.present(facts, NO_HISTORY, {}, world.cluster.nodes.names)
    assert view.rules == ("The selected node b is not among the potential nodes.",)
    (rule,) = facts.rules
    assert facts.context is not None
    told = pod.present(facts, NO_HISTORY, {}, world.cluster.nodes.names, {id_of(rule, facts.context)})
    assert told.rules == (), "the finding on the page says it already"


def test_of_a_long_negotiation_the_newest_rounds_are_shown_and_the_others_counted() -> None:
    states = [entry(float(i), build.context(POD, potential=[f"node-{i}"])) for i in range(1, pod.ROUNDS + 3)]
    view = shown(World(POD), pod.PodHistory(contexts=states))
    assert [r.number for r in view.negotiation.rounds] == list(range(3, pod.ROUNDS + 3))
    assert view.earlier_rounds == 2
    short = shown(World(POD), pod.PodHistory(contexts=states[: pod.ROUNDS]))
    assert (len(short.negotiation.rounds), short.earlier_rounds) == (pod.ROUNDS, 0)


# --- claim -----------------------------------------------------------------------------------------------------------


def test_a_claims_life_is_told_newest_first() -> None:
    born = build.claim("c")
    full = build.claim("c", allocation=build.allocation("node-0"))
    facts = claim.gather(World(full), "default/c")
    assert facts is not None
    view = claim.present(facts, [entry(1.0, born, "ADDED"), entry(2.0, full)])
    assert [(t.at, t.text) for t in view.life] == [(2.0, "allocates"), (1.0, "is created")]


def test_a_claim_names_the_pods_that_wait_for_it() -> None:
    world = World(POD, build.claim("c"), verdicts=(build.verdict(POD, Outcome.WAITING, "waiting"),))
    facts = claim.gather(world, "default/c")
    assert facts is not None
    assert [(u.key, u.chip.text, u.sentence) for u in facts.users] == [("default/p", "Waiting", "waiting")]


def test_a_drivers_data_is_shown_cut() -> None:
    world = World(build.claim("c", allocation=build.allocation(data="x" * 5000)))
    facts = claim.gather(world, "default/c")
    assert facts is not None
    assert facts.allocation is not None
    (handle,) = facts.allocation.handles
    assert (len(handle.data), handle.cut) == (claim.DATA_SHOWN, True)


def test_a_claim_that_is_gone_is_shown_as_it_was() -> None:
    facts = claim.gather(World(), "default/c", entry(9.0, build.claim("c"), "DELETED"))
    assert facts is not None
    assert claim.present(facts, []).gone == 9.0


def test_the_points_of_both_generations_are_in_the_frameworks_order_and_each_says_what_it_is_for() -> None:
    for points, purpose in ((POINTS, steps.PURPOSE), (STRUCTURED_POINTS, steps.STRUCTURED_PURPOSE)):
        assert set(points) == set(purpose)
    before_binding = [p for p in STRUCTURED_POINTS if p not in ("Unreserve", "PreBind", "PostBind")]
    assert before_binding == ["PreEnqueue", "PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve"]
    assert set(STRUCTURED_POINTS) - set(POINTS) == {"Score"}
