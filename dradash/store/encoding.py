"""Bodies as they are kept: raw deflate with a preset dictionary where that is shorter. See decisions/0003.

The first byte says how: 0 plain, 1 deflate with DICTIONARY_1. A dictionary is part of the stored format and never
changes; a better one gets the next number.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Final

import msgspec

from dradash.store.model import StoreUnavailable

# Shorter bodies do not get shorter by enough to pay for two calls.
PLAIN_BELOW: Final = 64
# A window of 4 KiB: the larger default costs five times the CPU (zlib clears its tables for each body).
_WBITS, _MEM_LEVEL, _LEVEL = -12, 6, 1
_PLAIN, _DEFLATE_1 = b"\x00", b"\x01"

# JSON as the API server writes it, with what is seen most often at the end (deflate reaches the end cheapest).
DICTIONARY_1: Final = "".join(
    (
        '"spec":{"nodeName":"","suitableNodes":[""],"allNodes":true,"pool":{"generation":1,"resourceSliceCount":1},',
        '"devices":[{"basic":{"attributes":{"memory":{"string":""},"capacity":{"value":"32Gi"}}}}],"selectors":[{"cel":',
        '{"expression":"device.attributes["}}]},"requests":[{"exactly":{"deviceClassName":"","count":1}}]',
        '"allocatable":{"cpu":"8","memory":"32Gi","pods":"20"},"capacity":{"cpu":"8","ephemeral-storage":"",',
        '"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:00Z","reason":"KubeletReady","taints":[',
        '"nodeInfo":{"architecture":"amd64","kubeletVersion":"v1.30.0","operatingSystem":"linux"},"images":[{"names":[',
        '"involvedObject":{"kind":"Pod","namespace":"default","name":"","uid":"","apiVersion":"v1","resourceVersion":"',
        '"reason":"FailedScheduling","message":"0/6 nodes are available: ","source":{},"firstTimestamp":null,',
        '"lastTimestamp":null,"type":"Warning","eventTime":"2026-11-30T04:32:08.000000Z","series":{"count":2,',
        '"action":"Scheduling","related":null,"reportingComponent":"default-scheduler","reportingInstance":"',
        '"revision":,"outcome":"Waiting","sentence":"","steps":[{"point":"PreEnqueue"},{"point":"PreFilter"},',
        '{"point":"Filter","groups":[{"plugin":"DynamicResources","code":"Success","reason":"","nodes":"","count":',
        '"code":"UnschedulableAndUnresolvable","reasons":["resourceclaim not available on the node"',
        '{"point":"PostFilter","state":"NotReached"},{"point":"PreScore"},{"point":"Reserve","code":"Pending","reasons":[',
        '"waiting for resource driver to allocate resource","waiting for resource driver to provide information"],',
        '"effects":[{"point":"Unreserve","state":"NotReached"},{"point":"PreBind"},{"point":"PostBind"}],"claims":[',
        '"nodesFit":,"nodesTotal":,"node":"","actsNext":{"who":"driver","names":[""],"what":""},"agreement":{"said":"",',
        '"hints":[{"kind":"","key":"","change":"MODIFIED","hint":"Queue"}],"judgedAt":1764487563.,"since":1764487563.',
        '"containers":[{"name":"pause","image":"registry.k8s.io/pause:3.9","resources":{"claims":[{"name":""}]},',
        '"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":',
        '"IfNotPresent","securityContext":{}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":',
        '"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","schedulerName":"default-scheduler",',
        '"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",',
        '"tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute",',
        '"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","volumes":[{"name":',
        '"kube-api-access-","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"',
        '"resourceClaims":[{"name":"","source":{"resourceClaimName":"","resourceClaimTemplateName":""}}],',
        '"resourceClaimStatuses":[{"name":"","resourceClaimName":""}],"qosClass":"BestEffort"}',
        '"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","lastProbeTime":null,',
        '"lastTransitionTime":"2026-11-30T04:32:08Z","reason":"Unschedulable","message":"0/6 nodes are available: ',
        '"spec":{"selectedNode":"node-","potentialNodes":["node-0","node-1"]},"status":{"resourceClaims":[{"name":"",',
        '"unsuitableNodes":["node-"]}]},"kind":"PodSchedulingContext","apiVersion":"v1","driverName":"","structuredP',
        '"allocation":{"resourceHandles":[{"driverName":"","data":""}],"availableOnNodes":{"nodeSelectorTerms":[{',
        '"matchFields":[{"key":"metadata.name","matchExpressions":[{"key":"","operator":"In","values":["node-"]}]}]},',
        '"shareable":true},"reservedFor":[{"resource":"pods","name":"","uid":""}],"deallocationRequested":true}',
        '"deletionTimestamp":"2026-11-30T04:32:08Z","deletionGracePeriodSeconds":0,"finalizers":["/deletion-protection"]',
        '"annotations":{"resource.kubernetes.io/pod-claim-name":""},"ownerReferences":[{"apiVersion":"v1","kind":"Pod",',
        '"name":"","uid":"","controller":true,"blockOwnerDeletion":true}],"labels":{"kubernetes.io/hostname":"node-',
        '"spec":{"resourceClassName":"","parametersRef":{"kind":"","name":""},"allocationMode":"WaitForFirstConsumer"},',
        '"status":{}},{"apiVersion":"resource.k8s.io/v1alpha2","kind":"ResourceClaim","metadata":{"name":"","generateName',
        '":"","namespace":"default","uid":"","resourceVersion":"","creationTimestamp":"2026-11-30T04:32:08Z"',
    )
).encode()


class BadBody(StoreUnavailable):
    """Stored bytes that this version cannot read."""

    def __init__(self, what: str) -> None:
        super().__init__(f"a stored body {what}: empty this Redis, or set another DRADASH_CLUSTER")


def pack(body: bytes) -> bytes:
    if len(body) >= PLAIN_BELOW:
        deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WBITS, _MEM_LEVEL, zlib.Z_DEFAULT_STRATEGY, DICTIONARY_1)
        short = deflate.compress(body) + deflate.flush()
        if len(short) < len(body):
            return _DEFLATE_1 + short
    return _PLAIN + body


def unpack(packed: bytes) -> bytes:
    """The body; raises BadBody for an unknown first byte or damaged bytes."""
    how = packed[:1]
    if how == _PLAIN:
        return packed[1:]
    if how != _DEFLATE_1:
        raise BadBody(f"begins with {how!r}, it is from another version of dradash")
    inflate = zlib.decompressobj(_WBITS, DICTIONARY_1)
    try:
        body = inflate.decompress(packed[1:])
    except zlib.error as error:
        raise BadBody(f"is damaged ({error})") from error
    if not inflate.eof:
        raise BadBody("is damaged (its end is missing)")
    return body


# Of no interest for the question whether a verdict says something new.
_NOT_COMPARED: Final = ("revision", "judgedAt", "hints")


def fingerprint(verdict: bytes) -> str:
    """Digest over a verdict's JSON without revision, judgedAt and hints. ValueError when it is no JSON object."""
    try:
        fields = msgspec.json.decode(verdict, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"a verdict must be a JSON object: {error}") from error
    # JSON's own delimiters keep the parts apart: no value can be taken for a name.
    compared = [part for name in sorted(fields) if name not in _NOT_COMPARED for part in (name.encode(), fields[name])]
    return hashlib.blake2b(b"\n".join(compared), digest_size=12).hexdigest()


def split_hints(hints: bytes) -> list[bytes]:
    """The elements of a JSON array, each on one line. ValueError when it is no array."""
    if hints == b"[]":
        return []
    try:
        return [
            msgspec.json.format(bytes(note), indent=-1) for note in msgspec.json.decode(hints, type=list[msgspec.Raw])
        ]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"hints must be a JSON array: {error}") from error


def join_hints(notes: list[bytes]) -> bytes:
    return b"[" + b",".join(notes) + b"]"
