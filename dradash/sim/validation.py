"""Validation of metadata and core kinds, and the door to that of the DRA kinds (pkg/apis/core/validation)."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from dradash.kinds.registry import KINDS, MalformedObject, decode, struct_of
from dradash.scheduling import labels
from dradash.sim import apierrors, fielderrors, shapes, validation_devices, validation_dra
from dradash.sim.apierrors import Cause
from dradash.sim.resources import Resource
from dradash.sim.timefields import wrong_time

Object = dict[str, Any]

# Of a pod's spec an update may change these; tolerations may only be added to, gates only be taken away.
_MUTABLE_POD_SPEC: Final = (
    "activeDeadlineSeconds",
    "terminationGracePeriodSeconds",
    "tolerations",
    "schedulingGates",
    "nodeSelector",
    "affinity",
)
_ANNOTATIONS: Final = 256 * 1024  # bytes of keys and values in all
_OPERATORS: Final = ("Equal", "Exists")  # 1.35 has Lt and Gt behind a gate that is off
_INT32: Final = range(-(2**31), 2**31)
_POD_UPDATE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_types(resource: Resource, obj: Object) -> None:
    """400 when a field has a wrong type: what the server answers when it cannot decode a body."""
    kind = KINDS.get(resource.plural)
    if kind is None:
        return
    try:
        decode(struct_of(kind, resource.api_version()), resource.in_v1(obj))
        shapes.check(resource.plural, obj)
        wrong = wrong_time(resource.plural, obj) or _no_int32(resource, obj)
        if wrong:
            raise MalformedObject(wrong)
    except MalformedObject as error:
        version = resource.api_version().rpartition("/")[2]
        message = f'{resource.kind} in version "{version}" cannot be handled as a {resource.kind}: {error}'
        raise apierrors.bad_request(message) from error


def _no_int32(resource: Resource, obj: Object) -> str:
    priority = (obj.get("spec") or {}).get("priority") if resource.plural == "pods" else None
    if priority is None or priority in _INT32:
        return ""
    return f"json: cannot unmarshal number {priority} into Go struct field PodSpec.spec.priority of type int32"


def check_create(resource: Resource, obj: Object) -> None:
    """Raises ApiError 422 with every cause."""
    causes = _metadata(resource, obj["metadata"])
    if resource.plural == "pods":
        causes += _pod(obj)
    causes += _dra(resource).check(resource.plural, resource.in_v1(obj))
    _raise(resource, obj, causes)


def check_update(resource: Resource, new: Object, old: Object, subresource: str) -> None:
    """`subresource` is "" or "status". Raises ApiError 422 with every cause."""
    causes = _labels(new["metadata"])
    if subresource == "status":
        causes += _dra(resource).check_status_update(resource.plural, new, old)
    else:
        causes += _dra(resource).check_update(resource.plural, resource.in_v1(new), resource.in_v1(old))
        if resource.plural == "pods":
            causes += _pod_update(new, old)
    _raise(resource, new, causes)


def _dra(resource: Resource) -> ModuleType:
    return validation_devices if resource.is_structured else validation_dra


def _raise(resource: Resource, obj: Object, causes: list[Cause]) -> None:
    if causes:
        raise apierrors.invalid(resource, obj["metadata"].get("name", ""), causes)


def _metadata(resource: Resource, metadata: Object) -> list[Cause]:
    name = metadata.get("name", "")
    if not name:
        detail = "name or generateName is required"
        return [fielderrors.required("metadata.name", detail), *_labels(metadata)]
    check = fielderrors.dns_label if resource.plural == "namespaces" else fielderrors.dns_subdomain
    return fielderrors.names("metadata.name", name, check) + _labels(metadata)


def _labels(metadata: Object) -> list[Cause]:
    causes = []
    for key, value in (metadata.get("labels") or {}).items():
        causes += [fielderrors.invalid("metadata.labels", key, e) for e in labels.key_errors(key)]
        causes += [fielderrors.invalid("metadata.labels", value, e) for e in labels.value_errors(value)]
    for key in metadata.get("annotations") or {}:
        causes += [fielderrors.invalid("metadata.annotations", key, e) for e in labels.key_errors(key.lower())]
    size = sum(len(k.encode()) + len(str(v).encode()) for k, v in (metadata.get("annotations") or {}).items())
    if size > _ANNOTATIONS:
        causes.append(fielderrors.too_long("metadata.annotations", _ANNOTATIONS))
    for i, ref in enumerate(metadata.get("ownerReferences") or ()):
        at = f"metadata.ownerReferences[{i}]"
        causes += [fielderrors.required(f"{at}.{f}") for f in ("apiVersion", "kind", "name", "uid") if not ref.get(f)]
    return causes


def _pod(pod: Object) -> list[Cause]:
    spec = pod["spec"]
    containers = spec.get("containers") or []
    causes = [] if containers else [fielderrors.required("spec.containers")]
    for i, container in enumerate(containers):
        at = f"spec.containers[{i}]"
        missing = [f for f in ("name", "image") if not isinstance(container, dict) or not container.get(f)]
        causes += [fielderrors.required(f"{at}.{f}") for f in missing]
    seen: set[str] = set()
    for i, claim in enumerate(spec.get("resourceClaims") or ()):
        at, name = f"spec.resourceClaims[{i}]", claim.get("name", "")
        if not name:
            causes.append(fielderrors.required(f"{at}.name"))
        elif name in seen:
            causes.append(fielderrors.duplicate(f"{at}.name", name))
        seen.add(name)
        source = claim.get("source") or claim
        causes += _claim_source(f"{at}.source", source)
    return causes + _keys(spec)


def _keys(spec: Object) -> list[Cause]:
    """What a pod asks of nodes, and its gates: qualified names and label values."""
    causes = []
    for key, value in (spec.get("nodeSelector") or {}).items():
        causes += [fielderrors.invalid("spec.nodeSelector", key, e) for e in labels.key_errors(key)]
        causes += [fielderrors.invalid("spec.nodeSelector", value, e) for e in labels.value_errors(value)]
    for i, toleration in enumerate(spec.get("tolerations") or ()):
        if key := toleration.get("key"):
            causes += [fielderrors.invalid(f"spec.tolerations[{i}].key", key, e) for e in labels.key_errors(key)]
        if (operator := toleration.get("operator") or "Equal") not in _OPERATORS:
            causes.append(fielderrors.not_supported(f"spec.tolerations[{i}].operator", operator, _OPERATORS))
    seen: set[str] = set()
    for i, gate in enumerate(spec.get("schedulingGates") or ()):
        at, name = f"spec.schedulingGates[{i}]", gate.get("name", "")
        causes += [fielderrors.invalid(at, name, e) for e in labels.key_errors(name)]
        if name in seen:
            causes.append(fielderrors.duplicate(at, name))
        seen.add(name)
    return causes


def _claim_source(at: str, source: Object) -> list[Cause]:
    named = [f for f in ("resourceClaimName", "resourceClaimTemplateName") if source.get(f)]
    if not named:
        return [
            fielderrors.invalid(at, source, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        ]
    if len(named) > 1:
        return [fielderrors.invalid(at, source, "at most one of `resourceClaimName` or `resourceClaimTemplateName`")]
    return fielderrors.names(f"{at}.{named[0]}", source[named[0]], fielderrors.dns_subdomain)


def _frozen_part(spec: Object) -> Object:
    frozen = {k: v for k, v in spec.items() if k not in _MUTABLE_POD_SPEC}
    for containers in ("containers", "initContainers"):
        if isinstance(spec.get(containers), list):
            frozen[containers] = [{k: v for k, v in c.items() if k != "image"} for c in spec[containers]]
    return frozen


def _pod_update(new: Object, old: Object) -> list[Cause]:
    before, after = old.get("spec") or {}, new.get("spec") or {}
    causes = []
    if _frozen_part(after) != _frozen_part(before):
        causes.append(fielderrors.forbidden("spec", _POD_UPDATE))
    if any(t not in (after.get("tolerations") or []) for t in before.get("tolerations") or ()):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        causes.append(fielderrors.forbidden("spec.tolerations", detail))
    gates = [g.get("name") for g in before.get("schedulingGates") or ()]
    if any(g.get("name") not in gates for g in after.get("schedulingGates") or ()):
        detail = "only deletion is allowed, but found new scheduling gate"
        causes.append(fielderrors.forbidden("spec.schedulingGates", detail))
    causes += _keys(after)
    if not gates:
        changed = [name for name in ("nodeSelector", "affinity") if after.get(name) != before.get(name)]
        causes += [fielderrors.forbidden("spec", _POD_UPDATE) for _ in changed]
    return causes
