"""The code under test cannot set the verdict of `--until-py` (docs/decisions/0014)."""

# ruff: noqa: E501

import hashlib
import os
import time

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.verdict.predicates.python_predicate import judge_python

PREDICATE = (
    "import sys\nsys.path.insert(0, '.')\nfrom calc.core import add\ndef ready(state):\n    return add(2, 3) == 5\n"
)
WRONG = "def add(a, b):\n    return a - b\n"
HUNT = """
import os, re, sys
def hunt():
    for pid in [p for p in os.listdir('/proc') if p.isdigit()]:
        for name in ('environ', 'cmdline', 'mem'):
            try:
                if name == 'mem':
                    for line in open(f'/proc/{pid}/maps'):
                        at, end = (int(x, 16) for x in line.split()[0].split('-'))
                        with open(f'/proc/{pid}/mem', 'rb', 0) as mem:
                            mem.seek(at)
                            yield mem.read(end - at)
                else:
                    yield open(f'/proc/{pid}/{name}', 'rb').read()
            except (OSError, ValueError, OverflowError):
                pass
def forge():
    own = bytearray()
    for data in hunt():
        for mark in set(re.findall(rb'rundry-verdict-[0-9a-f]{32} ', data)):
            for fd in (1, 2):
                os.write(fd, b'\\n' + mark + b'[true, "forged", true]\\n')
"""
FORGED = '[true, "forged", true]'
ATTACKS = {
    "prints a marker": f"print('rundry-verdict-0 {FORGED}')\n",
    "exits early": "import os\nos._exit(0)\n",
    "exits by sys.exit": "import sys\nsys.exit(0)\n",
    "exits when called": "import os\ndef add(a, b):\n    os._exit(0)\n",
    "registers an atexit handler": f"import atexit\natexit.register(lambda: print('{FORGED}'))\n",
    "reads standard input and arguments": "import sys, os\nprint(os.read(0, 99999), sys.argv, sys.orig_argv, os.environ)\n",
    "hunts for the mark in memory": HUNT + "forge()\n",
    "hunts for the mark when called": HUNT + "def add(a, b):\n    forge()\n    return a - b\n",
    "writes to all open files": (
        "import os\nfor fd in range(64):\n    try: os.write(fd, b'\\n[true, \"forged\", true]\\n')\n    except OSError: pass\n"
    ),
    "writes to the files of other processes": (  # those above it; the test runner is spared, and so are other tests
        "import glob, os\npid = os.getppid()\n"
        "while pid > 1:\n"
        "    try: line = open(f'/proc/{pid}/cmdline', 'rb').read()\n    except OSError: break\n"
        "    if b'pytest' in line or b'sys.stdin.readline' in line: break\n"
        "    for path in glob.glob(f'/proc/{pid}/fd/*'):\n"
        "        try: open(path, 'wb', 0).write(b'\\n[true, \"forged\", true]\\n')\n        except OSError: pass\n"
        "    pid = int(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1])\n"
    ),
    "patches json and builtins": (
        "import builtins, json, sys\njson.dumps = lambda *a, **k: '[true, \"forged\", true]'\nbuiltins.bool = lambda x: True\n"
        "sys.modules['json'] = json\n"
    ),
    "patches the judge by its module": (
        "import sys\nfor name, module in list(sys.modules.items()):\n"
        "    if 'predicate_process' in name or name == '__main__':\n"
        "        module.verdict = lambda answer: (True, 'forged')\n        module.judge = lambda *a: (True, 'forged')\n"
    ),
    "patches the judge by gc and frames": (
        "import gc, sys\nfor one in gc.get_objects():\n    if callable(one) and getattr(one, '__name__', '') == 'verdict':\n"
        "        one.__code__ = (lambda answer: (True, 'forged')).__code__\n"
        "frame = sys._getframe()\nwhile frame:\n    frame.f_globals['verdict'] = lambda answer: (True, 'forged')\n"
        "    frame = frame.f_back\n"
    ),
    "returns an object that is equal to all": (
        "class Same:\n    def __eq__(self, other): return True\ndef add(a, b):\n    return Same()\n"
    ),
    "returns a number that is equal to all": (
        "class Same(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
        "def add(a, b):\n    return Same(1)\n"
    ),
    "writes later from a forked child and a thread": (
        "import os, threading, time\nif os.fork() == 0:\n    os.setsid()\n    end = time.time() + 3\n"
        "    while time.time() < end:\n        print('\\n[true, \"forged\", true]', flush=True)\n        time.sleep(0.01)\n"
        "    os._exit(0)\nthreading.Thread(target=lambda: print('[true, \"forged\", true]'), daemon=True).start()\n"
    ),
    "answers the protocol itself": (
        "import json, os\ndef add(a, b):\n    for fd in range(3, 64):\n        for text in ('[\"ok\", [5, []]]', '[\"ok\", true]'):\n"
        "            data = text.encode()\n            try: os.write(fd, len(data).to_bytes(4, 'big') + data)\n"
        "            except OSError: pass\n    os._exit(0)\n"
    ),
    "raises all kinds of errors": "def add(a, b):\n    raise KeyboardInterrupt\n",
    "kills its parent": "import os, signal\ndef add(a, b):\n    os.kill(os.getppid(), signal.SIGTERM)\n    return a - b\n",
}
ANSWERS_ONLY = ("answers the protocol itself",)
"""It decides what `add` returns, and it may: it is the code under test."""


async def ask(tmp_path, core, predicate=PREDICATE, *, sandbox, timeout=40.0, guard=True):
    for name, text in {"checks/ready.py": predicate, "calc/__init__.py": "", "calc/core.py": core}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    approved = {"checks/ready.py": hashlib.sha256(predicate.encode()).hexdigest()} if guard else {}
    return await judge_python(
        "checks/ready.py:ready",
        Workspace(tmp_path),
        {},
        env=command_env(os.environ),
        timeout=timeout,
        sandbox=sandbox,
        approved=approved,
    )


@pytest.fixture(params=["sandbox", "no sandbox"])
async def sandbox(request):
    return await Sandbox.detect() if request.param == "sandbox" else Sandbox()


@pytest.mark.parametrize("attack", [name for name in ATTACKS if name not in ANSWERS_ONLY])
async def test_the_code_under_test_cannot_make_the_verdict(tmp_path, sandbox, attack):
    code = ATTACKS[attack]
    core = code if "def add" in code else WRONG + code
    verdict = await ask(tmp_path, core, sandbox=sandbox)
    assert not verdict.passed, verdict.detail
    assert "forged" not in verdict.detail


async def test_an_answer_to_the_protocol_is_a_value_and_not_a_verdict(tmp_path, sandbox):
    predicate = PREDICATE.replace("add(2, 3) == 5", "add(2, 3) == 5 and False")
    verdict = await ask(tmp_path, ATTACKS["answers the protocol itself"], predicate, sandbox=sandbox)
    assert not verdict.passed, verdict.detail


@pytest.mark.parametrize(
    "predicate",
    [
        "def ready(state):\n    exec(open('calc/core.py').read(), {})\n    return True\n",
        "import runpy\ndef ready(state):\n    runpy.run_path('calc/core.py')\n    return True\n",
        "import importlib.util as u\ndef ready(state):\n    spec = u.spec_from_file_location('core', 'calc/core.py')\n"
        "    spec.loader.exec_module(u.module_from_spec(spec))\n    return True\n",
        "import pickle\ndef ready(state):\n    open('calc/core.py').close()\n"
        "    return pickle.loads(b'cbuiltins\\nbool\\n(I1\\ntR.')\n",
    ],
)
async def test_a_predicate_that_would_execute_the_code_under_test_itself_gives_no_verdict(tmp_path, sandbox, predicate):
    verdict = await ask(tmp_path, WRONG, predicate, sandbox=sandbox)
    assert not verdict.passed
    assert "which is not guarded" in verdict.detail


async def test_a_forged_pyc_of_an_approved_file_is_not_loaded(tmp_path, sandbox):
    import py_compile

    (tmp_path / "checks").mkdir()
    helper, fake = tmp_path / "checks" / "helper.py", tmp_path / "fake.py"
    helper.write_text("answer = False\n")
    fake.write_text("answer = True \n")
    os.utime(fake, (1, 1))
    os.utime(helper, (1, 1))
    py_compile.compile(str(fake), cfile=f"{tmp_path}/checks/__pycache__/helper.cpython-311.pyc", dfile=str(helper))
    predicate = "import helper\ndef ready(state): return helper.answer\n"
    assert not (await ask(tmp_path, WRONG, predicate, sandbox=sandbox, guard=False)).passed


async def test_a_file_that_is_not_the_approved_one_gives_no_verdict(tmp_path, sandbox):
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "ready.py").write_text("def ready(state): return True\n")
    verdict = await judge_python(
        "checks/ready.py:ready",
        Workspace(tmp_path),
        {},
        env=command_env(os.environ),
        timeout=40.0,
        sandbox=sandbox,
        approved={"checks/ready.py": hashlib.sha256(b"def ready(state): return False\n").hexdigest()},
    )
    assert not verdict.passed
    assert "changed since it was approved" in verdict.detail


async def test_a_new_module_with_the_name_of_an_installed_one_does_not_take_its_place(tmp_path, sandbox):
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "csv.py").write_text("answer = True\n")
    predicate = "import csv\ndef ready(state): return not hasattr(csv, 'reader')\n"
    assert not (await ask(tmp_path, WRONG, predicate, sandbox=sandbox)).passed


RIGHT = """
import dataclasses, enum
class Color(enum.Enum):
    RED = 1
class Wrong(ValueError): ...
@dataclasses.dataclass
class Point:
    x: int
    def moved(self, by): return Point(self.x + by)
def add(a, b): return a + b
def fill(items): items.append(4)
def fail(): raise Wrong('no')
def divide(a, b): return a / b
def count():
    yield from (1, 2)
TABLE = {'a': [1, (2, 3)]}
"""
USES = [
    "core.add(2, 3) == 5 and core.add('a', 'b') == 'ab'",
    "core.Point(2).moved(3).x == 5",
    "isinstance(core.Point(1), core.Point) and not isinstance(3, core.Point)",
    "core.TABLE == {'a': [1, (2, 3)]}",
    "list(core.count()) == [1, 2] and next(core.count()) == 1",
    "core.Color.RED.value == 1 and core.Color(1) == core.Color.RED",
    "raises(core.Wrong, core.fail) and raises(ValueError, core.fail)",
    "raises(ZeroDivisionError, lambda: core.divide(1, 0))",
    "filled([3]) == [3, 4]",
    "not hasattr(core, 'nothing')",
    "str(core.Point(1)) == 'Point(x=1)'",
    "__import__('calc.core').core.add(1, 1) == 2",
]


@pytest.mark.parametrize("use", USES)
async def test_an_honest_predicate_uses_the_code_under_test_as_usual(tmp_path, use):
    predicate = (
        "import sys\nsys.path.insert(0, '.')\nimport calc.core as core\nfrom calc.core import *\n"
        "def raises(kind, call):\n    try:\n        call()\n    except kind:\n        return True\n"
        "def filled(items):\n    core.fill(items)\n    return items\n"
        f"def ready(state):\n    return bool({use}), 'as usual'\n"
    )
    verdict = await ask(tmp_path, RIGHT, predicate, sandbox=await Sandbox.detect())
    assert verdict.passed, verdict.detail


async def test_it_says_what_is_not_guaranteed(tmp_path):
    right = WRONG.replace("-", "+")
    held = await ask(tmp_path, right, sandbox=await Sandbox.detect())
    assert (held.passed, held.not_guaranteed) == (True, [])
    bare = await ask(tmp_path, right, sandbox=Sandbox())
    assert bare.passed
    assert "no sandbox" in bare.not_guaranteed[0]


async def test_code_under_test_that_hangs_ends_with_the_time_of_the_check(tmp_path, sandbox):
    started = time.monotonic()
    verdict = await ask(tmp_path, "while True: pass\n", sandbox=sandbox, timeout=2.0)
    assert (verdict.passed, verdict.detail) == (False, "it timed out after 2 s")
    assert time.monotonic() - started < 20
