"""What the plugin would write to the API server. The plugin returns effects; only the simulator applies them."""

from __future__ import annotations

from typing import Any

import msgspec


class Effect(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One API write.

    verb: create, update, apply, patch or delete ("apply" is a server-side apply, sent as a patch).
    resource: plural of the kind; subresource: "" or "status".
    body: the exact body with its unset fields dropped; a JSON object (parsed, also for patches).
    field_manager, force: set for "apply" only.
    """

    verb: str
    resource: str
    namespace: str
    name: str
    body: dict[str, Any] = {}
    subresource: str = ""
    patch_type: str = ""
    field_manager: str = ""
    force: bool = False
