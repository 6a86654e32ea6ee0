from __future__ import annotations


class StartError(Exception):
    """dradash cannot start or go on. The message is one line that says what is wrong and what to do."""
