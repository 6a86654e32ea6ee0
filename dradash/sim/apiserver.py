"""The simulated API server as an object: the verbs of the Kubernetes API over Python dicts, thread-safe.

Actors call it directly, http.py serves it, source.py reads it in-process. Dicts that go in are copied, dicts that come
out belong to the caller. Errors are ApiError, with the API server's own Status.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from dradash.sim import apierrors, defaults, lifecycle, listing, patching, rest, validation
from dradash.sim.apply import Manager, Owners, after_update
from dradash.sim.faults import Fault, Faults
from dradash.sim.listing import Query
from dradash.sim.resources import Resource, served
from dradash.sim.selectors import compile_selectors
from dradash.sim.storage import HISTORY, Collection, Storage, Stored, object_key
from dradash.sim.watch import Watch

Object = dict[str, Any]
Objects = list[Object]  # inside the class `list` is the verb
SYSTEM_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


class APIServer:
    """`now` gives Unix seconds. `first_revision` should grow from one start to the next where clients live on:
    a client's older resourceVersion then gets 410 instead of waiting for a revision that may never come."""

    def __init__(
        self,
        resources: Sequence[Resource] | None = None,
        *,
        first_revision: int = 1,
        history: int = HISTORY,
        now: Callable[[], float] = time.time,
        seed: int | None = None,
        namespaces: Iterable[str] = SYSTEM_NAMESPACES,
    ) -> None:
        self.resources = {r.plural: r for r in (served() if resources is None else resources)}
        self.lock = threading.RLock()
        self.faults = Faults()
        self.on_watch: Callable[[], None] = lambda: None  # somebody began to watch; called with the lock held
        self.storage = Storage(self.resources.values(), first_revision, history)
        self._now = now
        self._dry = False
        self._random = random.Random(seed)
        for name in namespaces:
            self._ensure_namespace(name)

    # Reading

    @property
    def revision(self) -> int:
        return self.storage.revision

    def now(self) -> str:
        """The server's clock as RFC 3339 in whole seconds, as metav1.Time is written."""
        return datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def collection(self, plural: str) -> Collection:
        """Raises ApiError 404 for what is not served."""
        collection = self.storage.collections.get(plural)
        if collection is None:
            raise apierrors.no_such_path()
        return collection

    def stored(self, plural: str, name: str, namespace: str = "") -> Stored:
        """An object as it is stored, with its JSON."""
        with self.lock:
            return self._existing(self.collection(plural), namespace, name)

    def get(self, plural: str, name: str, namespace: str = "") -> Object:
        return _out(self.collection(plural).resource, self.stored(plural, name, namespace))

    def list(self, plural: str, namespace: str = "", label_selector: str = "", field_selector: str = "") -> Objects:
        query = Query(namespace=namespace, label_selector=label_selector, field_selector=field_selector)
        resource = self.collection(plural).resource
        return [_out(resource, stored) for stored in self.list_page(plural, query).items]

    def list_page(self, plural: str, query: Query) -> listing.Page:
        """A list as HTTP asks for it: with limit, continue and resourceVersion."""
        with self.lock:
            return listing.page(self.collection(plural), self.revision, query)

    def watch(
        self,
        plural: str,
        namespace: str = "",
        resource_version: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        wake: Callable[[], None] | None = None,
    ) -> Watch:
        """Watch from `resource_version`; without one (or from "0") what exists comes first, as ADDED.

        Whoever watches closes the watch. `wake` replaces Watch.wait for readers that do not block.
        """
        with self.lock:
            collection = self.collection(plural)
            matches = compile_selectors(plural, label_selector, field_selector)
            initial: list[Stored] = []
            if resource_version in ("", "0"):
                place = collection.end
                initial = [s for s in collection.in_namespace(namespace) if matches is None or matches(s.object)]
            else:
                place = collection.place_after(listing.parse_revision(resource_version))
            watch = Watch(
                collection,
                self.lock,
                place,
                initial=initial,
                namespace=namespace,
                matches=matches,
                revision=lambda: self.storage.revision,
            )
            if wake is not None:
                watch.wake = wake
            collection.watchers.add(watch)
            self.on_watch()
            return watch

    def unwatched(self) -> tuple[str, ...]:
        """Resources that nobody watches now."""
        with self.lock:
            return tuple(plural for plural, c in self.storage.collections.items() if not c.watchers)

    # Writing

    def create(self, plural: str, body: Object, namespace: str = "", field_manager: str = "") -> Object:
        with self.lock:
            collection = self.collection(plural)
            new = rest.incoming(collection.resource, body, namespace)
            stored = self._create(collection, new, Manager(field_manager or "unknown", "Update"))
        return _out(collection.resource, stored)

    def update(
        self,
        plural: str,
        body: Object,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
    ) -> Object:
        """Replace an object (`subresource` "") or its status. 409 when the body's resourceVersion is not the latest."""
        with self.lock:
            collection = self.collection(plural)
            new = rest.incoming(collection.resource, body, namespace, name)
            metadata = new["metadata"]
            old = self._existing(collection, metadata.get("namespace", ""), metadata.get("name", ""))
            manager = Manager(field_manager or "unknown", "Update", subresource)
            stored = self.replace(collection, old, new, manager)
        return _out(collection.resource, stored)

    def update_status(self, plural: str, body: Object, namespace: str = "", field_manager: str = "") -> Object:
        return self.update(plural, body, namespace, subresource="status", field_manager=field_manager)

    def patch(
        self,
        plural: str,
        name: str,
        patch: Any,
        patch_type: str,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
    ) -> Object:
        """`patch_type` is one of patching.TYPES (a media type); for an apply use `apply`."""
        with self.lock:
            collection = self.collection(plural)
            old = self._existing(collection, namespace, name)
            patched = patching.patched(collection.resource, _out(collection.resource, old), patch, patch_type)
            new = rest.incoming(collection.resource, patched, namespace, name)
            manager = Manager(field_manager or "unknown", "Update", subresource)
            stored = self.replace(collection, old, new, manager, verb="patch")
        return _out(collection.resource, stored)

    def apply(
        self,
        plural: str,
        body: Object,
        field_manager: str,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        force: bool = False,
    ) -> Object:
        """Server-side apply; creates what does not exist (not through a subresource)."""
        with self.lock:
            collection = self.collection(plural)
            intent = rest.incoming(collection.resource, body, namespace, name)
            validation.check_types(collection.resource.of(intent), intent)
            manager = Manager(field_manager, "Apply", subresource)
            stored = patching.apply(self, collection, intent, manager, force=force)
        return _out(collection.resource, stored)

    def delete(
        self, plural: str, name: str, namespace: str = "", uid: str = "", resource_version: str = ""
    ) -> lifecycle.Deleted:
        """Delete, or with finalizers mark as being deleted. `uid` and `resource_version` are preconditions."""
        with self.lock:
            collection = self.collection(plural)
            stored = self._existing(collection, namespace, name)
            rest.check_preconditions(collection.resource, stored, uid, resource_version)
            stored, gone = lifecycle.delete(self, collection, stored)
        return lifecycle.Deleted(_out(collection.resource, stored), gone)

    def delete_collection(
        self, plural: str, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> Objects:
        with self.lock:
            collection = self.collection(plural)
            matches = compile_selectors(plural, label_selector, field_selector)
            chosen = [s for s in collection.in_namespace(namespace) if matches is None or matches(s.object)]
            return [_out(collection.resource, lifecycle.delete(self, collection, stored)[0]) for stored in chosen]

    def bind(self, name: str, namespace: str, node_name: str, uid: str = "") -> None:
        """pods/binding: the scheduler's decision. 409 when the pod has a node already."""
        with self.lock:
            collection = self.collection("pods")
            old = self._existing(collection, namespace, name)
            new = lifecycle.bound(collection.resource, old, node_name, uid, self.now())
            owners = after_update("pods", old.owners, old.object, new, Manager("kube-scheduler", "Update", "binding"))
            self.commit(collection, "MODIFIED", new, owners)

    # Bulk loading and history

    def load(self, objects: Iterable[Object]) -> None:
        """Store objects as they are, unchecked; uid, resourceVersion and creationTimestamp are kept where given."""
        by_kind = {r.kind: r for r in self.resources.values()}
        with self.lock:
            for obj in objects:
                resource = by_kind.get(obj.get("kind", ""))
                if resource is None:
                    raise apierrors.bad_request(f"no kind {obj.get('kind')!r} is served")
                self.replay(resource.plural, "ADDED", obj)

    def replay(self, plural: str, type_: str, obj: Object) -> None:
        """Store one recorded change as it is (type_: ADDED, MODIFIED or DELETED), and its namespace if need be."""
        with self.lock:
            collection = self.collection(plural)
            new = rest.incoming(collection.resource, obj, obj["metadata"].get("namespace", ""))
            metadata = new["metadata"]
            metadata.setdefault("uid", self._uid())
            metadata.setdefault("creationTimestamp", self.now())
            if collection.resource.namespaced:
                self._ensure_namespace(metadata.setdefault("namespace", "default"))
            self.storage.write_as_recorded(collection, type_, new)

    def compact(self, plural: str = "") -> None:
        with self.lock:
            self.storage.compact(plural)

    def end_watches(self, plural: str = "") -> int:
        """End the open watches of a resource ("" is all); returns how many there were."""
        with self.lock:
            chosen = [c for name, c in self.storage.collections.items() if plural in ("", name)]
            return sum(collection.end_watches() for collection in chosen)

    def inject(self, fault: Fault) -> None:
        """Let a fault happen: those that are acts happen now, the others wait in `faults`."""
        if fault.kind and fault.kind not in self.resources:
            raise apierrors.bad_request(f"no resource {fault.kind!r} is served")
        match fault.fault:
            case "drop_watches":
                self.end_watches(fault.kind)
            case "compact":
                self.compact(fault.kind)
            case "clear":
                self.faults.clear()
            case "unreachable":
                self.faults.take_away(fault.seconds)
                self.end_watches()
            case _:
                self.faults.add(fault)

    @contextlib.contextmanager
    def dry_run(self) -> Iterator[None]:
        """Writes of this thread are checked and answered, but not stored; others wait."""
        with self.lock:
            self._dry = True
            try:
                yield
            finally:
                self._dry = False

    # For the modules that make up the server (patching, lifecycle); called with the lock held

    def find(self, collection: Collection, obj: Object) -> Stored | None:
        metadata = obj["metadata"]
        return collection.objects.get(object_key(metadata.get("namespace", ""), metadata.get("name", "")))

    def create_applied(self, collection: Collection, new: Object, owners: Owners) -> Stored:
        return self._create(collection, new, Manager("", "Apply"), owners)

    def replace(
        self,
        collection: Collection,
        old: Stored,
        new: Object,
        manager: Manager,
        *,
        owners: Owners | None = None,
        verb: str = "update",
    ) -> Stored:
        """Put `new` in the place of `old`: preconditions, what may not change, validation, and finalizers' end."""
        resource, subresource = collection.resource.of(old.object), manager.subresource
        metadata = new["metadata"]
        validation.check_types(resource, new)
        rest.check_preconditions(resource, old, metadata.get("uid", ""), "")
        if metadata.get("resourceVersion", "") not in ("", old.metadata["resourceVersion"]):
            raise apierrors.modified(resource, old.metadata["name"])
        if self.faults.conflicts(resource.plural, verb):
            raise apierrors.modified(resource, old.metadata["name"])
        merged = rest.prepare_update(resource, new, old.object, subresource, self.now())
        validation.check_update(resource, merged, old.object, subresource)
        if subresource == "status":
            lifecycle.check_admin_access(self, resource, merged, old.object)
        if owners is None:
            if merged == old.object:
                return old  # a write that changes nothing makes no new version
            owners = after_update(resource.plural, old.owners, old.object, merged, manager)
        elif merged == old.object:
            old.owners = owners
            return old
        if merged["metadata"].get("deletionTimestamp") and not merged["metadata"].get("finalizers"):
            return lifecycle.remove(self, collection, merged)
        return self.commit(collection, "MODIFIED", merged, owners)

    def commit(self, collection: Collection, type_: str, obj: Object, owners: Owners) -> Stored:
        if self._dry:
            return Stored(obj, self.revision, owners)
        return self.storage.write(collection, type_, obj, owners, self.faults.loses_event)

    # Inside

    def _existing(self, collection: Collection, namespace: str, name: str) -> Stored:
        stored = collection.objects.get(object_key(namespace if collection.resource.namespaced else "", name))
        if stored is None:
            raise apierrors.not_found(collection.resource, name)
        return stored

    def _create(self, collection: Collection, new: Object, manager: Manager, owners: Owners | None = None) -> Stored:
        resource, metadata = collection.resource.of(new), new["metadata"]
        if metadata.get("resourceVersion"):
            raise apierrors.bad_request("resourceVersion should not be set on objects to be created")
        if self.faults.conflicts(resource.plural, "create"):
            raise apierrors.conflict(resource, metadata.get("name", ""), "a fault on purpose")
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._generated_name(metadata["generateName"])
        validation.check_types(resource, new)
        lifecycle.check_namespace(self, resource, metadata)
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            metadata.pop(name, None)
        new["metadata"] = {**metadata, "uid": self._uid(), "creationTimestamp": self.now()}
        defaults.apply_defaults(resource, new, self.now())
        validation.check_create(resource, new)
        lifecycle.check_admin_access(self, resource, new)
        if self.find(collection, new) is not None:
            raise apierrors.already_exists(resource, metadata["name"])
        if owners is None:
            owners = after_update(resource.plural, {}, {}, new, manager)
        return self.commit(collection, "ADDED", new, owners)

    def _generated_name(self, base: Any) -> str:
        return str(base)[:58] + "".join(self._random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _ensure_namespace(self, name: str) -> None:
        collection = self.storage.collections.get("namespaces")
        if collection is not None and name not in collection.objects:
            self._create(collection, {"metadata": {"name": name}}, Manager("kube-apiserver", "Update"))


def _out(resource: Resource, stored: Stored) -> Object:
    obj: Object = msgspec.json.decode(stored.body)
    return {"kind": resource.kind, "apiVersion": resource.of(obj).api_version(), **obj}
