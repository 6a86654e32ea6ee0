"""How long a test waits for what must come: a bound on hanging, never a measure of speed (that is what bench/ is for).

One number for all of them. A machine of CI may be ten times slower than ours and has the other half of the suite
beside it; bounds chosen one by one, each "with room", failed there one by one. A wait ends when the thing comes, so
a generous bound costs nothing where all is well. It stays below pytest's own time-out, which cannot say what was
awaited.
"""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 120.0  # seconds
