"""Management commands that are the command line's own: the arguments are passed on as they are."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandParser

from dradash.cli.main import main


class OurCommand(BaseCommand):
    name: ClassVar[str]
    requires_system_checks: list[str] = []  # neither Redis nor a web server is needed

    def run_from_argv(self, argv: list[str]) -> None:
        sys.exit(main([self.name, *argv[2:]]))

    def create_parser(self, *_args: Any, **_kwargs: Any) -> CommandParser:
        """For `manage.py help NAME`, which shows the parser's help."""
        sys.exit(main(["help", self.name]))

    def handle(self, *_args: Any, **_options: Any) -> None:
        raise NotImplementedError("run_from_argv passes everything on")
