"""``python -m sklearn_adareg``: the command ``adareg``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
