import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from rundry.agent.protocol import Predicates, Refusal
from rundry.agent.step.checks.sealing import capture
from rundry.agent.stops.executed import executed_files
from rundry.agent.stops.guard import default_guard, named_files
from rundry.agent.workspace.seals.seals import Seals


def guard(root, *until, task="make it work", **more):
    return default_guard(Predicates(until=list(until), **more), task, root)


class TestByDefault:
    @pytest.mark.parametrize(
        "path",
        [
            "tests/data/x.json",
            "pkg/tests/x.py",
            "test_calc.py",
            "src/test_calc.py",
            "calc_test.go",
            "web/calc.test.ts",
            "web/calc.spec.ts",
            "conftest.py",
            "sub/conftest.py",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
            "pytest.ini",
            "package.json",
            "web/package.json",
            "Makefile",
            "Cargo.toml",
            "go.mod",
            ".github/workflows/ci.yml",
            ".gitlab-ci.yml",
            "./src/../tests/x.py",
            "Tests/X.py",
        ],
    )
    def test_tests_configuration_and_ci_are_guarded(self, tmp_path, path):
        assert guard(tmp_path, "pytest -q").matches(path)

    @pytest.mark.parametrize(
        "path", ["src/calc.py", "README.md", "contest.py", "src/latest.py", "testing.py", "report.txt", "attests/x.py"]
    )
    def test_the_work_itself_is_not(self, tmp_path, path):
        assert not guard(tmp_path, "pytest -q").matches(path)

    def test_a_run_without_a_check_guards_nothing(self, tmp_path):
        assert not guard(tmp_path).matches("tests/x.py")
        assert not guard(tmp_path, until_file=["report.txt"]).matches("tests/x.py")

    def test_data_that_the_check_only_reads_is_not_guarded(self, tmp_path):
        (tmp_path / "report.txt").write_text("x")
        assert not guard(tmp_path, "grep -q DONE report.txt").matches("report.txt")
        assert not guard(tmp_path, "diff out.txt expected.txt && test -s report.txt").matches("out.txt")
        assert not guard(tmp_path, "python3 tools/verify.py report.txt < in.txt").matches("report.txt")

    def test_a_predicate_in_python_and_the_schema_are_guarded(self, tmp_path):
        found = guard(tmp_path, until_py=["checks/ready.py:ready"], schema="answer.schema.json")
        assert found.matches("checks/ready.py")
        assert found.matches("answer.schema.json")
        assert not found.matches("checks/other.py")


class TestWhatTheUserSays:
    def test_what_the_task_names_is_not_guarded(self, tmp_path):
        found = guard(tmp_path, "bash check.sh", task="Write tests/test_calc.py, extend `check.sh` and the Makefile.")
        assert not found.matches("tests/test_calc.py")
        assert not found.matches("check.sh")
        assert not found.matches("Makefile")
        assert found.matches("tests/test_other.py")

    def test_a_name_alone_stands_for_the_file_wherever_it_lies(self, tmp_path):
        found = guard(tmp_path, "pytest", task="fix conftest.py please")
        assert not found.matches("tests/conftest.py")
        assert found.matches("tests/xconftest.py")

    def test_a_folder_that_the_task_names_stays_guarded(self, tmp_path):
        assert guard(tmp_path, "pytest", task="make the tests in tests/ pass").matches("tests/test_a.py")

    def test_a_word_is_not_a_file(self, tmp_path):
        (tmp_path / "check").write_text("exit 1\n")
        assert guard(tmp_path, "bash check", task="make the check pass").matches("check")

    def test_an_absolute_path_names_it_too(self, tmp_path):
        assert not guard(tmp_path, "pytest", task=f"edit {tmp_path}/tests/test_a.py:12").matches("tests/test_a.py")

    def test_more_can_be_guarded(self, tmp_path):
        found = guard(tmp_path, "pytest", guard=["data/*.csv", "golden.txt"], task="see golden.txt")
        assert found.matches("data/a.csv")
        assert found.matches("deep/golden.txt")
        assert found.matches("tests/a.py")
        assert not found.matches("data/a.txt")

    def test_more_can_be_guarded_without_a_check(self, tmp_path):
        assert guard(tmp_path, guard=["data/**"]).matches("data/x/y")

    def test_none_switches_it_off(self, tmp_path):
        found = guard(tmp_path, "bash check.sh", guard=["none"])
        assert not found.matches("tests/test_a.py")
        assert not found.matches("check.sh")

    def test_none_with_a_glob_leaves_the_glob(self, tmp_path):
        found = guard(tmp_path, "pytest", guard=["none", "golden.txt"])
        assert found.matches("golden.txt")
        assert not found.matches("tests/test_a.py")


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("bash check.sh", "check.sh"),
        ("bash -eu check.sh --fast", "check.sh"),
        ("sh ./tools/check", "tools/check"),
        ("./check.sh", "check.sh"),
        ("tools/verify --all", "tools/verify"),
        ("python tools/verify.py", "tools/verify.py"),
        ("python3.11 -W error -B tools/verify.py x", "tools/verify.py"),
        ("FOO=1 BAR='a b' python3 -u verify.py", "verify.py"),
        ("env -u X A=1 timeout -k 5 30s nice -n 5 ./check.sh", "check.sh"),
        ("uv run --frozen python verify.py", "verify.py"),
        ("poetry run ./check.sh", "check.sh"),
        ("node scripts/check.mjs", "scripts/check.mjs"),
        ("node --test checks/a.js checks/b.js", "checks/b.js"),
        ("npx tsx checks/verify.ts", "checks/verify.ts"),
        ("ruby -w check.rb", "check.rb"),
        ("source checks/env.sh && true", "checks/env.sh"),
        (". ./env.sh", "env.sh"),
        ("make -s all && bash 'my check.sh'", "my check.sh"),
        ("! ./check.sh", "check.sh"),
        ("if ./check.sh; then exit 0; fi", "check.sh"),
        ("( cd sub && ./check.sh )", "sub/check.sh"),
        ('test "$(python verify.py)" = ok', "verify.py"),
        ("cat x | ./check.sh | tail -n1", "check.sh"),
        ("for i in 1 2; do bash check.sh $i; done", "check.sh"),
        ("bash -c './check.sh && true'", "check.sh"),
        ('bash -lc "python verify.py"', "verify.py"),
        ('eval "./check.sh"', "check.sh"),
        ("$PWD/check.sh", "check.sh"),
        ('"$PYTHON" verify.py', "verify.py"),
        ("$HERE/check.sh", "**/check.sh"),
        ("pytest checks/verify_it.py::test_a -q", "checks/verify_it.py"),
        ("python -m pytest checks/verify_it.py", "checks/verify_it.py"),
        ("python -m tools.verify", "tools/verify.py"),
        ("python3 -m unittest -q", "unittest.py"),
        ("coverage run verify.py", "verify.py"),
        ("awk -f check.awk data.txt", "check.awk"),
        ("make", "Makefile"),
        ("make -C sub check", "sub/Makefile"),
        ("make -f build/own.mk", "build/own.mk"),
        ("npm test", "package.json"),
        ("yarn run verify", "package.json"),
        ("just check", "justfile"),
        ("tox -q", "tox.ini"),
        ("cargo test", "Cargo.toml"),
        ("go run check.go", "check.go"),
        ("cmake --build . && ctest", "CMakeLists.txt"),
    ],
)
def test_the_script_that_a_check_executes_is_found(tmp_path, command, script):
    assert script in executed_files(command, tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "",
        "grep -q x report.txt",
        "test -f a.py",
        "cat check.sh",
        "python -c 'import x'",
        "bash -c true",
        "((",
        "a ' b",
    ],
)
def test_where_nothing_of_the_workspace_is_executed_there_is_none(tmp_path, command):
    assert executed_files(command, tmp_path) == set()


def test_a_script_outside_of_the_workspace_is_nobodys(tmp_path):
    assert executed_files("/usr/bin/true && ../x.sh && bash /opt/check.sh", tmp_path) == set()


def test_an_absolute_path_into_the_workspace_is_found(tmp_path):
    assert executed_files(f"bash {tmp_path}/check.sh", tmp_path) == {"check.sh"}


def test_the_file_behind_a_link_is_guarded_with_the_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "verify.sh").write_text("exit 1\n")
    (tmp_path / "check.sh").symlink_to("real/verify.sh")
    assert executed_files("bash check.sh", tmp_path) == {"check.sh", "real/verify.sh"}


def test_a_script_that_does_not_exist_yet_is_guarded(tmp_path):
    assert guard(tmp_path, "./check.sh").matches("check.sh")


class TestScriptsOfScripts:
    def test_what_a_shell_script_calls(self, tmp_path):
        (tmp_path / "check.sh").write_text("#!/usr/bin/env bash\nset -e\npython tools/verify.py\nbash more.sh\n")
        (tmp_path / "more.sh").write_text("node last.js\n")
        found = executed_files("./check.sh", tmp_path)
        assert {"check.sh", "tools/verify.py", "more.sh", "last.js"} == found

    def test_what_a_script_without_a_name_for_it_calls(self, tmp_path):
        (tmp_path / "check").write_text("./inner.sh\n")
        assert "inner.sh" in executed_files("bash check", tmp_path)

    def test_a_python_script_is_not_read_as_bash(self, tmp_path):
        (tmp_path / "verify.py").write_text("./oops.sh\n")
        assert executed_files("python verify.py", tmp_path) == {"verify.py"}

    def test_what_a_package_script_calls(self, tmp_path):
        (tmp_path / "package.json").write_text(
            '{"scripts": {"pretest": "bash setup.sh", "test": "node checks/run.js", "start": "node server.js"}}'
        )
        found = executed_files("npm test", tmp_path)
        assert {"package.json", "setup.sh", "checks/run.js"} == found
        assert "server.js" in executed_files("npm run start", tmp_path)

    def test_what_the_targets_recipe_calls_and_what_it_needs(self, tmp_path):
        (tmp_path / "Makefile").write_text(
            "PY := python3\n"
            ".PHONY: check run\n"
            "run:\n\t$(PY) app.py\n"
            "check: lint ## checks\n\t@$(PY) tools/verify.py \\\n\t  --all\n"
            "lint:\n\t-bash tools/lint.sh\n\tfor f in *.c; do ./one.sh $$f; done\n"
        )
        found = executed_files("make check", tmp_path)
        assert {"tools/verify.py", "tools/lint.sh", "one.sh", "Makefile"} <= found
        assert "app.py" not in found
        assert "app.py" in executed_files("make", tmp_path)

    def test_scripts_that_call_each_other_come_to_an_end(self, tmp_path):
        (tmp_path / "a.sh").write_text("bash b.sh\n")
        (tmp_path / "b.sh").write_text("bash a.sh\n")
        assert executed_files("bash a.sh", tmp_path) == {"a.sh", "b.sh"}

    def test_broken_files_are_not_a_traceback(self, tmp_path):
        (tmp_path / "package.json").write_text("{")
        (tmp_path / "Makefile").write_bytes(b"\xff\xfe\x00:\n\t\xff")
        os.mkfifo(tmp_path / "check.sh")
        assert executed_files("npm test; make; bash check.sh", tmp_path) >= {"package.json", "Makefile", "check.sh"}


def test_files_are_told_from_words_in_a_task():
    task = (
        "Fix src/calc.py:12 (see http://x.org/a.py), e.g. `a b/c.txt`, the makefile, .env.example. Not tests/ itself."
    )
    found = set(named_files(task))
    assert {"src/calc.py", "makefile", ".env.example", "b/c.txt"} <= found
    assert not any(name.startswith(("tests", "http", "Fix", "Not")) for name in found)


@given(st.text(max_size=200), st.text(max_size=200))
def test_each_command_and_each_task_gives_an_answer(command, task):
    assert isinstance(default_guard(Predicates(until=[command]), task).matches("src/a.py"), bool)


@given(st.text("abc.*?[]!\\# /\t", min_size=1, max_size=20))
def test_odd_names_are_guarded_as_they_are(name):
    found = executed_files("bash '" + name + "'", Path("/nonexistent"))
    for path in found:
        assert default_guard(Predicates(until=["bash '" + name + "'"]), "x").matches(path), path


async def test_a_folder_with_more_files_than_the_guard_can_watch_is_refused_in_one_line(tmp_path: Path):
    for name in ("a.py", "b.py", "test_c.py"):
        (tmp_path / name).write_text("")
    few = Seals(tmp_path, lambda path: path.startswith("test_"), lambda data: "", most_names=2)
    with pytest.raises(Refusal) as refused:
        await capture(few, [])
    assert str(refused.value) == (
        f"{tmp_path} has more than 2 files, so the guard of the check cannot watch them all: "
        "name a smaller folder with --cwd, or use --guard none"
    )
    enough = Seals(tmp_path, lambda path: path.startswith("test_"), lambda data: "", most_names=3)
    await capture(enough, [])
    assert (enough.existing, enough.listed) == (["test_c.py"], 3)
