from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "dradash.web"
    label = "web"

    def ready(self) -> None:
        from dradash.metrics.process import PROCESS  # noqa: PLC0415
        from dradash.reader import current  # noqa: PLC0415 - needs settings
        from dradash.web import checks  # noqa: F401, PLC0415 - registers the system checks

        current.on_built.append(lambda here: setattr(here.follower.observations, "on_response", PROCESS.responded))
