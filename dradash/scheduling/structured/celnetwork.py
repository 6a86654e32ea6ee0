"""Kubernetes' URL, IP and CIDR libraries for CEL."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, ClassVar, Final
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

from dradash.scheduling.structured.celstrings import strings
from dradash.scheduling.structured.celvalues import CelMap, EvalError, Opaque, no_overload


class URL(Opaque, frozen=True):
    type_name: ClassVar[str] = "kubernetes.URL"
    parts: SplitResult


class IP(Opaque, frozen=True):
    type_name: ClassVar[str] = "net.IP"
    address: ipaddress.IPv4Address | ipaddress.IPv6Address


class CIDR(Opaque, frozen=True):
    type_name: ClassVar[str] = "net.CIDR"
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _url(text: Any) -> URL:
    """url.ParseRequestURI: absolute, or a path from the root."""
    strings(text)
    wrong = EvalError("URL parse error during conversion from string")
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in text):
        raise wrong
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  raises for a wrong port
    except ValueError:
        raise wrong from None
    if not (parts.scheme or text.startswith("/")) or " " in parts.netloc:
        raise wrong
    return URL(parts)


def _is(convert: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(value: Any) -> bool:
        strings(value)
        try:
            convert(value)
        except EvalError:
            return False
        return True

    return run


def _of_url(read: Callable[[SplitResult], Any]) -> Callable[..., Any]:
    def run(value: Any) -> Any:
        if not isinstance(value, URL):
            raise no_overload()
        return read(value.parts)

    return run


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _hostname(parts: SplitResult) -> str:
    host = _host(parts)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _port(parts: SplitResult) -> str:
    return str(parts.port) if parts.port is not None else ""


def _query(parts: SplitResult) -> CelMap:
    values: dict[str, list[Any]] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        values.setdefault(name, []).append(value)
    return CelMap(list(values.items()))


def _ip(text: Any) -> IP:
    if isinstance(text, CIDR):
        return IP(text.interface.ip)
    strings(text)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise EvalError(f"IP Address {text!r} parse error during conversion from string") from None
    if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or address.ipv4_mapped):
        raise EvalError(f"IP Address {text!r}: zones and IPv4-mapped addresses are not allowed")
    return IP(address)


# netip.ParsePrefix: neither sign nor leading zeros.
_PREFIX_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,2}")


def _cidr(text: Any) -> CIDR:
    """parseCIDR."""
    strings(text)
    address, slash, length = text.rpartition("/")
    try:
        if not slash or _PREFIX_LENGTH.fullmatch(length) is None or "%" in address:
            raise ValueError(text)
        interface = ipaddress.ip_interface(text)
    except ValueError:
        raise EvalError("network address parse error during conversion from string") from None
    if isinstance(interface, ipaddress.IPv6Interface) and interface.ip.ipv4_mapped:
        raise EvalError(f"network address parse error: IPv4-mapped IPv6 address {text!r} is not allowed")
    return CIDR(interface)


def _of_ip(read: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(value: Any) -> Any:
        if not isinstance(value, IP):
            raise no_overload()
        return read(value.address)

    return run


def _of_cidr(read: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(value: Any) -> Any:
        if not isinstance(value, CIDR):
            raise no_overload()
        return read(value.interface)

    return run


def _is_canonical(text: Any) -> bool:
    return bool(str(_ip(text).address) == text)


def _contains_ip(network: Any, address: Any) -> bool:
    if not isinstance(network, CIDR):
        raise no_overload()
    wanted = address if isinstance(address, IP) else _ip(address)
    return bool(wanted.address in network.interface.network)


def _contains_cidr(network: Any, other: Any) -> bool:
    if not isinstance(network, CIDR):
        raise no_overload()
    inner = (other if isinstance(other, CIDR) else _cidr(other)).interface.network
    outer = network.interface.network
    if isinstance(inner, ipaddress.IPv4Network) and isinstance(outer, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(inner, ipaddress.IPv6Network) and isinstance(outer, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return False


def _to_string(value: Any) -> str:
    if isinstance(value, IP):
        return str(value.address)
    if isinstance(value, CIDR):
        return str(value.interface)
    raise no_overload()


def _masked(interface: Any) -> CIDR:
    return CIDR(ipaddress.ip_interface(interface.network.with_prefixlen))


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "url": _url,
    "isURL": _is(_url),
    "getScheme": _of_url(lambda p: p.scheme),
    "getHost": _of_url(_host),
    "getHostname": _of_url(_hostname),
    "getPort": _of_url(_port),
    "getEscapedPath": _of_url(lambda p: quote(p.path, safe="/%:@!$&'()*+,;=~-._")),
    "getQuery": _of_url(_query),
    "ip": _ip,
    "isIP": _is(_ip),
    "ip.isCanonical": _is_canonical,
    "family": _of_ip(lambda a: a.version),
    "isUnspecified": _of_ip(lambda a: a.is_unspecified),
    "isLoopback": _of_ip(lambda a: a.is_loopback),
    "isLinkLocalMulticast": _of_ip(
        lambda a: a in ipaddress.ip_network("224.0.0.0/24" if a.version == 4 else "ff02::/16")
    ),
    "isLinkLocalUnicast": _of_ip(lambda a: a.is_link_local),
    "isGlobalUnicast": _of_ip(
        lambda a: (
            not (a.is_unspecified or a.is_loopback or a.is_multicast or a.is_link_local or str(a) == "255.255.255.255")
        )
    ),
    "cidr": _cidr,
    "isCIDR": _is(_cidr),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "masked": _of_cidr(_masked),
    "prefixLength": _of_cidr(lambda i: i.network.prefixlen),
    "string": _to_string,
}
