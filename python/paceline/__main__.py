"""``python -m paceline``: the program itself."""

import os
import sys

from ._binary import binary


def main() -> None:
    """Becomes the program, with the same arguments."""
    path = binary()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
