from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "dradash.web"
    label = "web"

    def ready(self) -> None:
        from dradash.web import checks  # noqa: F401, PLC0415 - registers the system checks
