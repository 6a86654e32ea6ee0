"""Redaction of objects: a table of what stays, by kind; a field that is in no table is left out.

The verdicts on a redacted recording are those on the original, under other names: everything that scheduling reads is
kept or replaced consistently. Images, commands, environments, volumes, addresses, driver data and the like are gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dradash.informer.pseudonyms import Pseudonyms
from dradash.kinds.registry import MalformedObject

Rule = Callable[[Pseudonyms, Any], Any]

_QUANTITY: Final = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+|[a-zA-Z]{0,2})")


def keep(_names: Pseudonyms, value: Any) -> Any:
    """Numbers, booleans, times and constants of the API."""
    return value


def _of_text(change: Callable[[Pseudonyms, str], str]) -> Rule:
    """Applies to a string; null and what is of a wrong type (malformed stays malformed) become null and 0."""

    def rule(names: Pseudonyms, value: Any) -> Any:
        if isinstance(value, str):
            return change(names, value)
        return None if value is None else 0

    return rule


def name(role: str) -> Rule:
    return _of_text(lambda names, text: names.name(role, text))


uid: Final = _of_text(Pseudonyms.uid)
key: Final = _of_text(Pseudonyms.key)
value: Final = name("value")
group: Final = _of_text(Pseudonyms.domain)
word: Final = _of_text(Pseudonyms.machine_word)
text: Final = _of_text(Pseudonyms.text)
prefix: Final = _of_text(lambda names, text: names.name("prefix", text.rstrip("-")) + "-" * text.endswith("-"))


def each(rule: Rule) -> Rule:
    def apply(names: Pseudonyms, value: Any) -> Any:
        if isinstance(value, list):
            return [rule(names, item) for item in value]
        return None if value is None else 0

    return apply


def fields(**rules: Rule) -> Rule:
    def apply(names: Pseudonyms, value: Any) -> Any:
        if not isinstance(value, dict):
            return None if value is None else 0
        # Prose comes last: by then the names in it that stand in other fields are known by their role.
        order = sorted((field for field in value if field in rules), key=lambda field: rules[field] is text)
        done = {field: rules[field](names, value[field]) for field in order}
        return {field: done[field] for field in value if field in done}

    return apply


def mapping(key_rule: Rule, value_rule: Rule) -> Rule:
    def apply(names: Pseudonyms, value: Any) -> Any:
        if not isinstance(value, dict):
            return None if value is None else 0
        return {key_rule(names, k): value_rule(names, v) for k, v in value.items()}

    return apply


def _quantity(_names: Pseudonyms, value: Any) -> Any:
    return value if isinstance(value, int | float) or _QUANTITY.fullmatch(str(value)) else "0"


_RESOURCE_NAMES: Final = _of_text(lambda names, text: names.key(text))
quantities: Final = mapping(_RESOURCE_NAMES, _quantity)
labels: Final = mapping(key, value)


def metadata(role: str) -> Rule:
    owner = fields(apiVersion=group, kind=keep, name=name("owner"), uid=uid, controller=keep, blockOwnerDeletion=keep)
    return fields(
        name=name(role),
        generateName=prefix,
        namespace=name("namespace"),
        uid=uid,
        resourceVersion=keep,
        generation=keep,
        creationTimestamp=keep,
        deletionTimestamp=keep,
        deletionGracePeriodSeconds=keep,
        labels=labels,
        annotations=labels,
        finalizers=each(key),
        ownerReferences=each(owner),
    )


_TERM: Final = fields(
    matchExpressions=each(fields(key=key, operator=keep, values=each(value))),
    matchFields=each(fields(key=key, operator=keep, values=each(name("node")))),
)
_NODE_SELECTOR: Final = fields(nodeSelectorTerms=each(_TERM))
_CONDITIONS: Final = each(
    fields(type=word, status=keep, reason=word, message=text, lastTransitionTime=keep, lastProbeTime=keep)
)
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
        requiredDuringSchedulingIgnoredDuringExecution=_NODE_SELECTOR,
        preferredDuringSchedulingIgnoredDuringExecution=each(fields(weight=keep, preference=_TERM)),
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
    conditions=_CONDITIONS,
    qosClass=keep,
    startTime=keep,
    nominatedNodeName=name("node"),
    resourceClaimStatuses=each(fields(name=name("claim"), resourceClaimName=name("claim"))),
)
_CLAIM_SPEC: Final = fields(resourceClassName=name("class"), parametersRef=_PARAMETERS, allocationMode=keep)
_CLAIM_STATUS: Final = fields(
    driverName=name("driver"),
    allocation=fields(
        resourceHandles=each(fields(driverName=name("driver"))), availableOnNodes=_NODE_SELECTOR, shareable=keep
    ),
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
        status=fields(capacity=quantities, allocatable=quantities, conditions=_CONDITIONS),
    ),
    "namespaces": _object("namespace", status=fields(phase=keep)),
    "resourceclaims": _object("claim", spec=_CLAIM_SPEC, status=_CLAIM_STATUS),
    "resourceclasses": _object(
        "class", driverName=name("driver"), parametersRef=_PARAMETERS, suitableNodes=_NODE_SELECTOR
    ),
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
