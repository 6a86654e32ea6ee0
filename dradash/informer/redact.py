"""Redaction of objects: a table of what stays, by kind; a field that is in no table is left out.

The verdicts on a redacted recording are those on the original, under other names: everything that scheduling reads is
kept or replaced consistently. Images, commands, environments, volumes, addresses, driver data and the like are gone.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dradash.informer.devicerules import (
    DEVICE_CLAIM,
    DEVICE_CLASS_SPEC,
    DEVICE_RESULTS,
    DEVICE_STATUSES,
    EXTENDED_CLAIM,
    SLICE_SPEC,
    TAINT_RULE_SPEC,
    TAINT_RULE_STATUS,
)
from dradash.informer.pseudonyms import Pseudonyms
from dradash.informer.redactionrules import (
    CONDITIONS,
    NODE_SELECTOR,
    TERM,
    Rule,
    each,
    fields,
    group,
    keep,
    key,
    labels,
    metadata,
    name,
    quantities,
    text,
    uid,
    value,
    word,
)
from dradash.kinds.registry import MalformedObject

_PARAMETERS: Final = fields(apiGroup=group, kind=keep, name=name("parameters"), namespace=name("namespace"))

_CONTAINERS: Final = each(
    fields(
        name=name("container"),
        resources=fields(
            requests=quantities, limits=quantities, claims=each(fields(name=name("claim"), request=name("request")))
        ),
        ports=each(fields(containerPort=keep, hostPort=keep, protocol=keep)),
    )
)
_POD_TERM: Final = fields(topologyKey=key)
_POD_AFFINITY: Final = fields(
    requiredDuringSchedulingIgnoredDuringExecution=each(_POD_TERM),
    preferredDuringSchedulingIgnoredDuringExecution=each(fields(weight=keep, podAffinityTerm=_POD_TERM)),
)
_AFFINITY: Final = fields(
    nodeAffinity=fields(
        requiredDuringSchedulingIgnoredDuringExecution=NODE_SELECTOR,
        preferredDuringSchedulingIgnoredDuringExecution=each(fields(weight=keep, preference=TERM)),
    ),
    podAffinity=_POD_AFFINITY,
    podAntiAffinity=_POD_AFFINITY,
)
_POD_CLAIM: Final[dict[str, Rule]] = {
    "resourceClaimName": name("claim"),
    "resourceClaimTemplateName": name("template"),
}
_POD_SPEC: Final = fields(
    nodeName=name("node"),
    schedulerName=name("scheduler"),
    nodeSelector=labels,
    affinity=_AFFINITY,
    tolerations=each(fields(key=key, operator=keep, value=value, effect=keep, tolerationSeconds=keep)),
    resourceClaims=each(fields(name=name("claim"), source=fields(**_POD_CLAIM), **_POD_CLAIM)),
    schedulingGates=each(fields(name=key)),
    topologySpreadConstraints=each(fields(maxSkew=keep, topologyKey=key, whenUnsatisfiable=keep)),
    volumes=each(fields(name=name("volume"))),
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    restartPolicy=keep,
    preemptionPolicy=keep,
    priority=keep,
    priorityClassName=name("priority"),
    terminationGracePeriodSeconds=keep,
)
_POD_STATUS: Final = fields(
    phase=keep,
    conditions=CONDITIONS,
    qosClass=keep,
    startTime=keep,
    nominatedNodeName=name("node"),
    resourceClaimStatuses=each(fields(name=name("claim"), resourceClaimName=name("claim"))),
    extendedResourceClaimStatus=EXTENDED_CLAIM,
)
# Of both generations: a claim has the fields of one.
_CLAIM_SPEC: Final = fields(
    resourceClassName=name("class"), parametersRef=_PARAMETERS, allocationMode=keep, devices=DEVICE_CLAIM
)
_CLAIM_STATUS: Final = fields(
    driverName=name("driver"),
    allocation=fields(
        resourceHandles=each(fields(driverName=name("driver"))),
        availableOnNodes=NODE_SELECTOR,
        shareable=keep,
        devices=DEVICE_RESULTS,
        nodeSelector=NODE_SELECTOR,
        allocationTimestamp=keep,
    ),
    devices=DEVICE_STATUSES,
    reservedFor=each(fields(apiGroup=group, resource=keep, name=name("pod"), uid=uid)),
    deallocationRequested=keep,
)
_ABOUT: Final = fields(
    kind=keep, apiVersion=group, namespace=name("namespace"), name=name("object"), uid=uid, resourceVersion=keep
)
_EVENT_SOURCE: Final = fields(component=name("component"), host=name("node"))


def _object(role: str, **rules: Rule) -> Rule:
    return fields(kind=keep, apiVersion=keep, metadata=metadata(role), **rules)


RULES: Final[dict[str, Rule]] = {
    "pods": _object("pod", spec=_POD_SPEC, status=_POD_STATUS),
    "nodes": _object(
        "node",
        spec=fields(unschedulable=keep, taints=each(fields(key=key, value=value, effect=keep, timeAdded=keep))),
        status=fields(
            capacity=quantities,
            allocatable=quantities,
            conditions=CONDITIONS,
            nodeInfo=fields(kubeletVersion=keep),
        ),
    ),
    "namespaces": _object("namespace", status=fields(phase=keep)),
    "resourceclaims": _object("claim", spec=_CLAIM_SPEC, status=_CLAIM_STATUS),
    "resourceclasses": _object(
        "class", driverName=name("driver"), parametersRef=_PARAMETERS, suitableNodes=NODE_SELECTOR
    ),
    "deviceclasses": _object("class", spec=DEVICE_CLASS_SPEC),
    "resourceslices": _object("slice", spec=SLICE_SPEC),
    "devicetaintrules": _object("rule", spec=TAINT_RULE_SPEC, status=TAINT_RULE_STATUS),
    "resourceclaimtemplates": _object("template", spec=fields(metadata=metadata("claim"), spec=_CLAIM_SPEC)),
    "podschedulingcontexts": _object(
        "pod",
        spec=fields(selectedNode=name("node"), potentialNodes=each(name("node"))),
        status=fields(resourceClaims=each(fields(name=name("claim"), unsuitableNodes=each(name("node"))))),
    ),
    "events": _object(
        "event",
        type=keep,
        reason=word,
        action=word,
        message=text,
        note=text,
        count=keep,
        deprecatedCount=keep,
        series=fields(count=keep, lastObservedTime=keep),
        involvedObject=_ABOUT,
        regarding=_ABOUT,
        related=_ABOUT,
        source=_EVENT_SOURCE,
        deprecatedSource=_EVENT_SOURCE,
        reportingComponent=name("component"),
        reportingController=name("component"),
        reportingInstance=name("instance"),
        eventTime=keep,
        firstTimestamp=keep,
        lastTimestamp=keep,
        deprecatedFirstTimestamp=keep,
        deprecatedLastTimestamp=keep,
    ),
}


class Redactor:
    """One recording's pseudonyms. Not thread-safe."""

    def __init__(self) -> None:
        self._names = Pseudonyms()

    def object(self, kind: str, raw: bytes) -> bytes:
        """The object's JSON under other names. Raises MalformedObject, also for a kind without rules: out it stays."""
        rule = RULES.get(kind)
        if rule is None:
            raise MalformedObject(f"there are no redaction rules for {kind}")
        try:
            parsed = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedObject(str(error)) from error
        return msgspec.json.encode(rule(self._names, parsed))
