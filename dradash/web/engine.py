"""Django's template engine; in what it renders nothing is hidden.

All that pages and sockets show comes out of templates, so here nobody can forget it: an event's message with U+202E
would write the rest of its sentence backwards, also inside a title or an SVG. It costs 3 ms for the largest page.
"""

from __future__ import annotations

from typing import Any

from django.template.backends import django
from django.utils.safestring import SafeString, mark_safe

from dradash.unseen import escaped


class _Template(django.Template):
    def render(self, context: dict[str, Any] | None = None, request: Any = None) -> SafeString:
        return mark_safe(escaped(super().render(context, request)))  # noqa: S308 - rendered by a template


class Engine(django.DjangoTemplates):
    def get_template(self, template_name: str) -> _Template:
        return _Template(super().get_template(template_name).template, self)
