"""What the API server says that it serves: /api, /apis, resource lists, and the aggregated form for kubectl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dradash.sim.resources import STATUS_VERBS, VERBS, Resource

AGGREGATED: Final = "apidiscovery.k8s.io"
_BUILD: Final = {
    "major": "1",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}

Object = dict[str, Any]

# The newest version of structured parameters that is served -> a release that has no newer one.
_RELEASES: Final = {"v1": "36", "v1beta2": "33", "v1beta1": "32"}


def version(resources: Iterable[Resource]) -> Object:
    """/version: of the release that has this generation of DRA, in these versions."""
    versions = {v for resource in resources if resource.is_structured for v in resource.versions}
    minor = next((minor for version, minor in _RELEASES.items() if version in versions), "30")
    return {"minor": minor, "gitVersion": f"v1.{minor}.0+dradash-sim", **_BUILD}


def _groups(resources: Iterable[Resource]) -> dict[str, list[str]]:
    """Group -> its versions in order of preference; the core group ("") is first."""
    groups: dict[str, list[str]] = {}
    for resource in sorted(resources, key=lambda r: r.group):
        versions = groups.setdefault(resource.group, [])
        versions += [v for v in resource.versions if v not in versions]
    return groups


def api_versions(address: str) -> Object:
    """/api; `address` is where the client reached us."""
    by_address = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": by_address}


def _group(name: str, versions: list[str]) -> Object:
    listed = [{"groupVersion": f"{name}/{v}", "version": v} for v in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def api_groups(resources: Iterable[Resource]) -> Object:
    """/apis."""
    groups = [_group(name, versions) for name, versions in _groups(resources).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(resources: Iterable[Resource], name: str) -> Object | None:
    """/apis/GROUP; None when it is not served."""
    versions = _groups(resources).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def _binding(resource: Resource) -> bool:
    return resource.plural == "pods"


def resource_list(resources: Iterable[Resource], group: str, version: str) -> Object | None:
    """/api/v1 or /apis/GROUP/VERSION; None when it is not served."""
    found: list[Object] = []
    for resource in resources:
        if resource.group != group or version not in resource.versions:
            continue
        entry: Object = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(VERBS),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        found.append(entry)
        base = {"singularName": "", "namespaced": resource.namespaced}
        if resource.has_status:
            status = {"name": f"{resource.plural}/status", "kind": resource.kind, "verbs": list(STATUS_VERBS)}
            found.append({**base, **status})
        if _binding(resource):
            found.append({**base, "name": "pods/binding", "kind": "Binding", "verbs": ["create"]})
    if not found:
        return None
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": found}


def aggregated(resources: Iterable[Resource], *, core: bool, form: str) -> Object:
    """/api (core) or /apis as an APIGroupDiscoveryList of the `form` v2 or v2beta1."""
    resources = list(resources)
    items = [
        {
            "metadata": {"name": name, "creationTimestamp": None} if name else {"creationTimestamp": None},
            "versions": [_aggregated_version(resources, name, version) for version in versions],
        }
        for name, versions in _groups(resources).items()
        if (not name) == core
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"{AGGREGATED}/{form}", "metadata": {}, "items": items}


def _aggregated_version(resources: list[Resource], group: str, version: str) -> Object:
    served = [r for r in resources if r.group == group and version in r.versions]
    return {"version": version, "resources": [_aggregated_resource(r, version) for r in served], "freshness": "Current"}


def _aggregated_resource(resource: Resource, version: str) -> Object:
    response = {"group": resource.group, "version": version, "kind": resource.kind}
    subresources = []
    if resource.has_status:
        subresources.append({"subresource": "status", "responseKind": response, "verbs": list(STATUS_VERBS)})
    if _binding(resource):
        kind = {"group": "", "version": "v1", "kind": "Binding"}
        subresources.append({"subresource": "binding", "responseKind": kind, "verbs": ["create"]})
    entry: Object = {
        "resource": resource.plural,
        "responseKind": response,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(VERBS),
    }
    optional = {
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "subresources": subresources,
    }
    return {**entry, **{k: v for k, v in optional.items() if v}}
