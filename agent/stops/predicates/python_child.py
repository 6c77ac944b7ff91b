"""Runs `FILE:function` of the user's in a process of its own: `python -I -B predicate_child.py FILE function MARK`.

The run's state comes as JSON on standard input. What the function prints is let through; the verdict is the last line,
behind MARK. Imports nothing of rundry.
"""

import importlib.util
import json
import sys
import traceback
from pathlib import Path


def judge(file: str, name: str, state: object) -> tuple[bool, str]:
    """Whether the predicate holds, and what it says about it. Any error is a no, with its reason."""
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            return False, f"{file} cannot be loaded as Python"
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        predicate = getattr(module, name, None)
        if not callable(predicate):
            return False, f"{path.name} has no function `{name}`"
        return verdict(predicate(state))
    except SystemExit as left:
        return False, f"it called exit({left.code!r}); return True or False"
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything, and it is data here
        traceback.print_exc()
        return False, f"it raised {type(error).__name__}: {error}"


def verdict(answer: object) -> tuple[bool, str]:
    """Only True is a yes: an unknown kind of answer must not end a run as done."""
    match answer:
        case bool():
            return answer, "it returned True" if answer else "it returned False"
        case (bool() as passed, str() as detail):
            return passed, detail
        case _:
            return False, f"it returned {type(answer).__name__}; return True, False or (bool, text)"


def main() -> None:
    """Reads the state, asks the predicate, prints the verdict."""
    file, name, mark = sys.argv[1:4]
    passed, detail = judge(file, name, json.load(sys.stdin))
    sys.stdout.flush()
    sys.stderr.flush()
    print(f"\n{mark}{json.dumps([passed, detail])}", flush=True)


if __name__ == "__main__":
    main()
