"""A Python whose processes note which modules of the program they call, in place of `sys.executable`.

As a program: `python traced_process.py NOTES [-P] -m MODULE [WORD...]` runs the module and writes the notes at its end.
"""

from __future__ import annotations

import json
import runpy
import shlex
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]


def traced_python(folder: Path, notes: Path) -> Path:
    """Return the program. A module that it runs writes its notes into a file at its end."""
    program = folder / "traced-python"
    words = [sys.executable, "-P", str(Path(__file__)), str(notes)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    program.chmod(0o755)
    return program


def main() -> None:
    notes, module, *words = [word for word in sys.argv[1:] if word not in ("-P", "-m")]
    sys.path.insert(0, str(TESTS))
    from fakes.in_process.traced import Traced

    sys.path.remove(str(TESTS))
    sys.argv = [module, *words]
    traced = Traced(None)
    try:
        with traced:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        unfinished = Path(notes).with_suffix(".unfinished")
        unfinished.write_text(json.dumps(traced.called))
        unfinished.rename(notes)


if __name__ == "__main__":
    main()
