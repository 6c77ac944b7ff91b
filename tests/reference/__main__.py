"""Write docs/reference/. From `tests/`: `../.venv/bin/python -m reference`, or `.dev/reference` from anywhere."""

from __future__ import annotations

from . import FOLDER
from .pages import write


def main() -> None:
    changed = write(FOLDER)
    print("\n".join(f"docs/reference/{name}" for name in changed) or "docs/reference is current")


if __name__ == "__main__":
    main()
