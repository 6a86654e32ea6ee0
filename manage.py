#!/usr/bin/env python
"""dradash's command line: `up` starts everything, `help` lists the rest."""

import os
import sys

from django.core.management import execute_from_command_line

from dradash.cli.output import guarded
from dradash.conf import BadSetting


def run() -> int:
    try:
        execute_from_command_line(sys.argv)
    except BadSetting as error:
        sys.exit(f"{sys.argv[1] if len(sys.argv) > 1 else 'dradash'}: error: {error}")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dradash.settings")
    sys.exit(guarded(" ".join(["dradash", *sys.argv[1:2]]), run))
