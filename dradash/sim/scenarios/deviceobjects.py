"""Objects of resource.k8s.io/v1 for scenarios, as people and drivers write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dradash.sim.scenarios.objects import pod

Object = dict[str, Any]

DRA: Final = "resource.k8s.io/v1"


def device(
    name: str, attributes: Mapping[str, Any], *, memory: str = "", taints: Sequence[Mapping[str, str]] = ()
) -> Object:
    made: Object = {"name": name, "attributes": {k: _attribute(v) for k, v in attributes.items()}}
    if memory:
        made["capacity"] = {"memory": {"value": memory}}
    if taints:
        made["taints"] = [dict(taint) for taint in taints]
    return made


def _attribute(value: Any) -> Object:
    return {"bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string": value}


def _selectors(expressions: Sequence[str]) -> Object:
    return {"selectors": [{"cel": {"expression": e}} for e in expressions]} if expressions else {}


def device_class(name: str, *expressions: str) -> Object:
    spec = _selectors(expressions)
    return {"apiVersion": DRA, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def asked(class_name: str, *expressions: str, count: int = 1, tolerates: Sequence[str] = (), **more: Any) -> Object:
    """What a request asks for; tolerates: keys of taints; more: other fields, as the API names them."""
    made: Object = {"deviceClassName": class_name, "count": count, **_selectors(expressions), **more}
    if tolerates:
        made["tolerations"] = [{"key": key, "operator": "Exists"} for key in tolerates]
    return made


def exactly(name: str, class_name: str, *expressions: str, **more: Any) -> Object:
    return {"name": name, "exactly": asked(class_name, *expressions, **more)}


def first_available(name: str, alternatives: Mapping[str, Object]) -> Object:
    return {"name": name, "firstAvailable": [{"name": n, **a} for n, a in alternatives.items()]}


def device_claim(ns: str, name: str, *requests: Object, match: str = "", distinct: str = "") -> Object:
    """match, distinct: the attribute that all devices must have in common, or each with a value of its own."""
    metadata = {"name": name, "namespace": ns}
    spec = _spec(requests, match, distinct)
    return {"apiVersion": DRA, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def device_template(ns: str, name: str, *requests: Object, match: str = "") -> Object:
    metadata = {"name": name, "namespace": ns}
    spec = {"spec": _spec(requests, match)}
    return {"apiVersion": DRA, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def _spec(requests: Sequence[Object], match: str, distinct: str = "") -> Object:
    devices: Object = {"requests": list(requests)}
    constraints = [{"matchAttribute": match}] if match else []
    constraints += [{"distinctAttribute": distinct}] if distinct else []
    return {"devices": devices | ({"constraints": constraints} if constraints else {})}


def device_pod(
    ns: str, name: str, *, claims: Mapping[str, str] = {}, templates: Mapping[str, str] = {}, **more: Any
) -> Object:
    """A pod as objects.pod makes it, its claims named as they are since 1.31: without `source`."""
    made = pod(ns, name, claims=claims, templates=templates, **more)
    entries = made["spec"]["resourceClaims"]
    made["spec"]["resourceClaims"] = [{"name": e["name"], **e["source"]} for e in entries]
    return made
