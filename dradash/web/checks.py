"""System checks: what must not be started half safe. `manage.py check` prints them; `up` refuses on an error."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any, Final

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's name

from dradash.conf import Conf

TOKEN_LENGTH: Final = 16


def is_loopback(host: str) -> bool:
    if host in ("localhost", ""):
        return host == "localhost"
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _networks_error(conf: Conf) -> str:
    for network in conf.auth_proxy_from:
        try:
            ipaddress.ip_network(network, strict=False)
        except ValueError as error:
            return str(error)
    return "" if conf.auth_proxy_from else "it is empty: no proxy could sign anybody in"


def problems(conf: Conf) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    if conf.auth == "none" and not is_loopback(conf.host):
        hint = "Set DRADASH_AUTH=token with DRADASH_AUTH_TOKEN, or DRADASH_AUTH=proxy, or bind to 127.0.0.1."
        found.append(
            Error(f"{conf.host} can be reached by others, but DRADASH_AUTH=none", hint=hint, id="dradash.E001")
        )
    if conf.auth == "token" and len(conf.auth_token) < TOKEN_LENGTH:
        hint = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(24))"'
        message = f"DRADASH_AUTH=token needs a DRADASH_AUTH_TOKEN of at least {TOKEN_LENGTH} characters"
        found.append(Error(message, hint=hint, id="dradash.E002"))
    if conf.auth == "proxy" and (wrong := _networks_error(conf)):
        hint = "Name the proxy's addresses or networks, separated by commas."
        found.append(Error(f"DRADASH_AUTH_PROXY_FROM cannot be used: {wrong}", hint=hint, id="dradash.E003"))
    if conf.auth == "token" and not conf.secret_key:
        hint = "Set DRADASH_SECRET_KEY: without it each process has its own, and a restart signs everybody out."
        found.append(Warning("Sessions are signed with a random key", hint=hint, id="dradash.W001"))
    return found


@register(Tags.security)
def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django names it
    return problems(settings.DRADASH)
