"""A runner that finds its tests itself depends on what they import, as one that is given a test does."""

from pathlib import Path

import pytest

from rundry.agent.protocol import Predicates
from rundry.agent.stops.guard import Guard, default_guard

FILES = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "test/a.test.js": "require('./helper'); require('../src/work'); require('dep')",
    "test/helper/index.js": "",
    "src/work.js": "",
    "src/work.test.js": "import w from './work'; import './validate'; import './test-helpers'",
    "src/validate.js": "",
    "src/test-helpers.js": "",
    "node_modules/dep/index.js": "",
    "pkg/__init__.py": "",
    "pkg/core.py": "",
    "pkg/test/test_core.py": "from pkg import core\nfrom pkg.test import cases\n",
    "pkg/test/cases.py": "",
    "lib/sum.py": "",
    "lib/sum_test.py": "import sum\nimport sum_fixtures\n",
    "lib/sum_fixtures.py": "",
    "venv/pyvenv.cfg": "",
    "venv/lib/site/tests/test_x.py": "import work_of_another\n",
}


@pytest.fixture
def guard(tmp_path: Path, request: pytest.FixtureRequest) -> Guard:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return default_guard(Predicates(until=[request.param]), "make it work", tmp_path)


CHECKS = ["npm test", "node --test", "npx jest", "python3 -m pytest -q", "make check"]


@pytest.mark.parametrize("guard", CHECKS, indirect=True)
@pytest.mark.parametrize(
    "path",
    [
        "test/helper/index.js",
        "test/helper.js",
        "test/helper.json",
        "src/test-helpers.js",
        "node_modules/dep/index.js",
        "pkg/test/cases.py",
        "pkg/test/cases/__init__.py",
    ],
)
def test_helpers_of_tests_are_guarded_whether_they_exist_or_not(guard: Guard, path: str):
    assert guard.matches(path)


@pytest.mark.parametrize("guard", CHECKS, indirect=True)
@pytest.mark.parametrize("path", ["src/work.js", "src/validate.js", "src/new.js", "pkg/core.py", "lib/sum.py"])
def test_code_under_test_is_not(guard: Guard, path: str):
    assert not guard.matches(path)


@pytest.mark.parametrize("guard", ["python3 -m pytest -q"], indirect=True)
def test_tests_of_an_installed_environment_are_not_followed(guard: Guard):
    assert [path for path in guard.files if path.startswith("venv/lib/site/tests")] == []
