import os
from pathlib import Path

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import Predicates, UserError
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.step.checks.verify import judge_file
from rundry.agent.verdict.predicates.python_predicate import judge_python
from rundry.agent.verdict.predicates.validate_predicates import validate_predicates


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


class TestFile:
    def test_it_exists_and_is_not_empty(self, workspace):
        assert not judge_file("out/report.txt", workspace).passed
        (workspace.root / "out").mkdir()
        (workspace.root / "out/report.txt").touch()
        assert judge_file("out/report.txt", workspace).detail == "out/report.txt is empty"
        (workspace.root / "out/report.txt").write_text("done")
        verdict = judge_file("out/report.txt", workspace)
        assert (verdict.name, verdict.passed) == ("until-file out/report.txt", True)

    def test_a_folder_is_not_a_file(self, workspace):
        (workspace.root / "out").mkdir()
        assert judge_file("out", workspace).detail == "out is not a file"

    def test_a_name_that_no_file_can_have_is_not_a_traceback(self, workspace):
        assert not judge_file("x" * 5_000, workspace).passed


class TestPython:
    async def ask(self, workspace, source, state=None, *, timeout=20.0, env=None, **kind):
        (workspace.root / "checks").mkdir(exist_ok=True)
        (workspace.root / "checks" / "ready.py").write_text(source)
        return await judge_python(
            "checks/ready.py:ready",
            workspace,
            state or {},
            env=env if env is not None else command_env(os.environ),
            timeout=timeout,
            **{"sandbox": Sandbox(), **kind},
        )

    async def test_it_gets_the_state_and_its_word_counts(self, workspace):
        source = "def ready(state):\n    return state['steps'] > 2, f\"{state['answer']} after {state['steps']}\"\n"
        verdict = await self.ask(workspace, source, {"steps": 3, "answer": "ok"})
        assert (verdict.name, verdict.passed, verdict.detail) == ("until-py checks/ready.py:ready", True, "ok after 3")
        assert not (await self.ask(workspace, source, {"steps": 1, "answer": "ok"})).passed

    async def test_what_lies_next_to_it_can_be_imported(self, workspace):
        (workspace.root / "checks").mkdir()
        (workspace.root / "checks" / "beside.py").write_text("yes = True\n")
        verdict = await self.ask(workspace, "import beside\ndef ready(state): return beside.yes\n")
        assert verdict.passed, verdict.detail

    async def test_what_it_prints_does_not_matter(self, workspace):
        source = (
            "import sys\nprint('[true, \"x\"]')\ndef ready(state):\n    sys.stdout.write('tail')\n    return False\n"
        )
        verdict = await self.ask(workspace, source)
        assert (verdict.passed, verdict.detail) == (False, "it returned False")

    @pytest.mark.parametrize(
        ("source", "says"),
        [
            ("def ready(state): raise ValueError('no such thing')\n", "ValueError: no such thing"),
            ("def ready(state): return 'yes'\n", "it returned str"),
            ("def ready(state): return None\n", "it returned NoneType"),
            ("async def ready(state): return True\n", "it returned coroutine"),
            ("def other(state): return True\n", "no function `ready`"),
            ("def ready(state) return True\n", "SyntaxError"),
            ("def ready(state): exit(0)\n", "exit(0)"),
            ("def ready(state):\n    import os\n    os._exit(0)\n", "without a verdict"),
        ],
    )
    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    async def test_anything_but_true_is_a_no_with_its_reason(self, workspace, source, says):
        verdict = await self.ask(workspace, source)
        assert not verdict.passed
        assert says in verdict.detail

    async def test_a_time_out_is_named(self, workspace):
        verdict = await self.ask(workspace, "import time\ndef ready(state): time.sleep(30)\n", timeout=0.5)
        assert (verdict.passed, verdict.detail) == (False, "it timed out after 0.5 s")

    async def test_it_sees_no_key_and_none_of_this_process(self, workspace):
        env = command_env(
            {**os.environ, "OPENAI_API_KEY": "sk-canary-0123456789"}, provider_key_names=["OPENAI_API_KEY"]
        )
        source = (
            "import os, sys\ndef ready(state): return 'canary' in str(os.environ) or 'rundry.agent' in sys.modules\n"
        )
        verdict = await self.ask(workspace, source, env=env)
        assert (verdict.passed, verdict.detail) == (False, "it returned False")

    async def test_it_leaves_nothing_behind(self, workspace):
        await self.ask(workspace, "def ready(state): return True\n")
        assert sorted(p.name for p in (workspace.root / "checks").iterdir()) == ["ready.py"]

    async def test_it_can_run_in_the_sandbox(self, workspace):
        sandbox = await Sandbox.detect()
        verdict = await self.ask(workspace, "def ready(state): return state['n'] == 1\n", {"n": 1}, sandbox=sandbox)
        assert verdict.passed, verdict.detail


def wrong(predicates: Predicates, root: Path) -> str:
    """Why one of them could never hold, or an empty text if all could."""
    try:
        validate_predicates(predicates, root)
    except UserError as error:
        return str(error)
    return ""


class TestUsable:
    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"until_py": ["ready.py"]}, "FILE:function"),
            ({"until_py": ["ready.py:no function"]}, "FILE:function"),
            ({"until_py": ["gone.py:ready"]}, "the file gone.py does not exist"),
            ({"schema": "gone.json"}, "--schema .*gone.json: there is no such file; name a file with a JSON Schema"),
            ({"schema": "folder"}, "--schema .*folder: it is a folder; name a file with a JSON Schema"),
            ({"schema": "broken.json"}, "--schema .*not JSON"),
            ({"until_py": ["p.py:nof"]}, r"p.py:nof: the file has no `nof`; write FILE:function \(its names: a, os\)"),
            ({"until_py": ["empty.py:nof"]}, "its names: none"),
            ({"until_py": ["broken.py:ready"]}, "broken.py:ready: syntax error in line 2"),
            ({"schema": "odd.json"}, "not a valid JSON Schema"),
            ({"schema": "list.json"}, "is an object"),
            ({"require": ["not a tool:x"]}, "TOOL:TEXT"),
            ({"require": ["run_command:pytest && ruff"]}, "one --require for each program"),
            ({"require": ["run_command:$TESTS"]}, "not one plain command"),
            ({"until": ["  "]}, "empty"),
            ({"until_file": [""]}, "empty"),
        ],
    )
    def test_a_predicate_that_could_never_hold_is_refused_before_the_run(self, tmp_path, given, says):
        (tmp_path / "broken.json").write_text("{")
        (tmp_path / "odd.json").write_text('{"type": 7}')
        (tmp_path / "folder").mkdir()
        (tmp_path / "p.py").write_text("def a(state):\n    def nof(): ...\nimport os.path\n")
        (tmp_path / "empty.py").write_text("")
        (tmp_path / "broken.py").write_text("a = 1\ndef ready(:\n")
        (tmp_path / "list.json").write_text("[]")
        with pytest.raises(UserError, match=says):
            validate_predicates(Predicates(**given), tmp_path)

    @pytest.mark.parametrize(
        "text",
        [
            "def f(s): ...",
            "async def f(s): ...",
            "f = lambda s: True",
            "g, (f, *h) = made()",
            "f: object = print",
            "from x import g as f",
            "from x import *",
            "if True:\n    try:\n        import f\n    except ImportError: ...",
            "class f: ...",
            "def set_up():\n    global f\n    f = print\nset_up()",
            "def __getattr__(name): ...",
        ],
    )
    def test_a_function_that_the_file_may_have_is_not_refused(self, tmp_path, text):
        (tmp_path / "p.py").write_text(text)
        assert wrong(Predicates(until_py=["p.py:f"]), tmp_path) == ""

    def test_a_usable_one_is_not(self, tmp_path):
        (tmp_path / "ready.py").write_text("def ready(state): return True")
        (tmp_path / "s.json").write_text("{}")
        usable = Predicates(until=["true"], until_py=["ready.py:ready"], schema="s.json", require=["run_command:x"])
        assert wrong(usable, tmp_path) == ""
