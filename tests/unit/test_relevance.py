"""What is kept and what is dropped right behind the socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dradash.informer.extended import Extended
from dradash.informer.relevance import event_matters, filter_for, pod_matters, pod_uses_claims


def nobody(_key: str) -> bool:
    return False


def pod(**spec: Any) -> bytes:
    return json.dumps({"metadata": {"name": "p", "namespace": "ns"}, "spec": spec}).encode()


def event(kind: str = "Pod", reason: str = "FailedScheduling", **more: Any) -> bytes:
    about = {"kind": kind, "namespace": "ns", "name": "p"}
    return json.dumps({"reason": reason, "involvedObject": about, **more}).encode()


@pytest.mark.parametrize(
    ("raw", "uses"),
    [
        (pod(), False),
        (pod(resourceClaims=[]), False),
        (pod(resourceClaims=None), False),
        (pod(resourceClaims=[{"name": "gpu"}]), True),
        (b'{"metadata":{"annotations":{"x":"\\"resourceClaims\\""}},"spec":{}}', False),
        (b'{"spec":{"resourceClaims":7}}', True),  # malformed: kept, to be shown
    ],
)
def test_a_pod_matters_if_it_uses_claims(raw: bytes, uses: bool) -> None:
    assert pod_uses_claims(raw) is uses


def test_a_pod_that_a_claim_is_reserved_for_matters_too() -> None:
    assert pod_matters("ns/p", pod(), lambda key: key == "ns/p")
    assert not pod_matters("ns/p", pod(), nobody)


def device_class(resource: Any) -> bytes:
    return json.dumps({"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": resource}}).encode()


def asking(resource: str, **spec: Any) -> bytes:
    return pod(containers=[{"name": "c", "resources": {"requests": {resource: "1"}}}], **spec)


def test_a_pod_that_waits_for_an_extended_resource_of_a_class_matters() -> None:
    extended = Extended()
    extended.replace({"gpu": device_class("example.com/gpu"), "other": device_class(None)})
    assert pod_matters("ns/p", asking("example.com/gpu"), nobody, extended)
    assert not pod_matters("ns/p", asking("example.com/gpu", nodeName="n"), nobody, extended), "served by a plugin"
    assert not pod_matters("ns/p", asking("example.com/gpu2"), nobody, extended)
    assert not pod_matters("ns/p", asking("cpu"), nobody, extended)
    extended.replace({"other": device_class(7)})
    assert not pod_matters("ns/p", asking("example.com/gpu"), nobody, extended)


def test_a_resource_that_names_its_class_matters_without_any_class() -> None:
    assert pod_uses_claims(asking("deviceclass.resource.kubernetes.io/gpu"))
    assert pod_uses_claims(asking("deviceclass.resource.kubernetes.io/gpu", resourceClaims=[]))


@pytest.mark.parametrize("kind", ["ResourceClaim", "PodSchedulingContext", "ResourceClaimTemplate", "ResourceClass"])
def test_events_about_our_kinds_matter_whoever_reports_them(kind: str) -> None:
    assert event_matters(event(kind, "Anything", source={"component": "gpu-driver"}), nobody)


@pytest.mark.parametrize("kind", ["Node", "Deployment", "Service", ""])
def test_events_about_other_kinds_do_not_matter(kind: str) -> None:
    assert not event_matters(event(kind), None)


def test_a_pods_event_matters_if_the_pod_does() -> None:
    assert event_matters(event(), lambda key: key == "ns/p")
    assert not event_matters(event(), nobody)
    assert event_matters(event(), None)


def test_the_kubelet_is_heard_on_claims_only() -> None:
    kubelet = {"component": "kubelet"}

    assert not event_matters(event(reason="Pulled", source=kubelet), None)
    assert event_matters(event(reason="FailedPrepareDynamicResources", source=kubelet), None)


def test_events_of_the_newer_api_are_read_too() -> None:
    raw = json.dumps(
        {
            "reason": "Scheduled",
            "regarding": {"kind": "Pod", "namespace": "ns", "name": "p"},
            "reportingController": "x",
        }
    ).encode()

    assert event_matters(raw, lambda key: key == "ns/p")


def test_an_unreadable_event_is_kept_to_be_counted() -> None:
    assert event_matters(b'{"reason":7}', nobody)


def test_other_kinds_have_no_filter() -> None:
    assert filter_for("nodes", nobody) is None
    assert filter_for("pods", None) is not None
