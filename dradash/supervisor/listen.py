"""The web server's socket, taken before anything is started: a taken port is then one line, not a crashed child."""

from __future__ import annotations

import errno
import ipaddress
import socket
from typing import Final

from dradash.supervisor.errors import StartError

BACKLOG: Final = 512


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def refuse_open_door(host: str, auth: str) -> None:
    """Whoever reaches the port sees the cluster: beyond this machine only with sign-in. Raises StartError."""
    if auth == "none" and not is_loopback(host):
        raise StartError(
            f"--host {host} lets others see the cluster: set DRADASH_AUTH=token or DRADASH_AUTH=proxy for that, "
            "or leave --host out to serve only this machine"
        )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket (port 0: any free port). Raises StartError."""
    name = host.strip("[]")
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise StartError(f"--host {host} is not an address of this machine: {error.strerror}") from error
    sock = socket.socket(family, kind, proto)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is not taken
        sock.bind(address)
        # Listening, not only bound: on Linux two programs may otherwise bind the same port with SO_REUSEADDR.
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise StartError(_refused(host, port, error)) from error
    return sock


def _refused(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is taken by another program: stop that, or choose another with --port {port + 1}"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights than you have: choose one above 1023 with --port 8000"
    return f"cannot listen on {host} port {port}: {error.strerror}"


WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


def is_wildcard(host: str) -> bool:
    return host.strip("[]") in WILDCARDS


def reachable(host: str) -> str:
    """The address to connect to from this machine: a wildcard is not one."""
    name = host.strip("[]")
    return WILDCARDS.get(name, name)


def url(host: str, port: int) -> str:
    """What to open in a browser."""
    return f"http://{in_url(reachable(host))}:{port}/"


def in_url(host: str) -> str:
    """An IPv6 address has brackets in URLs and in Host headers."""
    name = host.strip("[]")
    return f"[{name}]" if ":" in name else name
