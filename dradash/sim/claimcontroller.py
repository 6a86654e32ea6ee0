"""kube-controller-manager's resourceclaim controller: claims from templates, and who they are reserved for.

As of 1.30 for claims that drivers allocate, as of 1.36 for those with structured parameters: these it deallocates
itself. Unlike upstream it never deletes a claim: the garbage collection takes those whose pods are gone.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, ClassVar, Final

from dradash.kinds import deviceclaim
from dradash.kinds.claim import WAIT_FOR_FIRST_CONSUMER, ResourceClaim
from dradash.kinds.meta import is_controlled_by
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.scheduling.cluster import Cluster
from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.events import CountRecorder, reference

Object = dict[str, Any]
AnyClaim = ResourceClaim | deviceclaim.ResourceClaim

CLAIMS: Final = "resourceclaims"
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
FIELD_MANAGER: Final = "ResourceClaimController"
FIRST_RETRY, LAST_RETRY = 0.005, 60.0  # simulated seconds; upstream doubles up to 1000 s


class NoTemplate(Exception):
    """A claim cannot be made; the message is the event's."""


class ClaimController(Actor):
    kinds: ClassVar[tuple[str, ...]] = ("pods", CLAIMS, "resourceclaimtemplates")

    def __init__(self, server: APIServer, clock: Clock) -> None:
        super().__init__(server, clock)
        self._cluster = Cluster()
        self._failures: dict[str, int] = {}  # what is synced -> how often in a row it failed
        self._events = CountRecorder(server, clock, "resource_claim")

    def on_change(self, change: Change) -> None:
        kind, key, cluster = change.kind, change.key, self._cluster
        old = new = None
        if change.type == "DELETED":
            old = cluster.remove(kind, key)
        else:
            old, new = cluster.put(kind, key, change.raw)
        match kind:
            case "pods":
                if new is None:
                    self._failures.pop(f"pod {key}", None)
                    self.forget(f"pod {key}")
                else:
                    self._plan_pod(key)
                uids = {pod.uid for pod in (old, new) if pod is not None}
                for claim in sorted(c for uid in uids for c in cluster.claims_by_reserving_pod.members(uid)):
                    self._plan_claim(claim)
            case "resourceclaims":
                self._plan_claim(key)
            case "resourceclaimtemplates" if new is not None:
                for pod in sorted(cluster.pods_by_template.members(key)):
                    self._plan_pod(pod)
            case _:
                pass

    @property
    def _claims(self) -> dict[str, AnyClaim]:
        return self._cluster.objects(CLAIMS)

    def _plan_pod(self, key: str, delay: float = 0.0) -> None:
        self.later(f"pod {key}", delay, lambda: self._sync_pod(key))

    def _plan_claim(self, key: str, delay: float = 0.0) -> None:
        self.later(f"claim {key}", delay, lambda: self._sync_claim(key))

    def _delay(self, what: str) -> float:
        """How long to wait before the next try of what just failed (the queue's exponential rate limiter)."""
        failures = self._failures[what] = self._failures.get(what, 0) + 1
        return min(FIRST_RETRY * 2.0 ** min(failures - 1, 30), LAST_RETRY)

    # --- syncPod ---------------------------------------------------------------------------------------------------

    def _sync_pod(self, key: str) -> None:
        pod = self._cluster.pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None or pod.is_finished:
            return
        made: dict[str, str] = {}
        for entry in pod.spec.resource_claims:
            if entry.template_name is None or not self._lacks_claim(pod, entry):
                continue
            try:
                made[entry.name] = self._claim_for(pod, entry)
            except (NoTemplate, ApiError) as error:
                message = f"PodResourceClaim {entry.name}: {error}"
                about = reference(self._cluster.body("pods", key), "Pod", "v1")
                self._events.record(about, "Warning", "FailedResourceClaimCreation", message)
                self._plan_pod(key, self._delay(f"pod {key}"))
                return
        self._failures.pop(f"pod {key}", None)
        if made:
            self._tell_pod(pod, made)

    def _lacks_claim(self, pod: Pod, entry: PodResourceClaim) -> bool:
        names = {s.name: s.resource_claim_name for s in pod.status.resource_claim_statuses}
        name = names.get(entry.name)
        return name is None or f"{pod.namespace}/{name}" not in self._claims

    def _claim_for(self, pod: Pod, entry: PodResourceClaim) -> str:
        """The claim's name; one that was made before and only not noted in the pod is taken (findPodResourceClaim)."""
        for claim in self._claims.values():
            is_its = claim.namespace == pod.namespace and is_controlled_by(claim.metadata, pod.metadata)
            if is_its and claim.metadata.annotations.get(POD_CLAIM_NAME) == entry.name:
                return claim.name
        template = self._cluster.templates.get(f"{pod.namespace}/{entry.template_name}")
        if template is None:
            name = entry.template_name
            missing = f'resourceclaimtemplate.resource.k8s.io "{name}" not found'
            raise NoTemplate(f'resource claim template "{name}": {missing}')
        raw = self._cluster.body("resourceclaimtemplates", template.key)["spec"]
        created = self.server.create(CLAIMS, _claim(pod, entry.name, raw), pod.namespace, FIELD_MANAGER)
        return str(created["metadata"]["name"])

    def _tell_pod(self, pod: Pod, made: dict[str, str]) -> None:
        known = {s.name: s.resource_claim_name for s in pod.status.resource_claim_statuses} | made
        names = [entry.name for entry in pod.spec.resource_claims if entry.name in known]
        statuses = [{"name": name, "resourceClaimName": known[name]} for name in names]
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "status": {"resourceClaimStatuses": statuses},
        }
        try:
            self.server.apply(
                "pods", body, FIELD_MANAGER, pod.namespace, name=pod.name, subresource="status", force=True
            )
        except ApiError as error:
            if error.code != 404:
                self._plan_pod(pod.key, self._delay(f"pod {pod.key}"))

    # --- syncClaim -------------------------------------------------------------------------------------------------

    def _sync_claim(self, key: str) -> None:
        """Take pods that need the claim no more out of reservedFor; a claim without users is asked back."""
        claim = self._claims.get(key)
        if claim is None:
            self._failures.pop(f"claim {key}", None)
            return
        valid = {c.uid for c in claim.status.reserved_for if c.resource != "pods" or self._needs(c.uid, c.name, claim)}
        try:
            if isinstance(claim, deviceclaim.ResourceClaim):
                self._sync_structured(claim, valid)
            elif len(valid) < len(claim.status.reserved_for):
                self._sync_classic(claim, valid)
        except ApiError as error:
            if error.code != 404:
                self._plan_claim(key, self._delay(f"claim {key}"))
        else:
            self._failures.pop(f"claim {key}", None)

    def _sync_classic(self, claim: ResourceClaim, valid: Set[str]) -> None:
        body = self._reserved_for(claim, valid)
        if not valid and claim.spec.allocation_mode == WAIT_FOR_FIRST_CONSUMER:
            body["status"]["deallocationRequested"] = True
        # An update, not a patch: it must fail if anything has changed.
        self.server.update_status(CLAIMS, body, claim.namespace, FIELD_MANAGER)

    def _sync_structured(self, claim: deviceclaim.ResourceClaim, valid: Set[str]) -> None:
        """A claim without users is deallocated once it had some, or is being deleted."""
        had, deleted = len(claim.status.reserved_for), claim.metadata.deletion_timestamp is not None
        ends = not valid and (had > 0 or deleted)
        if len(valid) < had or (ends and claim.status.allocation is not None):
            body = self._reserved_for(claim, valid)
            if ends:
                for field in ("allocation", "devices"):
                    body["status"].pop(field, None)
            stored = self.server.update_status(CLAIMS, body, claim.namespace, FIELD_MANAGER)
            if ends:
                self._let_go(stored)
        elif ends:
            self._let_go(self._cluster.body(CLAIMS, claim.key))

    def _let_go(self, body: Object) -> None:
        finalizers = body["metadata"].get("finalizers", [])
        if deviceclaim.FINALIZER in finalizers:
            body["metadata"]["finalizers"] = [f for f in finalizers if f != deviceclaim.FINALIZER]
            self.server.update(CLAIMS, body, body["metadata"]["namespace"], field_manager=FIELD_MANAGER)

    def _reserved_for(self, claim: AnyClaim, valid: Set[str]) -> Object:
        body = self._cluster.body(CLAIMS, claim.key)
        left = [c for c in body["status"].pop("reservedFor", ()) if c["uid"] in valid]
        if left:
            body["status"]["reservedFor"] = left
        return body

    def _needs(self, uid: str, name: str, claim: AnyClaim) -> bool:
        pod = self._cluster.pods.get(f"{claim.namespace}/{name}")
        if pod is None or pod.uid != uid:
            return self._exists(uid, name, claim.namespace)
        # isPodDone: a pod that is deleted before it was bound never runs.
        return not (pod.is_finished or (pod.metadata.deletion_timestamp is not None and not pod.spec.node_name))

    def _exists(self, uid: str, name: str, namespace: str) -> bool:
        """The watches may be behind each other, so upstream asks the API server before it acts."""
        try:
            return bool(self.server.get("pods", name, namespace)["metadata"]["uid"] == uid)
        except ApiError:
            return False


def _claim(pod: Pod, entry: str, template: Object) -> Object:
    """The claim that a template makes for the pod's entry."""
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.name,
        "uid": pod.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    given = template.get("metadata") or {}
    metadata: Object = {"generateName": f"{pod.name}-{entry}-", "ownerReferences": [owner]}
    metadata["annotations"] = {**(given.get("annotations") or {}), POD_CLAIM_NAME: entry}
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    return {"metadata": metadata, "spec": template.get("spec") or {}}
