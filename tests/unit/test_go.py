"""/go: from the labels of an alert to the right page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client, override_settings

from dradash.reader import current
from dradash.reader.moment import parse
from tests import build
from tests.scene import Scene

POD = build.pod("train", "ml", claims={"gpu": "c"})
TWIN = build.pod("train", "web", claims={"gpu": "c"})
ONLY = build.pod("only", "web", claims={"gpu": "c"})
GONE = build.pod("gone", "ml", claims={"gpu": "c"})
AT = "2026-11-30T03:00:00Z"


@pytest.fixture(autouse=True)
def scene() -> Iterator[Scene]:
    claims = [build.claim("c", ns) for ns in ("ml", "web")]
    made = Scene(*build.nodes(2), build.resource_class(), build.namespace("ml"), POD, TWIN, ONLY, GONE, *claims)
    made.delete(GONE)
    made.look()
    current.use(made.web)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        yield made
    current.use(None)


def go(**params: str) -> str:
    response = Client().get("/go", params)
    assert response.status_code == 302, response.content.decode()[-1500:]
    return response.headers["Location"]


def refusal(status: int, **params: str) -> str:
    response = Client().get("/go", params)
    assert response.status_code == status
    return response.content.decode()


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"namespace": "ml", "pod": "train"}, "/ns/ml/pods/train"),
        ({"namespace": "ml", "claim": "c"}, "/ns/ml/claims/c"),
        ({"namespace": "ml", "resourceclaim": "c"}, "/ns/ml/claims/c"),
        ({"exported_namespace": "ml", "exported_pod": "train"}, "/ns/ml/pods/train"),
        (
            {"namespace": "monitoring", "pod": "exporter", "exported_namespace": "ml", "exported_pod": "train"},
            "/ns/ml/pods/train",
        ),
        ({"node": "node-1"}, "/nodes/node-1"),
        ({"class": "gpu"}, "/classes/gpu"),
        ({"driver": "gpu.example.com"}, "/drivers/gpu.example.com"),
        ({"driver": "other"}, "/drivers"),
        ({"finding": "driver-silent"}, "/doctor?code=driver-silent"),
        ({"namespace": "ml"}, "/pods?ns=ml"),
        ({"pod": "ml/train"}, "/ns/ml/pods/train"),
        ({}, "/"),
    ],
)
def test_labels_lead_to_their_page(params: dict[str, str], path: str) -> None:
    assert go(**params) == path


def test_the_pod_comes_before_its_claim_and_the_claim_before_the_node() -> None:
    assert go(namespace="ml", pod="train", claim="c", node="node-0") == "/ns/ml/pods/train"
    assert go(namespace="ml", pod="unheard-of", claim="c", node="node-0") == "/ns/ml/claims/c"


def test_a_pod_that_is_gone_leads_to_its_page_at_the_alerts_time() -> None:
    assert go(namespace="ml", pod="gone", at=AT) == "/ns/ml/pods/gone?at=2026-11-30T03%3A00%3A00Z"


def test_a_name_without_namespace_counts_where_it_is_the_only_one() -> None:
    assert go(pod="only") == "/ns/web/pods/only"
    assert "Without a namespace" in refusal(404, pod="train")


def test_a_moment_may_be_in_unix_seconds_or_milliseconds() -> None:
    seconds = parse(AT)
    assert seconds is not None
    assert go(node="node-1", at=f"{seconds:.0f}") == go(node="node-1", at=f"{seconds * 1000:.0f}")
    assert go(node="node-1", at=AT).endswith("?at=2026-11-30T03%3A00%3A00Z")


def test_a_moment_that_has_not_come_yet_is_now_and_no_value_is_none() -> None:
    assert go(node="node-1", at="2999-01-01T00:00:00Z") == "/nodes/node-1"
    assert go(node="node-1", pod="<no value>", at="<no value>") == "/nodes/node-1"


def test_the_query_of_a_page_goes_on_with_the_moment() -> None:
    assert go(namespace="ml", at=AT) == "/pods?ns=ml&at=2026-11-30T03%3A00%3A00Z"


@pytest.mark.parametrize("at", ["yesterday", "9" * 300, "٣"])
def test_a_moment_that_is_none_is_refused_with_an_example(at: str) -> None:
    page = refusal(400, node="node-1", at=at)
    assert "2026-11-30T03:12:00Z" in page


def test_what_was_looked_for_is_said_and_escaped() -> None:
    page = refusal(404, namespace="ml", pod="<script>x")
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert "/search?q=%3Cscript%3Ex" in page
