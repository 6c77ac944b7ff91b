"""Start modules of rundry as processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE_PARENT = str(Path(__file__).parents[3])
_START = """
import sys
sys.path.insert(0, sys.argv[1])
import rundry.agent
del sys.path[0]
import runpy
del sys.argv[1]
runpy.run_module(sys.argv.pop(1), run_name="__main__")
"""


def module_words(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module of this package, without its parent folder on the import path."""
    return [sys.executable, "-I", "-c", _START, _PACKAGE_PARENT, module, *arguments]
