"""Items that a Python function of the user works."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.ended import is_over
from search.finder.working import ITEM, ended_within_a_second

from rundry.agent.protocol import UserError
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.search.items.item_state import Candidate
from rundry.agent.search.workers.python_worker import PythonWorker
from rundry.agent.search.workers.worker import ItemResult, WorkItem


async def test_a_function_gets_the_item_and_its_result_is_read_alike(make_python: Callable[..., PythonWorker]) -> None:
    worker = make_python("""
def work(item):
    print("prints do not disturb")
    found = {"kind": item["kind"], "value": item["value"] + "!"}
    return {"items": [found], "reason": item["key"] + str(item["attempt"])}
""")
    worked = await worker.work(ITEM)
    assert worked == ItemResult(items=[Candidate("file", "src/a.py!")], reason="/w/src/a.py2")


async def test_a_child_is_used_again_and_there_are_no_more_than_items_at_once(
    make_python: Callable[..., PythonWorker], tmp_path: Path
) -> None:
    worker = make_python(
        """
import os, time
def work(item):
    time.sleep(0.05)
    return {"reason": str(os.getpid())}
"""
    )
    worked = [one for _ in range(4) for one in await asyncio.gather(*(worker.work(ITEM) for _ in range(2)))]
    children = {int(one.reason) for one in worked}
    assert len(children) == 2
    assert os.getpid() not in children
    await worker.close()
    assert all(is_over(pid) for pid in children)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("def work(item): raise ValueError('no\\n  such thing')", ["ValueError: no such thing"]),
        ("def work(item): raise KeyError", ["KeyError"]),
        ("def work(item): return None", ["NoneType", "dict"]),
        ("def work(item): return [1]", ["list", "dict"]),
        ("def work(item): return {'reason': object()}", ["TypeError", "object"]),
        ("def work(item): return {'found_new': float('nan')}", ["ValueError"]),
        ("def work(item): return {'reason': '\\ud800'}", ["lone surrogate"]),
        ("def work(item): return {'itmes': []}", ["itmes"]),
        ("def work(item): return {'error': 'not today'}", ["not today"]),
        ("import sys\ndef work(item): sys.exit('bye')", ["SystemExit: bye"]),
        ("def work(item): work(item)", ["RecursionError"]),
        ("def other(item): pass", ["tool has no function `work`"]),
        ("import not_there\ndef work(item): pass", ["ModuleNotFoundError", "not_there"]),
        ("def work(item) pass", ["SyntaxError"]),
        ("import os, sys\ndef work(item):\n print('down', file=sys.stderr); os._exit(7)", ["code 7", "down"]),
        ("import os\ndef work(item): os.kill(os.getpid(), 9)", ["signal 9"]),
        ("def work(item): return {'reason': 'x' * 65_000_000}", ["64 MB"]),
    ],
)  # fmt: skip
async def test_a_function_that_fails_is_a_failed_step_that_says_why(
    make_python: Callable[..., PythonWorker], module: str, words: list[str]
) -> None:
    worked = await make_python(module).work(ITEM)
    assert all(word in worked.error for word in words), worked.error
    assert "\n" not in worked.error
    assert not worked.items


async def test_a_child_that_died_is_replaced(make_python: Callable[..., PythonWorker]) -> None:
    worker = make_python(
        """
import os
def work(item):
    if item["attempt"] == 2:
        os._exit(1)
    return {"reason": "well"}
"""
    )
    assert "exit code 1" in (await worker.work(ITEM)).error
    assert (await worker.work(WorkItem("value", "x", "x"))).reason == "well"


async def test_a_function_that_takes_too_long_is_ended_and_the_next_one_works(
    make_python: Callable[..., PythonWorker], tmp_path: Path
) -> None:
    worker = make_python(
        """
import os, subprocess
def work(item):
    if item["attempt"] == 2:
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        open("pid", "w").write(str(child.pid))
        child.wait()
    return {"reason": "well"}
""",
        seconds=3.0,
    )
    assert "timed out after 3 s" in (await worker.work(ITEM)).error
    assert is_over(int((tmp_path / "pid").read_text()))
    assert (await worker.work(WorkItem("value", "x", "x"))).reason == "well"


async def test_cancelling_ends_the_child_that_calls(make_python: Callable[..., PythonWorker], tmp_path: Path) -> None:
    worker = make_python(
        "import os, subprocess\ndef work(item):\n"
        " open('pid', 'w').write(str(os.getpid()))\n subprocess.run(['sleep', '600'])"
    )
    await ended_within_a_second(asyncio.create_task(worker.work(ITEM)), tmp_path / "pid")


async def test_a_coroutine_function_is_waited_for(make_python: Callable[..., PythonWorker]) -> None:
    worker = make_python("import asyncio\nasync def work(item):\n await asyncio.sleep(0)\n return {'reason': 'waited'}")
    assert (await worker.work(ITEM)).reason == "waited"


async def test_the_users_module_is_never_imported_here(make_python: Callable[..., PythonWorker]) -> None:
    await make_python("def work(item): return {}").work(ITEM)
    assert "tool" not in sys.modules


@pytest.mark.parametrize("function", ["", "tool", "tool:", ":work", "tool.py:work()", "a-b:c", "tool:work:x"])
def test_a_function_is_written_as_module_and_name(function: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="module:function"):
        PythonWorker(function, workspace=tmp_path, env={}, sandbox=Sandbox())
