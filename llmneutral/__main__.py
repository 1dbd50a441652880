"""`python -m llmneutral`: the same as the command `llmneutral`."""

from __future__ import annotations

import sys

from llmneutral.cli import main

if __name__ == "__main__":
    sys.exit(main())
