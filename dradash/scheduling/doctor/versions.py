"""Version skew, as far as it shows: what is served, what of objects was dropped, which kubelets are too old."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from dradash.kinds.registry import CLASSIC, KINDS, STRUCTURED
from dradash.scheduling.doctor.exam import Exam, count, created, identity
from dradash.scheduling.doctor.finding import Finding, Ref

APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
SKEW: Final = 3  # minor versions that a kubelet may be older than the API server
_KINDS: Final = ("resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices")
# Version of resource.k8s.io -> the minor version of Kubernetes that first had it.
_FIRST: Final[Mapping[str, int]] = {"v1": 34, "v1beta2": 33, "v1beta1": 32}
# Fields that the API server drops while their feature gate is off, or that older versions of it do not have.
GATES: Final[Mapping[str, str]] = {
    "firstAvailable": "DRAPrioritizedList",
    "adminAccess": "DRAAdminAccess",
    "tolerations": "DRADeviceTaints",
    "capacity": "DRAConsumableCapacity",
    "distinctAttribute": "DRAConsumableCapacity",
    "extendedResourceName": "DRAExtendedResource",
}
_OPAQUE: Final = frozenset({"config"})  # what drivers read: any field may be in it
_VERSION: Final = re.compile(r"v1\.(\d+)\..*")


def check(exam: Exam) -> Iterator[Finding]:
    versions = _served(exam)
    yield from _beta(exam, versions)
    if versions:
        yield from _dropped(exam)
        yield from _kubelets(exam, max(_FIRST[v] for v in versions.values()))


def _served(exam: Exam) -> dict[str, str]:
    """Kind -> the version in which it is watched, of kinds with structured parameters."""
    found = {plural: exam.sync[plural].version for plural in _KINDS if plural in exam.sync and plural in exam.readable}
    return {plural: version for plural, version in found.items() if version in STRUCTURED}


# --- the API server --------------------------------------------------------------------------------------------------


def _beta(exam: Exam, versions: dict[str, str]) -> Iterator[Finding]:
    """dradash watches the newest version that is served."""
    old = [plural for plural, version in versions.items() if version != STRUCTURED[0]]
    if not old:
        return
    newest = min((versions[p] for p in old), key=STRUCTURED.index)
    since = max(exam.sync[p].since for p in old)
    mixed = f" of {', '.join(old)}" if len(old) < len(versions) else ""
    yield exam.finding(
        "version-beta",
        ("resource.k8s.io", *sorted(set(versions.values()))),
        f"The API server serves no newer version{mixed} than resource.k8s.io/{newest}.",
        [Ref(plural, "") for plural in old],
        since,
        command=("api-resources", "--api-group=resource.k8s.io"),
    )


# --- what was dropped ------------------------------------------------------------------------------------------------


def _dropped(exam: Exam) -> Iterator[Finding]:
    for plural in _KINDS[:3]:
        for key, obj in exam.cluster.objects(plural).items():
            applied = obj.metadata.annotations.get(APPLIED)
            raw = exam.cluster.raw[plural].get(key)
            if not applied or raw is None or CLASSIC.encode() in raw:
                continue
            lost = sorted(fields_in(applied.encode("utf-8", "replace")) - fields_in(raw))
            if not lost:
                continue
            gates = ", ".join(dict.fromkeys(GATES[name] for name in lost))
            sentence = (
                f"{KINDS[plural].kind} {key} was applied with {', '.join(lost)}, which the API server has dropped "
                f"(feature gate {gates}, or an older version)."
            )
            since = exam.changed(plural, key) or created(obj)
            yield exam.finding(
                "fields-dropped", (identity(obj),), sentence, (Ref(plural, key),), since, namespace=obj.namespace
            )


@lru_cache(maxsize=8192)
def fields_in(raw: bytes) -> frozenset[str]:
    """Which of GATES are set in the object's spec; none where it cannot be read."""
    if not any(name.encode() in raw for name in GATES):
        return frozenset()
    try:
        spec = msgspec.json.decode(raw).get("spec")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError):
        return frozenset()
    return frozenset(_set(spec))


def _set(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _set(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name in _OPAQUE:
                continue
            if name in GATES and one:
                yield name
            yield from _set(one)


# --- kubelets --------------------------------------------------------------------------------------------------------


def minor(version: str) -> int | None:
    """36 of "v1.36.2+k3s1"."""
    found = _VERSION.fullmatch(version)
    return int(found[1]) if found else None


def _kubelets(exam: Exam, least: int) -> Iterator[Finding]:
    """least: the API server's minor version at least, by what it serves."""
    nodes: defaultdict[int, list[str]] = defaultdict(list)
    for name, node in exam.cluster.nodes.by_name.items():
        found = minor(node.status.node_info.kubelet_version)
        if found is not None:
            nodes[found].append(name)
    # No kubelet may be newer than the API server.
    server = max([least, *nodes])
    for version, names in sorted(nodes.items()):
        if version >= min(_FIRST.values()) and version >= server - SKEW:
            continue
        if version < min(_FIRST.values()):
            why = f"it does not know resource.k8s.io/{'/'.join(STRUCTURED[-1:])}: pods with claims do not start there"
        else:
            why = f"the API server is of 1.{server} at least, and supports kubelets of 1.{server - SKEW} and later"
        since = max(exam.changed("nodes", n) or created(exam.cluster.nodes.by_name[n]) for n in names)
        yield exam.finding(
            "kubelet-too-old",
            (str(version),),
            f"The kubelet of {count(len(names), 'node')} is of Kubernetes 1.{version}; {why}.",
            (Ref("nodes", ""), *(Ref("nodes", n) for n in sorted(names))),
            since,
            command=("get", "nodes", "-o", "wide"),
        )
