"""`dradash explain -f FILE... [NS/POD]`: verdicts from files alone."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from typing import Any, Final

import msgspec
import yaml

from dradash.cli.style import Style, safe
from dradash.cli.told import told
from dradash.offline.documents import SUFFIXES, BadInput, read
from dradash.offline.dump import Dump
from dradash.offline.explain import Explainer, Explanation
from dradash.offline.gather import STDIN, gather

HELP: Final = "judge pods from `kubectl get -o yaml` output, without a cluster"
DESCRIPTION: Final = """\
Judge pods from files: what `kubectl get -o yaml` (or json) prints, Lists, several documents or files, a directory, a
must-gather tree, a tar (.gz) of these, or - for standard input. A recording (by `record`) is judged as the cluster was
at its end. Nothing is asked of a cluster, Redis or web server. Manifests that nobody has applied yet are read with the
API server's defaults (a request of one device, a container's requests from its limits, a node's allocatable from its
capacity); what admission adds is not known. JSON is read several times faster than YAML.

  kubectl get pods,nodes,resourceclaims,resourceclaimtemplates,deviceclasses,resourceslices,events -A -o yaml |
    dradash explain -f - ml/train

(On Kubernetes 1.30: resourceclasses,podschedulingcontexts instead of deviceclasses,resourceslices.)

Exit status: 0 schedulable (or bound), 1 not, 2 the input cannot be used or does not decide it; of several pods the
worst; 3 the output cannot be written."""
_POD: Final = re.compile(r"(?:[a-z0-9-]+/)?[a-z0-9][a-z0-9.-]*")
_FILES: Final = (*SUFFIXES, ".jsonl", ".gz", ".tgz", ".tar", ".txt")
_HOW: Final = "a pod is NAMESPACE/NAME, or NAME"
_OBJECTS: Final = b"apiVersion"  # in a text that is no other program's configuration or log
NOTED: Final = 3  # of what could not be read
SCHEDULABLE, NOT_SCHEDULABLE, BAD_INPUT = 0, 1, 2


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pod", nargs="?", metavar="NS/POD", help="default: every pod of the input that uses claims")
    parser.add_argument(
        "-f", "--filename", nargs="+", action="extend", required=True, metavar="FILE", help="- is stdin"
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text", help="default: text")
    parser.add_argument("--node", default="", metavar="N", help="also say why this node fits or not")


def run(args: Namespace) -> int:
    try:
        files, pod = _told_apart(args.filename, args.pod)
        dump = load(files)
        found = explanations(dump, pod, args.node)
    except BadInput as error:
        sys.stderr.write(f"dradash explain: {safe(str(error))}\n")
        return BAD_INPUT
    _write(found, args.output, one=pod is not None)
    if not all(e.decided for e in found):
        return BAD_INPUT
    return SCHEDULABLE if all(e.schedulable for e in found) else NOT_SCHEDULABLE


def _told_apart(files: list[str], pod: str | None) -> tuple[list[str], str | None]:
    """In `-f FILE... NS/POD` the pod reads as one more file: it is one only if there is such a file, or looks like one.

    Raises BadInput for what is neither.
    """
    last = files[-1]
    if pod is not None or len(files) == 1 or last == STDIN or os.path.exists(last) or last.endswith(_FILES):
        return files, pod
    if not _POD.fullmatch(last):
        raise BadInput(f"{last}: there is no such file; {_HOW}")
    return files[:-1], last


def load(paths: list[str]) -> Dump:
    """Raises BadInput."""
    dump = Dump()
    for given in gather(paths, sys.stdin.buffer):
        try:
            dump.take(read(given.text, given.name), given.name)
        except BadInput as error:
            if given.named:
                raise
            dump.leave_out(given.name, str(error), may_matter=_OBJECTS in given.text.replace(b"\0", b""))  # UTF-16
    return dump


def explanations(dump: Dump, pod: str | None, node: str) -> list[Explanation]:
    """Raises BadInput when there is no such pod, or none that uses claims."""
    explainer = Explainer(dump)
    if pod is None:
        found = list(explainer.all(node))
        if not found:
            raise BadInput(_nothing(dump))
        return found
    namespace, slash, name = pod.partition("/")
    if slash and (not namespace or not name or "/" in name):
        raise BadInput(f"{pod} is no pod: {_HOW}")
    key = pod if slash else _only(dump, pod)
    one = explainer.pod(key, node)
    if one is None:
        wrong = next((n for n in dump.notes if f": Pod {key} cannot be read: " in n), "")
        raise BadInput(wrong or _no_pod(dump, key))
    return [one]


def _only(dump: Dump, name: str) -> str:
    """A name alone: of the only pod of that name, else in the namespace default, as kubectl takes it."""
    keys = [k for k in dump.cluster.raw["pods"] if k.rpartition("/")[2] == name]
    if len(keys) > 1:
        raise BadInput(f"there are several pods {name}: {', '.join(sorted(keys)[:5])}; say NAMESPACE/{name}")
    return keys[0] if keys else f"default/{name}"


def _nothing(dump: Dump) -> str:
    if broken := _unread(dump):
        return f"no pod that can be read uses claims (spec.resourceClaims): {broken}"
    if "pods" not in dump.known:
        return f"no Pod in the input{_instead(dump)}: there is nothing to explain"
    return "no pod in the input uses claims (spec.resourceClaims): there is nothing to explain"


def _unread(dump: Dump) -> str:
    """What of the input could not be read, and where."""
    more = f"; and {len(dump.notes) - NOTED} more" if len(dump.notes) > NOTED else ""
    return "; ".join(dump.notes[:NOTED]) + more


def _no_pod(dump: Dump, key: str) -> str:
    name = key.rpartition("/")[2]
    similar = sorted(k for k in dump.cluster.pods if k.rpartition("/")[2].startswith(name[:8]))[:5]
    broken = f"; {_unread(dump)}" if dump.notes else ""
    hint = f"; there is {', '.join(similar)}" if similar else _instead(dump)
    return f"no Pod {key} in the input{hint}{broken}"


def _instead(dump: Dump) -> str:
    held = sorted(dump.known) + [name.partition(" ")[2] for name in (*dump.foreign, *dump.other)]
    if held:
        return f" (it holds {', '.join(dict.fromkeys(held[:8]))})"
    return "" if dump.notes else " (it is empty)"


def _write(found: list[Explanation], output: str, *, one: bool) -> None:
    if output == "text":
        style = Style.of(sys.stdout, os.environ)
        sys.stdout.write("\n".join(told(e, style) for e in found))
        return
    plain: Any = msgspec.to_builtins(found[0] if one else {"items": found})
    if output == "json":
        sys.stdout.write(json.dumps(plain, indent=2) + "\n")
    else:
        sys.stdout.write(yaml.safe_dump(plain, sort_keys=False, allow_unicode=False))
