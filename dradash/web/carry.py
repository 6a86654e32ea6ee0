"""What stays while somebody moves from page to page: the moment (`at`) and the wall screen (`kiosk`).

Templates and presenters write plain addresses; what is carried is put into them afterwards, in one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode

from django.utils.html import escape, format_html_join

# A form's tag is one match, so that its own hx-get is left alone: its values come from hidden fields.
_PLACES: Final = re.compile(r'<form\b[^>]*\bmethod="get"[^>]*>|(?<=\s)(href|hx-get)="(/[^"]*)"')
_NOT_PAGES: Final = ("/static/", "/sign-", "/api/", "//")


def carry(html: str, params: Mapping[str, str]) -> str:
    """The HTML with the parameters in every link to a page of ours and in every form that gets one.

    What names them already keeps its own. Links that begin with "?" are made by Query, which knows them.
    """
    if not params:
        return html
    fields = format_html_join("", '<input type="hidden" name="{}" value="{}">', params.items())

    def replaced(match: re.Match[str]) -> str:
        attribute, address = match.groups()
        if attribute is None:
            return match[0] if html.startswith(fields, match.end()) else match[0] + fields
        return f'{attribute}="{_with(address, params)}"'

    return _PLACES.sub(replaced, html)


def _with(address: str, params: Mapping[str, str]) -> str:
    """address: as it stands in the HTML, so escaped."""
    if address.startswith(_NOT_PAGES):
        return address
    path, hash_, fragment = address.partition("#")
    query = path.partition("?")[2].replace("&amp;", "&")
    has = {k for k, _ in parse_qsl(query, keep_blank_values=True)}
    more = escape(urlencode([(k, v) for k, v in params.items() if k not in has]))
    if not more:
        return address
    return f"{path}{('&amp;' if query else '?')}{more}{hash_}{fragment}"
