"""What a process owes to whoever started it: to say when it is ready, to end when told, and not to outlive it.

Standard library only, so that every entry point may use it before anything else is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Final, NoReturn

NOTIFY_SOCKET: Final = "NOTIFY_SOCKET"
PR_SET_PDEATHSIG: Final = 1


def notify_ready() -> bool:
    """Send READY=1 as sd_notify(3) does; False when nobody asked.

    systemd's protocol, so that a unit with Type=notify works as well as our own supervisor.
    """
    address = os.environ.get(NOTIFY_SOCKET, "")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, contextlib.suppress(OSError):
        # Nobody listens any more: being ready is then of no interest, and no reason to fail.
        sock.sendto(b"READY=1\n", address)
    return True


def end() -> NoReturn:
    """End well and at once, when nothing is left to do and no other thread's work matters.

    To free a large heap object by object, as Python does at its end, takes seconds on a busy machine.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # whoever read it is gone
            stream.flush()
    os._exit(0)


def die_with(parent: int) -> Callable[[], None]:
    """A function to call in a new child: the kernel then kills it when `parent` ends, even by kill -9.

    Everything slow or unsafe between fork and exec (loading libc) is done here, in the parent. Only Linux can do
    this; elsewhere the function does nothing.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def in_child() -> None:
        prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call above
            os._exit(1)

    return in_child
