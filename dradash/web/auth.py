"""Who is asking: one answer for pages and sockets, from the same parts of a request.

none: everybody who reaches the loopback address. token: a shared secret, as a session (sign-in form) or as
`Authorization: Bearer`. proxy: the user that a trusted reverse proxy names in a header.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from importlib import import_module
from typing import Final

import msgspec
from django.conf import settings
from django.http import parse_cookie

from dradash.conf import Conf

SESSION_USER: Final = "user"
SESSION_PROOF: Final = "proof"


class Asker(msgspec.Struct, frozen=True):
    """What a request says about who sent it. Header names are in lower case."""

    headers: Mapping[str, str]
    peer: str  # address of the other end of the connection; "" when there is none (unix socket)
    session: Mapping[str, str]


def token_fits(conf: Conf, given: str) -> bool:
    """Compared in constant time."""
    return bool(conf.auth_token) and hmac.compare_digest(given.encode(), conf.auth_token.encode())


def proof(conf: Conf) -> str:
    """What a session keeps of the token, so that another token ends the sessions of the one before."""
    return hmac.new(settings.SECRET_KEY.encode(), conf.auth_token.encode(), hashlib.sha256).hexdigest()


def user_of(conf: Conf, asker: Asker) -> str | None:
    """The user's name, or None when nothing shows that the asker may see anything."""
    if conf.auth == "none":
        return "anyone"
    if conf.auth == "token":
        return _token_user(conf, asker)
    return _proxy_user(conf, asker)


def _token_user(conf: Conf, asker: Asker) -> str | None:
    scheme, _, given = asker.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token_fits(conf, given.strip()):
        return "token"
    if hmac.compare_digest(str(asker.session.get(SESSION_PROOF, "")), proof(conf)):
        return "token"
    return None


def _proxy_user(conf: Conf, asker: Asker) -> str | None:
    user = asker.headers.get(conf.auth_proxy_header.lower(), "").strip()
    return user if user and _is_trusted(conf, asker.peer) else None


def _is_trusted(conf: Conf, peer: str) -> bool:
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return any(address in ipaddress.ip_network(n, strict=False) for n in conf.auth_proxy_from)


def session_of(cookie_header: str) -> Mapping[str, str]:
    """The signed session in a Cookie header; empty when there is none or it was tampered with."""
    cookie = parse_cookie(cookie_header).get(settings.SESSION_COOKIE_NAME)
    store = import_module(settings.SESSION_ENGINE).SessionStore(cookie)
    return dict(store.items())
