"""Every Redis key of the model. The braces are a hash tag: a cluster's keys live in one slot of a Redis Cluster.

A script is given the prefix as its only KEYS entry and adds the suffixes below itself (`lua_prelude`): one batch
touches some thousand keys (an object's history each), and naming them all would double what is sent. The prefix
carries the tag, so Redis Cluster still routes the script to the node that has them all.
"""

from __future__ import annotations

import re
from typing import Final

from dradash.store.model import VERDICTS

# name in Python and Lua -> suffix
FIXED: Final = {
    "meta": "meta",  # hash: instance, epoch, rev, history_bytes, history_start
    "lease": "lease",  # string with a time to live: who leads
    "kinds": "kinds",  # set: kinds that ever had an object
    "changes": "changes",  # stream, id <revision>-0: k kind, y key, t type, o object, a at
    "sync": "sync",  # hash: kind -> SyncState JSON
    "node_slots": "nodeslots",  # hash: node -> slot, also of nodes that are gone
    "due": "due",  # zset: pods to judge, by the time since when
    "leased": "leased",  # zset: pods being judged, by the time until when
    "due_info": "dueinfo",  # hash: pod -> "<revision> <since>\n<hint>\n<hint>"
    "figures": "figures",  # hash: name -> number: counters of what the workers do
    "verdicts": VERDICTS,  # hash: pod -> "<revision> <at> <A|M> <judged at revision> <fingerprint> <sets>\n<body>"
    "node_sets": "nodesets",  # hash: digest -> bit set
    "node_set_uses": "nodesets:uses",  # hash: digest -> number of verdicts in force that name it
    "node_sets_unused": "nodesets:unused",  # zset: digests that none names, by since when
    "history_index": "history",  # list, oldest first: "<superseded at> <size> <kind>:<key>"
}
PREFIXES: Final = {
    # + kind: hash: key -> "<revision> <at> <A|M> <created at revision>\n<body>"; with SYNC as the kind what of the
    # state is kept in history, without the fourth number
    "objects": "objects:",
    "history": "history:",  # + kind:key: list, oldest first: superseded records, and "D" records of deletions
}
_CLUSTER: Final = re.compile(r"[^{}\s\x00-\x1f]{1,253}")


def check_cluster(cluster: str) -> str:
    """The name itself; ValueError when it cannot stand in a key (it would break the hash tag)."""
    if not _CLUSTER.fullmatch(cluster):
        raise ValueError(f"DRADASH_CLUSTER={cluster!r}: use 1 to 253 characters without spaces and braces")
    return cluster


class Keys:
    def __init__(self, cluster: str) -> None:
        self.prefix = f"dradash:{{{check_cluster(cluster)}}}:"
        self.meta, self.lease, self.kinds, self.changes, self.sync, self.node_slots = (
            self.prefix + FIXED[name] for name in ("meta", "lease", "kinds", "changes", "sync", "node_slots")
        )
        self.due_info, self.verdicts, self.node_sets, self.history_index = (
            self.prefix + FIXED[name] for name in ("due_info", "verdicts", "node_sets", "history_index")
        )
        self.due, self.leased, self.figures = (self.prefix + FIXED[name] for name in ("due", "leased", "figures"))

    def current(self, kind: str) -> str:
        """The hash of what is in force: objects of a kind, the verdicts, or what lasts of the sync states."""
        return self.verdicts if kind == VERDICTS else f"{self.prefix}{PREFIXES['objects']}{kind}"

    def history(self, kind: str, key: str) -> bytes:
        return text(f"{self.prefix}{PREFIXES['history']}{kind}:{key}")


def text(value: str) -> bytes:
    """UTF-8; lone surrogates, which JSON can carry into a name, survive the way there and back."""
    return value.encode("utf-8", "surrogatepass")


def untext(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def lua_prelude() -> str:
    """Lua locals with the name of each key."""
    return "".join(f"local {name} = KEYS[1] .. '{suffix}'\n" for name, suffix in (FIXED | PREFIXES).items())
