"""Run the predicate in a process with approved code only. Its imports of code under test run in the worker."""

# Paths are compared as texts, as the import system and audit events give them.
# ruff: noqa: PTH118, PTH119, PTH120, PTH122

import importlib.util
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from .approved_imports import Approved, Imports
from .audit_hook import AuditHook, close_to_others
from .code_process import fork_worker
from .remote_objects import CannotJudge, Channel


def main(read_block: Callable[[], bytes]) -> None:
    """Fork the worker, read the question, call the predicate, and print the verdict after the question's mark."""
    is_closed = close_to_others()
    sys.pycache_prefix = os.path.join(os.devnull, "none")  # a .pyc of the workspace is not approved content
    number, channel = fork_worker()
    question: dict[str, Any] = json.loads(read_block())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    mark = question.pop("mark")
    passed, detail = judge_predicate(question, Channel(channel))
    os.kill(number, signal.SIGKILL)
    sys.stdout.flush()
    sys.stderr.flush()
    line = f"\n{mark}{json.dumps([passed, detail[:2_000], is_closed])}\n"
    os.write(1, line.encode())
    os._exit(0)


def judge_predicate(question: dict[str, Any], channel: Channel) -> tuple[bool, str]:
    """Return whether the predicate holds, and its detail. Any error means no, with the error as detail."""
    file, name = question["file"], question["function"]
    approved = Approved(question["root"], question["approved"])
    try:
        module = _load(file, question["source"], approved, Imports(approved, channel))
        predicate = getattr(module, name, None)
        if not callable(predicate):
            return False, f"{os.path.basename(file)} has no function `{name}`"
        return verdict(predicate(question["state"]))
    except SystemExit as left:
        return False, f"it called exit({left.code!r}); return True or False"
    except CannotJudge as why:
        return False, str(why)
    except BaseException as error:  # noqa: BLE001 - the user's code may raise anything, and it is data here
        traceback.print_exc()
        return False, f"it raised {type(error).__name__}: {error}"


def _load(file: str, source: str | None, approved: Approved, imports: Imports) -> ModuleType:
    """Load the predicate's module. `source`: its text, for a file that the sandbox may hide."""
    stem = os.path.splitext(os.path.basename(file))[0]
    sys.path.insert(0, os.path.dirname(file))
    finders: list[Any] = sys.meta_path
    at = finders.index(PathFinder) if PathFinder in finders else len(finders)
    finders.insert(at, imports)
    text = approved.read(file) if source is None else source
    sys.addaudithook(AuditHook(approved, file))
    spec = importlib.util.spec_from_loader(stem, loader=None, origin=file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = file
    sys.modules[stem] = module
    exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    return module


def verdict(answer: object) -> tuple[bool, str]:
    """Convert the predicate's return value. Only True passes: an unknown type must not end a run as done."""
    match answer:
        case bool():
            return answer, "it returned True" if answer else "it returned False"
        case (bool() as passed, str() as detail):
            return passed, detail
        case _:
            return False, f"it returned {type(answer).__name__}; return True, False or (bool, text)"
