"""Events about other objects: core/v1 and events.k8s.io/v1 read into one shape."""

from __future__ import annotations

from dradash.kinds.meta import KubeObject, KubeStruct


class ObjectReference(KubeStruct, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class EventSource(KubeStruct, frozen=True, kw_only=True):
    component: str = ""
    host: str = ""


class EventSeries(KubeStruct, frozen=True, kw_only=True):
    count: int = 0
    last_observed_time: str | None = None


class Event(KubeObject, frozen=True, kw_only=True):
    """`involvedObject`/`message`/`count` are core/v1's names, `regarding`/`note`/`deprecatedCount` events.k8s.io's."""

    type: str = ""
    reason: str = ""
    involved_object: ObjectReference = ObjectReference()
    regarding: ObjectReference = ObjectReference()
    message: str = ""
    note: str = ""
    count: int = 0
    deprecated_count: int = 0
    series: EventSeries | None = None
    source: EventSource = EventSource()
    reporting_component: str = ""
    reporting_controller: str = ""
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None

    @property
    def about(self) -> ObjectReference:
        return self.involved_object if self.involved_object.name else self.regarding

    @property
    def text(self) -> str:
        return self.message or self.note

    @property
    def reporter(self) -> str:
        return self.reporting_component or self.reporting_controller or self.source.component

    @property
    def times(self) -> int:
        """How often it was seen; an event without any count was seen once."""
        return (self.series.count if self.series else 0) or self.count or self.deprecated_count or 1

    @property
    def last_seen(self) -> str | None:
        """RFC 3339 time of the last occurrence, or None when the event carries no time at all."""
        return (
            (self.series.last_observed_time if self.series else None)
            or self.last_timestamp
            or self.deprecated_last_timestamp
            or self.event_time
            or self.first_timestamp
            or self.metadata.creation_timestamp
        )
