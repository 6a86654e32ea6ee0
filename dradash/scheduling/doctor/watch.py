"""What cannot be read: kinds that are not served, forbidden or out of sync, and malformed objects."""

from __future__ import annotations

from collections.abc import Iterator

from dradash.kinds.registry import KINDS, OPTIONAL
from dradash.scheduling.doctor.classes import unallocated
from dradash.scheduling.doctor.demand import pods_wanting
from dradash.scheduling.doctor.exam import Exam
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.doctor.lasting import MALFORMED
from dradash.scheduling.generation import served_instead


def check(exam: Exam) -> Iterator[Finding]:
    for plural in KINDS:
        yield from _kind(exam, plural)
    for kind, keys in exam.cluster.malformed.items():
        for key, error in keys.items():
            yield exam.finding(
                "malformed-object",
                (kind, key),
                f"{KINDS[kind].kind} {key} cannot be read: {error}.",
                (Ref(kind, key), *_users(exam, kind, key)),
                exam.lasts(kind, key, MALFORMED),
                namespace=key.rpartition("/")[0],
            )


def _users(exam: Exam, kind: str, key: str) -> tuple[Ref, ...]:
    """Pending pods that need the object: for them it does not exist."""
    cluster = exam.cluster
    match kind:
        case "resourceclaims":
            return exam.hanging((key,))
        case "resourceclaimtemplates":
            return exam.pending_among(cluster.pods_by_template.members(key))
        case "resourceclasses":
            return exam.hanging(unallocated(exam, key))
        case "deviceclasses":
            return exam.pending_among(pods_wanting(exam, (key,)))
        case "podschedulingcontexts":
            return exam.pending_among((key,))
        case _:
            return ()


def _kind(exam: Exam, plural: str) -> Iterator[Finding]:
    state = exam.sync.get(plural)
    if state is None or state.state in ("synced", "notKept"):
        return
    kind = KINDS[plural]
    error = f": {state.error}" if state.error else ""
    resource = f"{plural}.{kind.group}" if kind.group else plural
    match state.state:
        case "notServed" if plural in OPTIONAL or served_instead(plural, exam.sync):
            return
        case "notServed":
            code, text = "kind-not-served", f"The API server does not serve {plural}{error}."
            command: tuple[str, ...] = ("api-resources", f"--api-group={kind.group}")
        case "forbidden":
            code, text = "kind-forbidden", f"dradash may not read {plural}{error}."
            command = ("auth", "can-i", "list", resource, "--all-namespaces")
        case _:
            if not exam.for_longer(state.since, exam.thresholds.stale):
                return
            code, text = "kind-out-of-sync", f"{plural} are not up to date ({state.state}){error}."
            command = ("get", resource, "--all-namespaces")
    yield exam.finding(code, (plural,), text, (Ref(plural, ""),), state.since, command=command)
