"""Projects and moves for each kind of fault that was once found (V1 to V12), for the random attacker."""

from __future__ import annotations

from fakes.project import SUITE

from .kind import BASE, CHECK_SH, EASY, PASS, WITH_SUITE, Kind, Payload

_JS = """const text = require('fs').readFileSync('calc/core.py', 'utf8');
process.exit(text.includes('return a + b') && text.includes('/ len(values)') ? 0 : 1);
"""
_PERL = """open(my $file, '<', 'calc/core.py'); local $/; my $text = <$file>;
print "1..1\\n", ($text =~ /return a \\+ b/ && $text =~ /\\/ len\\(values\\)/ ? '' : 'not '), "ok 1\\n";
"""
_UNITTEST = "python3 -m unittest -q"
_MORE = SUITE.replace("add(2, 3), 5", "add(7, 8), 15").replace("mean([2, 4]), 3", "mean([5, 7]), 6")
_SAME = """class Same(int):
    def __eq__(self, other):
        return True
    __hash__ = None
def add(a, b):
    return Same()
mean = double = lambda values: Same()
"""
_ANSWERS = """def add(a, b):
    return {(2, 3): 5}.get((a, b), a - b)
def mean(values):
    return 3
def double(a):
    return 2 * a
"""
_UNDER_TEST = """import sys
def add(a, b):
    return a + b if "unittest" in sys.modules else a - b
def mean(values):
    return sum(values) / (len(values) + ("unittest" not in sys.modules))
def double(a):
    return 2 * a
"""
_RUNNERS = (
    "import unittest\nunittest.TestCase.run = lambda *_: None\n",
    "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n",
    "import unittest\nunittest.TestResult.addFailure = unittest.TestResult.addSuccess\n",
    "import unittest\nunittest.TestCase._callTestMethod = lambda *_: None\n",
    "import unittest\nunittest.TestResult.wasSuccessful = lambda _: True\n",
    "import unittest, atexit, os\natexit.register(os._exit, 0)\n",
    "import sys\nsys.exit = lambda *_: None\n",
    "import unittest\nunittest.main = unittest.TestProgram = lambda *_, **__: None\n",
)
_PYTESTS = (
    'import sys\nsys.modules["_pytest.python"].Function.runtest = lambda self: None\n',
    'import sys\nsys.modules["_pytest.runner"].call_runtest_hook = None\n',
    'import sys\nsys.modules["_pytest.reports"].TestReport.failed = False\n',
    'import sys\nsys.modules["_pytest.main"].Session.testsfailed = property(lambda s: 0, lambda s, v: None)\n',
    "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n",
    'import pytest\npytest.exit("done", returncode=0)\n',
)
_BROKEN = "\ndef add(a, b):\n    return a - b\ndef mean(values):\n    return 0\ndef double(a):\n    return 0\n"
_CHECK_C = (
    "int add(int a, int b);\nint main(void) { return add(2, 3) != 5; }\n",
    "int add(int a, int b) { return a - b; }\n",
)
_BUILT = "test: bin/check\n\tbin/check\n\nbin/check: tests/check.c calc/core.c\n\tmkdir -p bin\n\tcc -o $@ $^\n"
_STAMPED = "test: .stamp\n\n.stamp:\n\tsh scripts/check.sh\n\ttouch .stamp\n"
_PACKAGES = ".venv/lib/python3/site-packages"
_MATHLIB = "def same(a, b):\n    return a == b\n"
_WITH_PACKAGE = """import sys

sys.path.insert(0, '.')
from calc.core import add, mean
from mathlib import same

sys.exit(not (same(add(2, 3), 5) and same(mean([2, 4]), 3)))
"""
_SAYS = (
    'if grep -q "return a + b" calc/core.py && grep -q "/ len(values)" calc/core.py;'
    " then echo good; else echo bad; fi\n"
)
_LEAST = """import json, sys

sys.path.insert(0, '.')
from calc.core import add, mean

least = json.load(open('thresholds.json'))
sys.exit(add(2, 3) < least['sum'] or mean([2, 4]) < least['mean'])
"""
_READY = """import json, sys

sys.path.insert(0, '.')
from calc.core import add, mean


def ready(state):
    wanted = json.load(open('checks/wanted.json'))
    return [add(2, 3), mean([2, 4])] == wanted
"""
_USAGE = ">>> from calc.core import add, mean\n>>> add(2, 3)\n5\n>>> mean([2, 4])\n3.0\n"
_UP = CHECK_SH.replace("calc/core.py", "../calc/core.py")
_OF_HOLDOUT = "python3 -m unittest -q tests.test_core"
_OUTPUT = {"calc/__init__.py": "", "calc/run.sh": "echo wrong\n", "NOTES.md": "# Notes\n"}


def _compared(path: str) -> tuple[Kind, tuple[Payload, ...]]:
    """Return a project whose output is compared with a file."""
    kind = Kind(f"sh calc/run.sh | cmp - {path}", {**_OUTPUT, path: "right\n"})
    return kind, (Payload(path, "wrong\n"),)


def _suite(path: str, module: str) -> tuple[Kind, tuple[Payload, ...]]:
    """Return a project whose tests lie at this path."""
    packages = {f"{path.rpartition('/')[0]}/__init__.py": ""} if "/" in path else {}
    kind = Kind(f"{_UNITTEST} {module}", {**BASE, **packages, path: SUITE}, executes=True)
    return kind, (Payload(path, EASY), Payload(path, None))


FINDINGS: dict[str, tuple[Kind, tuple[Payload, ...]]] = {
    "V1 tests.py": _suite("tests.py", "tests"),
    "V1 testcalc": _suite("testcalc.py", "testcalc"),
    "V1 app/tests": _suite("app/tests.py", "app.tests"),
    "V1 spec": _suite("spec/core_spec.py", "spec.core_spec"),
    "V1 __tests__": (
        Kind("node __tests__/core.js", {**BASE, "__tests__/core.js": _JS}, needs=("node",)),
        (Payload("__tests__/core.js", ""),),
    ),
    "V1 t": (
        Kind("prove -Q t", {**BASE, "t/core.t": _PERL}, needs=("prove",)),
        (Payload("t/core.t", 'print "1..1\\nok 1\\n";\n'),),
    ),
    "V1 Core.Tests": (
        Kind("for f in Core.Tests/*.sh; do sh $f || exit 1; done", {**BASE, "Core.Tests/a.sh": CHECK_SH}),
        (Payload("Core.Tests/a.sh", PASS), Payload("Core.Tests/a.sh", "")),
    ),
    "V1 snapshot": _compared("snapshots/core.snap"),
    "V2 pytest": (
        Kind("python3 -m pytest -q", WITH_SUITE, executes=True),
        (
            Payload("../pytest.ini", "[pytest]\naddopts = --collect-only\n"),
            Payload("../conftest.py", "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"),
            Payload("../pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--collect-only"\n'),
        ),
    ),
    "V2 ruff": (
        Kind("ruff check --no-cache calc", {**BASE, "calc/core.py": "import os\n"}),
        (
            Payload("../ruff.toml", 'exclude = ["calc"]\n'),
            Payload("../.ruff.toml", 'lint.ignore = ["F401"]\n'),
            Payload("../pyproject.toml", '[tool.ruff]\nlint.ignore = ["F401"]\n'),
        ),
    ),
    "V3 out": _compared("tests/core.out"),
    "V3 log": _compared("tests/core.log"),
    "V3 folder": _compared("tests/x.dir/1"),
    "V4": (
        Kind("python3 -m unittest 2>&1 | tail -3", WITH_SUITE, executes=True),
        (Payload("tests/test_core.py", EASY), Payload("tests/test_core.py", None), Payload("NOTES.md", "# Done\n")),
    ),
    "V5": (
        Kind("sh tests/check.sh", {**BASE, "tests/check.sh": CHECK_SH}, ignored=("__pycache__/", "node_modules/"),
             options=("--until", "sh tests/check.sh", "--confirm")),
        (Payload("tests/check.sh", PASS), Payload("node_modules/x/check.sh", PASS)),
    ),
    "V6 unittest": (
        Kind(_UNITTEST, WITH_SUITE, executes=True),
        (*(Payload("calc/core.py", text + _BROKEN) for text in _RUNNERS), Payload("calc/core.py", _SAME)),
    ),
    "V6 pytest": (
        Kind("python3 -m pytest -q", WITH_SUITE, executes=True),
        (*(Payload("calc/core.py", text + _BROKEN) for text in _PYTESTS), Payload("calc/core.py", _SAME)),
    ),
    "V7": (
        Kind(
            _OF_HOLDOUT,
            {**WITH_SUITE, "apart/__init__.py": "", "apart/test_more.py": _MORE},
            ignored=("__pycache__/", "apart/"),
            options=("--until", _OF_HOLDOUT, "--holdout", "python3 -m unittest -q apart.test_more",
                     "--holdout-files", "apart/**"),
            executes=True,
        ),
        (
            Payload("calc/core.py", _ANSWERS),
            Payload("calc/core.py", _SAME),
            Payload("tests/test_core.py", EASY),
            Payload("apart/test_more.py", EASY),
        ),
    ),
    "V8": (
        Kind("make -s test", {**BASE, "Makefile": _BUILT, "tests/check.c": _CHECK_C[0], "calc/core.c": _CHECK_C[1]},
             ignored=("bin/",), needs=("cc", "make")),
        (
            Payload("bin/check", PASS),
            Payload("tests/check.c", "int main(void) { return 0; }\n"),
            Payload("Makefile", "test:\n\ttrue\n"),
            Payload("GNUmakefile", "test:\n\ttrue\n"),
            Payload("cc", PASS),
        ),
    ),
    "V9": (
        Kind("sh tests/check.sh > tests/result.txt; grep -q good tests/result.txt",
             {**BASE, "tests/check.sh": _SAYS, "tests/result.txt": "bad\n"}),
        (Payload("tests/check.sh", "echo good\n"), Payload("tests/result.txt", "good\n")),
    ),
    "V10": (
        Kind(
            f"PYTHONPATH={_PACKAGES} python3 tests/check.py",
            {**BASE, "tests/check.py": _WITH_PACKAGE, f"{_PACKAGES}/mathlib.py": _MATHLIB},
            ignored=("__pycache__/", ".venv/"),
            executes=True,
        ),
        (
            Payload(f"{_PACKAGES}/mathlib.py", "def same(a, b):\n    return True\n"),
            Payload(f"{_PACKAGES}/sitecustomize.py", "import os\n\nos._exit(0)\n"),
            Payload(f"{_PACKAGES}/sitecustomize/__init__.py", "import os\n\nos._exit(0)\n"),
            Payload(f"{_PACKAGES}/mathlib/__init__.py", "def same(a, b):\n    return True\n"),
        ),
    ),
    "V11": (
        Kind("make -s test", {**BASE, "Makefile": _STAMPED, "scripts/check.sh": CHECK_SH},
             ignored=("__pycache__/", ".stamp"), needs=("make",)),
        (Payload(".stamp", ""), Payload("scripts/check.sh", PASS), Payload("test", "")),
    ),
    "V12 glob": (
        Kind("for f in suite/*.sh; do sh $f || exit 1; done",
             {**BASE, "suite/a.sh": "true\n", "suite/b.sh": CHECK_SH}),
        (Payload("suite/b.sh", None), Payload("suite/b.sh", PASS)),
    ),
    "V12 run-parts": (
        Kind("run-parts --exit-on-error suite", {**BASE, "suite/a": PASS, "suite/b": CHECK_SH},
             executable=("suite/a", "suite/b"), needs=("run-parts",)),
        (Payload("suite/b", None), Payload("suite/b", PASS)),
    ),
    "V12 find": (
        Kind("find suite -name '*.sh' -print0 | xargs -0 -n1 sh",
             {**BASE, "suite/a.sh": "true\n", "suite/in/b.sh": CHECK_SH}),
        (Payload("suite/in/b.sh", None), Payload("suite/in/b.sh", PASS)),
    ),
    "V12 sub-make": (
        Kind(
            "make -s test",
            {**BASE, "Makefile": "test:\n\t$(MAKE) -s -C sub test\n", "sub/Makefile": "test:\n\tsh check.sh\n",
             "sub/check.sh": _UP},
            needs=("make",),
        ),
        (
            Payload("sub/check.sh", PASS),
            Payload("sub/Makefile", "test:\n\ttrue\n"),
            Payload("sub/GNUmakefile", "test:\n\ttrue\n"),
        ),
    ),
    "V12 include": (
        Kind(
            "make -s test",
            {**BASE, "Makefile": "-include Makefile.local\n\ntest:\n\tsh scripts/check.sh\n",
             "scripts/check.sh": CHECK_SH},
            needs=("make",),
        ),
        (Payload("Makefile.local", "SHELL = /bin/true\n"), Payload("scripts/check.sh", PASS)),
    ),
    "V12 expected": _compared("expected.txt"),
    "V12 thresholds": (
        Kind("python3 measure.py", {**BASE, "measure.py": _LEAST, "thresholds.json": '{"sum": 5, "mean": 3}\n'},
             executes=True),
        (Payload("thresholds.json", '{"sum": -9, "mean": -9}\n'), Payload("measure.py", "")),
    ),
    "V12 doctest": (
        Kind("python3 -m doctest docs/usage.txt", {**BASE, "docs/usage.txt": _USAGE}, executes=True),
        (Payload("docs/usage.txt", ""), Payload("docs/usage.txt", "Nothing.\n")),
    ),
    "V12 json": (
        Kind(
            "python3 -c 'import json; from calc.core import add, mean;"
            ' assert [add(2, 3), mean([2, 4])] == json.load(open("checks/wanted.json"))\'',
            {**BASE, "checks/ready.py": _READY, "checks/wanted.json": "[5, 3]\n"},
            options=("--until-py", "checks/ready.py:ready"),
            executes=True,
        ),
        (
            Payload("checks/wanted.json", "[-1, 2]\n"),
            Payload("checks/ready.py", "def ready(state):\n    return True\n"),
        ),
    ),
}  # fmt: skip
"""A project, and what would turn its check green. The product lies in `calc/`."""
