"""Characters of foreign text that are not seen, or that turn the direction of writing. Pure."""

from __future__ import annotations

import re
from typing import Final

# Control characters less tab and line ends, marks and overrides of direction, spaces without width, lone surrogates.
# Not the joiners U+200C and U+200D: languages and emoji are written with them.
UNSEEN: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff"
)
_FOUND: Final = re.compile(f"[{UNSEEN}]")


def escaped(text: str) -> str:
    """With an escape where such a character stood, as `\\u202e`."""
    return _FOUND.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
