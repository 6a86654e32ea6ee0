"""Objects that somebody gathered: what is read, what is refused, and what is said of a pod from them alone."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from dradash.offline import gather as gathering
from dradash.offline.documents import BadInput, read
from dradash.offline.dump import Dump
from dradash.offline.explain import Explainer, Explanation
from dradash.offline.gather import gather
from tests import build
from tests import builddevices as devices

TRAIN = build.pod("train", "ml", claims={"gpu": "c"})
WAITING = (
    *build.nodes(3),
    build.resource_class(),
    TRAIN,
    build.claim("c", "ml"),
    build.context(TRAIN, potential=["node-1"], selected="node-1"),
)


def dump(*objects: build.Obj) -> Dump:
    made = Dump()
    made.take(read(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode(), "x"), "x")
    return made


def explained(*objects: build.Obj, pod: str = "ml/train", node: str = "") -> Explanation:
    found = Explainer(dump(*objects)).pod(pod, node)
    assert found is not None
    return found


def names(texts: Iterable[bytes]) -> list[str]:
    return [obj["metadata"]["name"] for text in texts for obj in read(text, "x").objects]


# --- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TRAIN),
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [TRAIN]}),
        json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": TRAIN["metadata"]}]}),
        json.dumps([TRAIN]),
        yaml.safe_dump(TRAIN),
        "---\n" + yaml.safe_dump(TRAIN) + "---\n",
        "\ufeff" + json.dumps(TRAIN),
    ],
    ids=["object", "List", "PodList", "array", "yaml", "documents", "byte order mark"],
)
def test_every_form_that_kubectl_prints_is_read(text: str) -> None:
    (found,) = read(text.encode(), "x").objects
    assert (found["kind"], found["apiVersion"], found["metadata"]["name"]) == ("Pod", "v1", "train")


def test_several_values_and_documents_after_each_other_are_read() -> None:
    both = json.dumps(TRAIN) + "\n" + json.dumps(build.node("n"))
    assert names([both.encode()]) == ["train", "n"]
    assert names([yaml.safe_dump_all([TRAIN, None, build.node("n")]).encode()]) == ["train", "n"]


def test_a_time_without_quotes_stays_a_text() -> None:
    text = b"apiVersion: v1\nkind: Node\nmetadata: {name: n, creationTimestamp: 2026-11-30T04:00:00Z}\n"
    assert read(text, "x").objects[0]["metadata"]["creationTimestamp"] == "2026-11-30T04:00:00Z"


def test_an_empty_typed_list_says_that_there_are_none() -> None:
    made = Dump()
    made.take(read(b'{"apiVersion":"resource.k8s.io/v1alpha2","kind":"ResourceClassList","items":[]}', "x"), "x")
    assert made.known == {"resourceclasses"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"Error from server (NotFound)", "is no Kubernetes object"),
        (b'{"apiVersion": "v1", "kind": "Pod"', "file.txt:"),
        (b'{"a": 1}', "has no apiVersion and kind"),
        (b"a: [1\n", "file.txt:"),
        (b'{"apiVersion":"v1","kind":"List","items":[3]}', "an item of a List is 3"),
        (b"\xff\xfe\x00", "file.txt:"),
        (b"[" * 100_000, "file.txt:"),
        (b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "aliases are not read"),
    ],
    ids=["message", "cut off", "other json", "other yaml", "item", "binary", "deep", "bomb"],
)
def test_what_holds_no_objects_is_refused_with_its_name(text: bytes, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(text, "file.txt")
    assert str(refused.value).startswith("file.txt:")
    assert says in str(refused.value)


LIST = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: first
    ownerReferences:
    - apiVersion: apps/v1
      kind: ReplicaSet
- apiVersion: v1
  kind: Pod
  metadata:
    labels: {app: train, team: ml}
    name: second
    namespace: ml
kind: List
"""


@pytest.mark.parametrize(
    ("ending", "says"),
    [
        (": train, te", 'it breaks off in line 13, behind "labels: {app: train, te", while parsing a flow mapping'),
        ("app: tr", "that begins in line 13, in item 2, which begins in line 10: was it cut off?"),
        ("kind: ReplicaSet\n- apiVers", "it breaks off in line 10"),
        ("name: second\n    nam", "in item 2, which begins in line 10"),
        ("name: second\n", 'behind "name: second", in or behind item 2, "Pod second": was it cut off?'),
        ("namespace: ml\n", "a list without its kind, which kubectl writes behind the items; it breaks off in line 15"),
        ("namespace: ml\nki", "it breaks off in line 16"),
        ("items:\n- apiVersion: v1\n  kind: P", 'in or behind item 1, "P without a name"'),
    ],
)
def test_a_list_that_is_cut_off_says_where(ending: str, says: str) -> None:
    cut = LIST[: LIST.index(ending) + len(ending)]
    with pytest.raises(BadInput) as refused:
        read(cut.encode(), "file.yaml")
    assert str(refused.value).startswith("file.yaml: it ")
    assert says in str(refused.value)


def test_wherever_a_list_is_cut_off_it_is_not_taken_for_a_whole_one() -> None:
    for length in range(LIST.index("items"), LIST.index("\nkind: List")):
        with pytest.raises(BadInput, match=r"file\.yaml"):
            read(LIST[:length].encode(), "file.yaml")
    assert len(read(LIST.encode(), "file.yaml").objects) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('apiVersion: v1\nkind: Pod\nmetadata:\n  name: "tra', "in object 1, which begins in line 1"),
        ('{"apiVersion": "v1",\n "items": [{"kind": "Po', 'it breaks off in line 2, behind "'),
        ('{"apiVersion": "v1",\n "items": [{"kind": "Pod"},', 'it breaks off in line 2, behind "'),
        ('{"kind": "\x9b31mPo', "\\u009b31mPo"),
    ],
)
def test_one_object_and_json_that_are_cut_off_say_where_too(text: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(text.encode(), "file.txt")
    assert says in str(refused.value)
    assert str(refused.value).endswith(": was it cut off?")


@pytest.mark.parametrize(
    "text", ["a: b: c\nd: e\n", "a: [1\nb: 2\nc: 3\n", '{"a": 1,, "b": 2}', '{"items": [], "apiVersion": "v1"}']
)
def test_what_is_wrong_in_the_middle_is_not_said_to_be_cut_off(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(text.encode(), "file.txt")
    assert "cut off" not in str(refused.value)


# --- files -----------------------------------------------------------------------------------------------------------


def _tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return out.getvalue()


def _texts(*paths: str, stdin: bytes = b"") -> list[bytes]:
    return [given.text for given in gather(list(paths), io.BytesIO(stdin))]


def test_files_directories_archives_and_standard_input_are_gathered(tmp_path: Path) -> None:
    train, node = json.dumps(TRAIN).encode(), json.dumps(build.node("n")).encode()
    tree = tmp_path / "must-gather" / "namespaces" / "ml" / "core"
    tree.mkdir(parents=True)
    (tree / "pods.yaml").write_bytes(train)
    (tree / "pod.log").write_text("not: [an object")
    (tmp_path / "node.json.gz").write_bytes(gzip.compress(node))
    (tmp_path / "all.tgz").write_bytes(_tar({"a/pods.json": train, "a/x.log": b"no", "a/n.yml": node}))
    assert names(_texts(str(tmp_path / "must-gather"))) == ["train"]
    assert names(_texts(str(tmp_path / "node.json.gz"), str(tree / "pods.yaml"))) == ["n", "train"]
    assert names(_texts(str(tmp_path / "all.tgz"))) == ["train", "n"]
    assert names(_texts("-", stdin=(tmp_path / "all.tgz").read_bytes())) == ["train", "n"]


def test_a_link_out_of_a_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_bytes(b"secret")
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "pods.yaml").write_bytes(b"pods")
    (tmp_path / "dump" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    assert _texts(str(tmp_path / "dump")) == [b"pods"]


@pytest.mark.parametrize("name", ["nowhere.yaml", "empty", "broken.gz", "broken.tar"])
def test_what_cannot_be_opened_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    (tmp_path / "broken.tar").write_bytes(b"\0" * 257 + b"ustar" + b"\0" * 100)
    with pytest.raises(BadInput, match=name):
        _texts(str(tmp_path / name))


def test_an_input_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LARGEST", 1000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b" " * 5000))
    with pytest.raises(BadInput, match="more than 1000 bytes"):
        _texts(str(tmp_path / "bomb.gz"))


# --- the dump --------------------------------------------------------------------------------------------------------


def test_the_later_state_of_an_object_counts_in_whatever_order_they_come() -> None:
    old, new = build.claim("c", "ml"), build.claim("c", "ml", allocation=build.allocation("node-0"))
    new["metadata"]["resourceVersion"] = "20"
    for order in ([old, new], [new, old]):
        assert dump(*order).cluster.claims["ml/c"].status.allocation is not None


def test_other_versions_kinds_and_nameless_objects_are_counted_not_lost() -> None:
    foreign = build.claim("c", "ml") | {"apiVersion": "resource.k8s.io/v1alpha3"}
    made = dump(foreign, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, build.node("") | {})
    assert dict(made.foreign) == {"resource.k8s.io/v1alpha3 ResourceClaim": 1}
    assert dict(made.other) == {"v1 Secret": 1}
    assert made.notes == ["x: object 3, a Node without a name, is left out"]


def test_a_malformed_object_is_noted() -> None:
    bad = build.pod("bad", "ml") | {"spec": {"nodeName": 7}}
    assert "Pod ml/bad cannot be read" in dump(bad).notes[0]


def test_a_name_that_is_no_unicode_text_does_no_harm() -> None:
    made = Dump()
    made.take(read(rb'{"apiVersion":"v1","kind":"Node","metadata":{"name":"\ud800"}}', "x"), "x")
    assert list(made.cluster.raw["nodes"]) == ["\ud800"]


def test_an_object_without_namespace_is_in_the_default_one() -> None:
    pod = build.pod("p", claims={"gpu": "c"})
    del pod["metadata"]["namespace"]
    assert [p.key for p in dump(pod).pods()] == ["default/p"]


# --- the explanation -------------------------------------------------------------------------------------------------


def test_a_pod_is_judged_as_the_running_dradash_judges_it() -> None:
    found = explained(*WAITING)
    assert (found.outcome, found.decided, found.schedulable) == ("Waiting", True, False)
    assert found.acts_next is not None
    assert found.acts_next.names == ("gpu.example.com",)
    assert found.nodes_fit == 3
    assert found.negotiation is not None
    assert found.negotiation.awaited[0].what == "allocate for node-1"


def test_nodes_are_told_by_reason_with_their_names() -> None:
    suitable = build.with_labels(zone="a")
    found = explained(
        build.node("in", labels={"zone": "a"}),
        build.node("out"),
        build.resource_class(suitable=suitable),
        TRAIN,
        build.claim("c", "ml"),
        node="out",
    )
    groups = {g.reason: (g.nodes, g.code) for g in found.groups}
    assert groups[""][0] == ("in",)
    assert groups["excluded by resource class node filter"][0] == ("out",)
    assert found.asked_node is not None
    assert not found.asked_node.fits
    assert found.asked_node.reason == "excluded by resource class node filter"


def test_a_node_that_is_not_in_the_input_is_said_to_be_none() -> None:
    found = explained(*WAITING, node="node-9")
    assert found.asked_node is not None
    assert (found.asked_node.exists, found.asked_node.fits) == (False, False)


@pytest.mark.parametrize(
    ("without", "says"),
    [
        ("ResourceClass", "no ResourceClass in the input: cannot decide"),
        ("ResourceClaim", "no ResourceClaim in the input: cannot decide"),
        ("Node", "no Node in the input: cannot decide"),
    ],
)
def test_what_is_missing_is_named_and_there_is_no_verdict_without_it(without: str, says: str) -> None:
    found = explained(*(o for o in WAITING if o["kind"] != without))
    assert not found.decided
    assert found.outcome == "Unknown"
    assert says in found.sentence
    assert found.groups == ()


def test_a_namespace_without_any_claim_is_said_to_be_perhaps_not_gathered() -> None:
    says = "no ResourceClaim of namespace ml in the input: taken as none, was it gathered?"
    elsewhere = (*(o for o in WAITING if o["kind"] != "ResourceClaim"), build.claim("c", "other"))
    assert says in explained(*elsewhere).missing
    assert says not in explained(*WAITING).missing


def test_of_a_gated_pod_nothing_is_missed() -> None:
    gated = TRAIN | {"spec": TRAIN["spec"] | {"schedulingGates": [{"name": "quota"}]}}
    found = explained(gated)
    assert (found.outcome, found.missing) == ("Gated", ())


def test_a_class_is_not_missed_where_every_claim_is_allocated() -> None:
    claim = build.claim("c", "ml", allocation=build.allocation("node-1"), reserved_for=[TRAIN])
    found = explained(*build.nodes(2), TRAIN, claim)
    assert found.decided
    assert found.schedulable


def test_an_absent_negotiation_is_taken_as_none_and_said() -> None:
    found = explained(*(o for o in WAITING if o["kind"] != "PodSchedulingContext"))
    assert found.decided
    assert "no PodSchedulingContext in the input: taken as not negotiated yet" in found.missing


def test_claims_of_another_version_are_named() -> None:
    objects = [o | {"apiVersion": "resource.k8s.io/v1alpha3"} if o["kind"] == "ResourceClaim" else o for o in WAITING]
    found = explained(*objects)
    judged = "judged are resource.k8s.io/v1, v1beta2, v1beta1 and v1alpha2"
    assert not found.decided
    assert f"resource.k8s.io/v1alpha3 ResourceClaim in the input: cannot decide, {judged}" in found.sentence
    assert f"1 resource.k8s.io/v1alpha3 ResourceClaim left out: {judged}" in found.notes


def test_findings_about_the_pod_are_told_at_the_newest_time_of_the_input() -> None:
    pod = build.pod("train", "ml", claims={"gpu": "nowhere"})
    late = build.node("n")
    late["status"] = {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2026-11-30T05:00:00Z"}]}
    found = explained(late, pod, build.claim("c", "ml"), build.resource_class())
    assert any(f.id.startswith("claim-missing.") for f in found.findings)


def test_the_schedulers_own_words_are_compared() -> None:
    words = "0/3 nodes are available: waiting for resource driver."
    found = explained(*WAITING, build.event(TRAIN, words))
    assert found.agreement.said == words


def codes(found: Explanation) -> set[str]:
    return {f.id.partition(".")[0] for f in found.findings}


# --- structured parameters -------------------------------------------------------------------------------------------

DEVICES = (
    *build.nodes(2),
    devices.device_class(),
    devices.resource_slice(devices.device("gpu-0"), devices.device("gpu-1")),
    devices.resource_slice(devices.device("gpu-0"), node="node-1"),
    TRAIN,
    devices.claim("c", "ml"),
)


def flat(claim: build.Obj) -> build.Obj:
    """As v1beta1 writes it."""
    requests = [{"name": r["name"], **r["exactly"]} for r in claim["spec"]["devices"]["requests"]]
    return claim | {"apiVersion": "resource.k8s.io/v1beta1", "spec": {"devices": {"requests": requests}}}


def basic(item: build.Obj) -> build.Obj:
    made = [{"name": d["name"], "basic": {"attributes": d["attributes"]}} for d in item["spec"]["devices"]]
    return item | {"apiVersion": "resource.k8s.io/v1beta1", "spec": item["spec"] | {"devices": made}}


def in_version(version: str) -> list[build.Obj]:
    old = {"ResourceClaim": flat, "ResourceSlice": basic}
    if version == "v1beta1":
        return [old[o["kind"]](o) if o["kind"] in old else o for o in DEVICES]
    dra = f"resource.k8s.io/{version}"
    return [o | {"apiVersion": dra} if o["apiVersion"] == devices.V1 else o for o in DEVICES]


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_structured_parameters_are_judged_in_every_version(version: str) -> None:
    found = explained(*in_version(version))
    assert (found.outcome, found.decided, found.nodes_fit) == ("Schedulable", True, 2)
    assert found.missing == ("no Event in the input: what the scheduler said is only in the pod's condition",)
    assert found.notes == ()


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_missing_class_is_found_where_the_input_has_one_generation_only(version: str) -> None:
    other = devices.device_class("other")
    objects = [other if o["kind"] == "DeviceClass" else o for o in in_version(version)]
    late = build.node("late")
    late["status"] = {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2026-11-30T05:00:00Z"}]}
    found = explained(*objects, late)
    assert [f.sentence for f in found.findings] == ["DeviceClass gpu does not exist; 1 claim names it."]
    assert "class-missing" not in codes(explained(*objects, late, build.claim("old", "ml")))  # of what was not gathered


def test_a_missing_class_of_the_older_generation_is_found_too() -> None:
    late = build.node("late")
    late["status"] = {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2026-11-30T05:00:00Z"}]}
    found = explained(*(o for o in WAITING if o["kind"] != "ResourceClass"), build.resource_class("other"), late)
    assert "class-missing" in codes(found)


def test_a_kubelet_older_than_the_versions_of_the_objects_allow_is_found_on_the_pods_node() -> None:
    old = build.node("node-1")
    old["status"] = {"nodeInfo": {"kubeletVersion": "v1.30.4"}}
    bound = TRAIN | {"spec": TRAIN["spec"] | {"nodeName": "node-1"}}
    others = [o for o in DEVICES if o["metadata"]["name"] not in ("train", "node-1")]
    found = explained(*others, old, bound)
    (finding,) = [f for f in found.findings if f.id.startswith("kubelet-too-old.")]
    assert finding.sentence.startswith("The kubelet of 1 node is of Kubernetes 1.30; it does not know")
    elsewhere = TRAIN | {"spec": TRAIN["spec"] | {"nodeName": "node-0"}}
    assert "kubelet-too-old" not in codes(explained(*others, old, elsewhere))


def test_findings_on_other_claims_of_the_same_class_do_not_concern_the_pod() -> None:
    nothing = devices.claim("none", "ml", devices.request(selectors=["false"]))
    other = build.pod("other", "ml", claims={"gpu": "none"})
    late = build.node("late")
    late["status"] = {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2026-11-30T05:00:00Z"}]}
    objects = (*DEVICES, nothing, other, late)
    assert codes(explained(*objects)) == {"fits-not-retried"}
    assert codes(explained(*objects, pod="ml/other")) == {"request-matches-no-device"}


def test_what_is_wrong_with_a_class_concerns_those_who_ask_for_it() -> None:
    wrong = [o for o in DEVICES if o["kind"] != "DeviceClass"]
    found = explained(*wrong, devices.device_class("gpu", "device.nothing"))
    assert "selector-fails" in codes(found)


def test_a_resource_that_is_offered_twice_concerns_those_who_ask_for_it_by_its_name() -> None:
    offers = build.node("node-0")
    offers["status"] = {"capacity": {"example.com/gpu": "1"}}
    backed = devices.device_class("gpu", extendedResourceName="example.com/gpu")
    container = {"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}
    plain = build.pod("plain", "ml", spec={"containers": [container]})
    others = [o for o in DEVICES if o["kind"] != "DeviceClass" and o["metadata"]["name"] != "node-0"]
    objects = (*others, offers, backed, plain)
    assert "extended-resource-twice" in codes(explained(*objects, pod="ml/plain"))
    assert "extended-resource-twice" not in codes(explained(*objects))


def test_devices_that_other_claims_hold_are_not_free() -> None:
    holder = build.pod("holder", "other", claims={"gpu": "held"}, node="node-1")
    held = devices.claim("held", "other", devices=[devices.result("gpu-0", pool="node-1")], reserved_for=[holder])
    found = explained(*DEVICES, holder, held, node="node-1")
    assert found.nodes_fit == 1
    assert found.asked_node is not None
    assert found.asked_node.reason == "cannot allocate all claims"


@pytest.mark.parametrize(
    ("without", "says"),
    [
        ("DeviceClass", "no DeviceClass in the input: cannot decide which devices the claims may have"),
        ("ResourceSlice", "no ResourceSlice in the input: cannot decide which devices there are"),
        ("ResourceClaim", "no ResourceClaim in the input: cannot decide whether the pod's claims exist"),
    ],
)
def test_a_kind_of_structured_parameters_that_is_missing_is_named(without: str, says: str) -> None:
    found = explained(*(o for o in DEVICES if o["kind"] != without))
    assert not found.decided
    assert found.outcome == "Unknown"
    assert says in found.sentence
    assert "ResourceClass" not in found.sentence


def test_classes_and_slices_are_not_missed_where_every_claim_is_allocated() -> None:
    held = devices.claim("c", "ml", devices=[devices.result("gpu-0", pool="node-1")])
    found = explained(*build.nodes(2), TRAIN, held)
    assert found.decided
    assert found.schedulable


def test_an_empty_list_of_slices_says_that_there_are_none() -> None:
    made = dump(*(o for o in DEVICES if o["kind"] != "ResourceSlice"))
    made.take(read(b'{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSliceList","items":[]}', "x"), "x")
    found = Explainer(made).pod("ml/train")
    assert found is not None
    assert found.decided
    assert {g.reason for g in found.groups} == {"cannot allocate all claims"}


@pytest.mark.parametrize("version", ["v1alpha3", "v2"])
def test_a_version_of_slices_that_is_not_judged_is_said(version: str) -> None:
    foreign = f"resource.k8s.io/{version}"
    found = explained(*(o | {"apiVersion": foreign} if o["kind"] == "ResourceSlice" else o for o in DEVICES))
    judged = "resource.k8s.io/v1, v1beta2 and v1beta1"
    assert not found.decided
    assert f"{foreign} ResourceSlice in the input: cannot decide, judged are {judged}" in found.sentence
    assert any(note.startswith(f"2 {foreign} ResourceSlice left out") for note in found.notes)


def test_a_pod_that_gets_devices_for_an_extended_resource_is_judged() -> None:
    container = {"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}
    pod = build.pod("asks", "ml", spec={"containers": [container]})
    cls = devices.device_class(extendedResourceName="example.com/gpu")
    objects = (*build.nodes(2), cls, devices.resource_slice(devices.device("gpu-0")), pod)
    (found,) = Explainer(dump(*objects)).all()
    assert (found.pod, found.outcome, found.nodes_fit) == ("ml/asks", "Schedulable", 1)
    (undecided,) = Explainer(dump(*(o for o in objects if o["kind"] != "ResourceSlice"))).all()
    assert "no ResourceSlice in the input" in undecided.sentence
    assert list(Explainer(dump(*(o for o in objects if o["kind"] != "DeviceClass"))).all()) == []


# --- manifests that nobody has applied -------------------------------------------------------------------------------


def unapplied(obj: build.Obj) -> build.Obj:
    return obj | {"metadata": {k: v for k, v in obj["metadata"].items() if k not in ("uid", "creationTimestamp")}}


TEMPLATED = unapplied(build.pod("train", "ml", templates={"gpu": "one-gpu"}))
PUBLISHED = (
    *build.nodes(2),
    devices.device_class(),
    devices.resource_slice(devices.device("gpu-0")),
    devices.claim("other", "elsewhere"),
)


def device_template(count: int = 1) -> build.Obj:
    spec = {"devices": {"requests": [devices.request(count=count)]}}
    made = {"apiVersion": devices.V1, "kind": "ResourceClaimTemplate", "metadata": build.meta("one-gpu", "ml")}
    return unapplied(made) | {"spec": {"spec": spec}}


def test_a_pod_that_is_not_applied_is_judged_with_the_claims_that_its_templates_would_make() -> None:
    told = explained(*PUBLISHED, TEMPLATED, device_template())
    assert (told.outcome, told.decided, told.schedulable, told.node) == ("Schedulable", True, True, "node-0")
    assert [c.claim for c in told.claims] == ["train-gpu-xxxxx"]
    assert told.findings == ()  # it is in no queue that the scheduler might forget it in
    assert told.notes[:2] == (
        "Pod ml/train is not applied: it has neither uid nor creationTimestamp",
        "judged as if the resourceclaim controller had made the claim train-gpu-xxxxx of ResourceClaimTemplate "
        "ml/one-gpu",
    )


def test_a_template_that_asks_for_too_much_is_told_before_it_is_applied() -> None:
    told = explained(*PUBLISHED, TEMPLATED, device_template(count=2))
    assert (told.outcome, told.nodes_fit, told.nodes_total) == ("Unschedulable", 0, 2)
    assert "cannot allocate all claims" in told.sentence
    assert all(not f.command for f in told.findings if "pod" in f.sentence.lower())


def test_a_template_of_the_classic_generation_makes_a_claim_too() -> None:
    template = unapplied(build.template("one-gpu", "ml"))
    told = explained(*build.nodes(2), build.resource_class(), build.claim("other"), TEMPLATED, template)
    assert (told.outcome, told.claims[0].claim) == ("Waiting", "train-gpu-xxxxx")


def test_without_any_claim_in_the_input_the_devices_are_taken_as_free_which_is_said() -> None:
    told = explained(*PUBLISHED[:-1], TEMPLATED, device_template())
    assert told.schedulable
    assert "no ResourceClaim in the input: judged as if no other claim had anything allocated" in told.notes


def test_a_pod_that_is_applied_waits_for_the_claim_controller() -> None:
    told = explained(*PUBLISHED, build.pod("train", "ml", templates={"gpu": "one-gpu"}), device_template())
    assert told.outcome == "Blocked"
    assert "not created yet" in told.sentence
    assert told.notes == ()


def test_no_command_asks_for_a_pod_that_does_not_exist() -> None:
    told = explained(*PUBLISHED, TEMPLATED)
    assert told.outcome == "Blocked"
    assert "describe pod" not in " ".join(f.command for f in told.findings)
    assert told.acts_next is not None
    assert told.acts_next.who == "admin"
