"""Redaction of structured parameters: claims, classes and slices of all versions.

A v1beta1 request has beside its name what newer ones have under `exactly`, and its devices have it under `basic`.
"""

from __future__ import annotations

from typing import Final

from dradash.informer.pseudonyms import Pseudonyms
from dradash.informer.redactionrules import (
    CONDITIONS,
    NODE_SELECTOR,
    RESOURCE_NAMES,
    Rule,
    each,
    fields,
    keep,
    key,
    mapping,
    name,
    of_text,
    quantity,
    value,
    word,
)

DRIVER: Final = of_text(Pseudonyms.of_device)
_VALUE: Final = of_text(Pseudonyms.of_device)
_ATTRIBUTE: Final = of_text(Pseudonyms.attribute)
_NODE: Final = name("node")
# "request" or "request/subrequest"
_REQUEST: Final = of_text(lambda names, text: "/".join(names.name("request", part) for part in text.split("/")))

_SELECTORS: Final = each(fields(cel=fields(expression=of_text(Pseudonyms.expression))))
_TOLERATIONS: Final = each(fields(key=key, operator=keep, value=value, effect=keep, tolerationSeconds=keep))
_OPAQUE: Final = fields(driver=DRIVER)
_QUANTITIES: Final = mapping(_ATTRIBUTE, quantity)
_COUNTERS: Final = mapping(name("counter"), fields(value=quantity))

_EXACTLY: Final[dict[str, Rule]] = {
    "deviceClassName": name("class"),
    "selectors": _SELECTORS,
    "allocationMode": keep,
    "count": keep,
    "adminAccess": keep,
    "tolerations": _TOLERATIONS,
    "capacity": fields(requests=_QUANTITIES),
}
_REQUESTS: Final = each(
    fields(
        name=name("request"),
        exactly=fields(**_EXACTLY),
        firstAvailable=each(fields(name=name("request"), **_EXACTLY)),
        **_EXACTLY,
    )
)
DEVICE_CLAIM: Final = fields(
    requests=_REQUESTS,
    constraints=each(fields(requests=each(_REQUEST), matchAttribute=_ATTRIBUTE, distinctAttribute=_ATTRIBUTE)),
    config=each(fields(requests=each(_REQUEST), opaque=_OPAQUE)),
)

_DEVICE_ID: Final[dict[str, Rule]] = {
    "driver": DRIVER,
    "pool": name("pool"),
    "device": name("device"),
    "shareID": name("share"),
}
DEVICE_RESULTS: Final = fields(
    results=each(
        fields(
            request=_REQUEST,
            adminAccess=keep,
            tolerations=_TOLERATIONS,
            bindingConditions=each(word),
            bindingFailureConditions=each(word),
            consumedCapacity=_QUANTITIES,
            **_DEVICE_ID,
        )
    ),
    config=each(fields(source=keep, requests=each(_REQUEST), opaque=_OPAQUE)),
)
DEVICE_STATUSES: Final = each(fields(conditions=CONDITIONS, **_DEVICE_ID))

DEVICE_CLASS_SPEC: Final = fields(
    selectors=_SELECTORS, config=each(fields(opaque=_OPAQUE)), extendedResourceName=RESOURCE_NAMES
)

_REACH: Final[dict[str, Rule]] = {"nodeName": _NODE, "nodeSelector": NODE_SELECTOR, "allNodes": keep}
_POLICY: Final = fields(
    default=quantity,
    validValues=each(quantity),
    validRange=fields(min=quantity, max=quantity, step=quantity),
)
_TAINT: Final = fields(key=key, value=value, effect=keep, timeAdded=keep)
_DEVICE: Final[dict[str, Rule]] = {
    "attributes": mapping(_ATTRIBUTE, fields(int=keep, bool=keep, string=_VALUE, version=keep)),
    "capacity": mapping(_ATTRIBUTE, fields(value=quantity, requestPolicy=_POLICY)),
    "consumesCounters": each(fields(counterSet=name("counters"), counters=_COUNTERS)),
    "taints": each(_TAINT),
    "bindsToNode": keep,
    "bindingConditions": each(word),
    "bindingFailureConditions": each(word),
    "allowMultipleAllocations": keep,
    **_REACH,
}
SLICE_SPEC: Final = fields(
    driver=DRIVER,
    pool=fields(name=name("pool"), generation=keep, resourceSliceCount=keep),
    perDeviceNodeSelection=keep,
    devices=each(fields(name=name("device"), basic=fields(**_DEVICE), **_DEVICE)),
    sharedCounters=each(fields(name=name("counters"), counters=_COUNTERS)),
    **_REACH,
)

TAINT_RULE_SPEC: Final = fields(
    deviceSelector=fields(
        driver=DRIVER, pool=name("pool"), device=name("device"), deviceClassName=name("class"), selectors=_SELECTORS
    ),
    taint=_TAINT,
)
TAINT_RULE_STATUS: Final = fields(conditions=CONDITIONS)

EXTENDED_CLAIM: Final = fields(
    resourceClaimName=name("claim"),
    requestMappings=each(
        fields(containerName=name("container"), resourceName=RESOURCE_NAMES, requestName=name("request"))
    ),
)
