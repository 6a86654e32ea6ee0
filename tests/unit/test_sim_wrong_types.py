"""Whatever of a request has a wrong type, the simulated API server refuses it as a client's fault or takes it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.kinds.deviceversions import to_v1
from dradash.sim import strict
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.patching import MERGE_PATCH, STRATEGIC_PATCH
from dradash.sim.resources import served
from dradash.sim.table import table
from tests import builddevices as make
from tests.build import Obj
from tests.wholeobjects import whole

Path = tuple[str | int, ...]

CLUSTERS: Final = (("v1alpha2",), ("v1", "v1beta2", "v1beta1"), ("v1beta1",), ("v1", "v1alpha2"))
KINDS_OF: Final = [(versions, plural) for versions in CLUSTERS for plural in whole(versions)]
WRONG: Final[tuple[Any, ...]] = (
    *(None, "x", "", 1, 0, -1, 10**30, 1.5, True, False),
    *([], [None], [1], ["x"], [{}], [[]]),
    *({}, {"": ""}, {"a": 1}, {"a": {}}),
)
VERBS: Final = ("create", "update", "merge patch", "strategic patch", "apply")
STATUS_VERBS: Final = ("update status", "merge patch status", "strategic patch status", "apply status")


def places(obj: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    entries = obj.items() if isinstance(obj, dict) else enumerate(obj) if isinstance(obj, list) else ()
    for key, value in entries:
        yield from places(value, (*path, key))


def put(obj: Any, path: Path, value: Any) -> Any:
    """A copy with the value at the path; unchanged where the path is not there any more."""
    if not path:
        return value
    first = path[0]
    if isinstance(obj, dict) and first in obj:
        return obj | {first: put(obj[first], path[1:], value)}
    if isinstance(obj, list) and isinstance(first, int) and first < len(obj):
        return [*obj[:first], put(obj[first], path[1:], value), *obj[first + 1 :]]
    return obj


@cache
def started(versions: tuple[str, ...], plural: str) -> APIServer:
    """A server that has the object, with its status. Tests write to it as a dry run."""
    server = APIServer(served(versions=versions), seed=1)
    obj = whole(versions)[plural]
    made = server.create(plural, obj, obj["metadata"].get("namespace", ""))
    if server.resources[plural].has_status:
        server.update(
            plural,
            made | {"status": obj.get("status", {})},
            made["metadata"].get("namespace", ""),
            subresource="status",
        )
    return server


def send(server: APIServer, plural: str, verb: str, body: Any) -> Obj:
    namespace = "default" if server.resources[plural].namespaced else ""
    subresource = "status" if verb.endswith(" status") else ""
    match verb.removesuffix(" status"):
        case "create":
            return server.create(plural, put(body, ("metadata", "name"), "other"), namespace)
        case "update":
            return server.update(plural, body, namespace, name="it", subresource=subresource)
        case "apply":
            return server.apply(plural, body, "me", namespace, name="it", subresource=subresource, force=True)
        case patch:
            type_ = MERGE_PATCH if patch == "merge patch" else STRATEGIC_PATCH
            return server.patch(plural, "it", body, type_, namespace, subresource=subresource)


def show(server: APIServer, plural: str, stored: Obj) -> bytes:
    """As kubectl shows what was taken."""
    resource = server.resources[plural]
    fresh = APIServer(list(server.resources.values()), seed=1)
    fresh.load([stored])
    items = list(fresh.collection(plural).objects.values())
    return table(plural, resource.of(stored).api_version(), resource.kind, items, {}, 1.0)


def answered(server: APIServer, plural: str, verb: str, body: Any) -> int:
    """The status of the answer; anything but an ApiError would be a 500."""
    strict.unknown_fields(server.resources[plural], body)
    try:
        with server.dry_run():
            stored = send(server, plural, verb, body)
    except ApiError as error:
        return error.code
    assert show(server, plural, stored)
    return 200


@pytest.mark.parametrize(("versions", "plural"), KINDS_OF)
def test_the_whole_object_is_taken_by_every_verb(versions: tuple[str, ...], plural: str) -> None:
    server = started(versions, plural)
    verbs = VERBS + (STATUS_VERBS if server.resources[plural].has_status else ())
    assert {verb: answered(server, plural, verb, whole(versions)[plural]) for verb in verbs} == dict.fromkeys(
        verbs, 200
    )


@settings(max_examples=1500)
@given(st.data())
def test_wrong_types_are_never_the_servers_fault(data: st.DataObject) -> None:
    versions, plural = data.draw(st.sampled_from(KINDS_OF))
    server = started(versions, plural)
    verb = data.draw(st.sampled_from(VERBS + (STATUS_VERBS if server.resources[plural].has_status else ())))
    body = whole(versions)[plural]
    for _ in range(data.draw(st.integers(1, 3))):
        body = put(body, data.draw(st.sampled_from(list(places(body)))), data.draw(st.sampled_from(WRONG)))
    assert answered(server, plural, verb, body) in (200, 400, 404, 409, 422)


@pytest.mark.parametrize("plural", ["pods", "nodes", "namespaces", "events"])
@pytest.mark.parametrize("wrong", ["x", 1, [1], {"a": 1}], ids=str)
def test_a_wrong_type_anywhere_in_a_core_object_can_be_shown_or_is_refused(plural: str, wrong: Any) -> None:
    body = whole(("v1",))[plural]
    server = started(("v1",), plural)
    codes = {answered(server, plural, "create", put(body, place, wrong)) for place in places(body)}
    assert {200, 400} <= codes <= {200, 400, 422}


@pytest.mark.parametrize(("versions", "at"), [(("v1",), ()), (("v1beta1",), ()), (("v1beta1",), ("basic",))])
@pytest.mark.parametrize("verb", ["create", "update", "merge patch"])
def test_a_slice_with_a_device_that_is_no_object_is_a_bad_request(
    versions: tuple[str, ...], at: tuple[str, ...], verb: str
) -> None:
    body = put(whole(versions)["resourceslices"], ("spec", "devices", 0, *at), "gpu-0")
    assert answered(started(versions, "resourceslices"), "resourceslices", verb, body) == 400


ALTERNATIVES: Final = [{"name": "sub", "deviceClassName": "gpu"}]


@pytest.mark.parametrize("versions", [("v1beta1",), ("v1", "v1beta1")])
@pytest.mark.parametrize(
    ("flat", "code"),
    [
        ({}, 200),
        ({"deviceClassName": "", "allocationMode": "", "count": 0}, 200),
        ({"deviceClassName": "gpu"}, 422),
        ({"count": 2}, 422),
        ({"adminAccess": False}, 422),
        ({"selectors": []}, 422),
    ],
)
def test_a_v1beta1_request_has_no_fields_of_its_own_beside_alternatives(
    versions: tuple[str, ...], flat: Obj, code: int
) -> None:
    body = make.claim("c") | {"apiVersion": "resource.k8s.io/v1beta1", "metadata": {"name": "c"}}
    body["spec"] = {"devices": {"requests": [{"name": "gpu", "firstAvailable": ALTERNATIVES, **flat}]}}
    server = APIServer(served(versions=versions), seed=1)
    try:
        server.create("resourceclaims", body, "default")
        found = 200
    except ApiError as error:
        found = error.code
    assert found == code


def test_a_request_with_both_reads_as_one_with_both() -> None:
    request = {"name": "gpu", "firstAvailable": ALTERNATIVES, "deviceClassName": "gpu"}
    raw = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "spec": {"devices": {"requests": [request]}},
    }
    (read,) = to_v1(raw)["spec"]["devices"]["requests"]
    assert read == {"name": "gpu", "firstAvailable": ALTERNATIVES, "exactly": {"deviceClassName": "gpu"}}
