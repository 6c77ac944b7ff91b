"""What options, a goal, a migration and a first check make of the scope, and the words for it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import msgspec
import pytest
from verdict.scope.test_projects import made, scope_in

from rundry.agent.protocol import FinderSpec, LoopKind, ModelSpec, Predicates, Recipe, RunSpec
from rundry.agent.settings.scope_globs import scope_problem
from rundry.agent.verdict.scope.run_scope import scope_option
from rundry.agent.verdict.scope.scope import Scope
from rundry.agent.verdict.scope.start_scope import module_names_of, scope_of

FILES = {
    "pyproject.toml": "",
    "src/calc.py": "",
    "src/page.html": "",
    "tests/test_calc.py": "import calc\n",
    "docs/guide.md": "",
}
CHECK = "python3 -m pytest -q"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made(tmp_path, FILES)


class TestOptions:
    def test_scope_adds_files_and_keeps_the_sources(self, root: Path):
        scope = scope_in(root, CHECK, scope=["docs/**", "CHANGELOG.md"])
        assert scope.in_scope("docs/guide.md", new=False)
        assert scope.in_scope("CHANGELOG.md", new=True)
        assert scope.in_scope("src/calc.py", new=False)
        assert not scope.in_scope("tests/test_calc.py", new=False)

    def test_an_absolute_glob_means_the_same(self, root: Path):
        scope = scope_in(root, CHECK, scope=[f"{root}/docs/**"])
        assert scope.in_scope("docs/guide.md", new=False)

    def test_guard_takes_files_away_also_from_what_scope_added(self, root: Path):
        scope = scope_in(root, CHECK, scope=["docs/**"], guard=["docs/guide.md", "src/page.*"])
        assert scope.why_out("docs/guide.md", new=False) == "taken away with --guard"
        assert not scope.in_scope("src/page.html", new=False)
        assert scope.in_scope("docs/more.md", new=True)
        assert scope.in_scope("src/calc.py", new=False)

    def test_guard_none_puts_everything_into_the_scope_but_git(self, root: Path):
        scope = scope_in(root, CHECK, guard=["none", "docs/**"])
        assert scope.in_scope("tests/test_calc.py", new=False)
        assert scope.in_scope("pyproject.toml", new=False)
        assert not scope.in_scope("docs/guide.md", new=False)
        assert not scope.in_scope(".git/config", new=False)
        assert not scope.in_scope("sub/.git/hooks/pre-commit", new=True)

    @pytest.mark.parametrize(
        ("path", "is_widened"),
        [("tests/test_calc.py", True), ("pyproject.toml", True), ("docs/guide.md", True), ("src/calc.py", False)],
    )
    def test_the_grade_is_lower_where_scope_added_what_can_decide(self, root: Path, path: str, is_widened: bool):
        scope = scope_in(root, CHECK, scope=["tests/**", "*.toml", "docs/**", "src/**"])
        assert scope.in_scope(path, new=False)
        assert scope.is_widened(path, new=False) is is_widened

    def test_the_grade_is_lower_for_what_only_guard_none_allows(self, root: Path):
        scope = scope_in(root, CHECK, guard=["none"])
        assert scope.is_widened("tests/test_calc.py", new=False)

    def test_a_person_adds_globs_later(self, root: Path):
        scope = scope_in(root, CHECK).with_added(["docs/**"])
        assert scope.in_scope("docs/guide.md", new=False)
        assert scope.added == ("docs/**",)

    @pytest.mark.parametrize("glob", ["", " ", "!tests", "a/[z-a", "\n"])
    def test_a_text_that_cannot_be_a_glob_is_refused_in_one_line(self, glob: str):
        refused = scope_problem(["docs/**", glob])
        assert refused is not None
        assert "\n" not in refused


class TestGoals:
    def test_files_that_a_goal_names_are_in_the_scope(self, root: Path):
        scope = scope_in(root, CHECK, until_file=["build/report.csv", str(root / "tests/out.txt")])
        assert scope.in_scope("build/report.csv", new=True)
        assert scope.in_scope("tests/out.txt", new=True)
        assert not scope.in_scope("tests/other.txt", new=True)

    @pytest.mark.parametrize(("compared", "is_result"), [("want.txt", True), ("absent.txt", False)])
    def test_a_missing_file_is_a_result_only_if_it_is_compared_with_a_file_of_the_start(
        self, tmp_path: Path, compared: str, is_result: bool
    ):
        made(tmp_path, {"want.txt": "", "show.py": ""})
        scope = scope_in(tmp_path, f"python3 show.py && diff got.txt {compared}")
        assert scope.in_scope("got.txt", new=True) is is_result
        assert not scope.in_scope(compared, new=True)

    @pytest.mark.parametrize("check", ["test -f done", "[ -s done ]", "[[ -e done && 1 = 1 ]]"])
    def test_a_missing_file_that_the_check_tests_for_is_a_result_by_any_name(self, tmp_path: Path, check: str):
        scope = scope_in(tmp_path, check)
        assert scope.in_scope("done", new=True) and not scope.in_scope("other", new=True)

    def test_files_that_the_task_is_about_are_in_the_scope_with_the_full_grade(self, tmp_path: Path):
        made(tmp_path, {"a.txt": "", "{x}[1]*.csv": "", "{x}[1]2.csv": "", "b.txt": ""})
        about = ["a.txt", str(tmp_path / "{x}[1]*.csv"), "../b.txt"]
        scope = scope_in(tmp_path, "grep -q good a.txt", about=about)
        for path in ("a.txt", "{x}[1]*.csv"):
            assert scope.in_scope(path, new=False) and not scope.is_widened(path, new=False)
        assert not scope.in_scope("{x}[1]2.csv", new=False)
        assert not scope.in_scope("b.txt", new=False)

    def test_tests_and_what_the_check_runs_stay_out_even_if_the_task_is_about_them(self, tmp_path: Path):
        about = ["tests/data.txt", "verify.py", "verify", "pyproject.toml", "conftest.py"]
        made(tmp_path, {**dict.fromkeys(about, ""), "verify": "#!/bin/sh\n"})
        scope = scope_in(tmp_path, "python3 verify.py && ./verify && pytest -q", about=about)
        assert [path for path in about if scope.in_scope(path, new=False)] == []

    def test_a_predicate_in_python_and_what_it_imports_decide(self, tmp_path: Path):
        made(tmp_path, {"goal.py": "import rules\nimport json\n", "rules.py": "", "src/calc.py": "", "sub/x.py": ""})
        scope = scope_in(tmp_path, "true", until=[], until_py=["goal.py:done"])
        assert not scope.in_scope("goal.py", new=False)
        assert not scope.in_scope("rules.py", new=False)
        assert not scope.in_scope("rules/__init__.py", new=True)
        assert not scope.in_scope("json.py", new=True)
        assert scope.in_scope("src/calc.py", new=False)

    def test_the_schema_of_the_answer_decides(self, root: Path):
        scope = scope_in(root, CHECK, schema="answer.js")
        assert scope.why_out("answer.js", new=False) == "the schema of the answer"

    def test_a_required_command_decides_like_a_check(self, tmp_path: Path):
        made(tmp_path, {"judge_it.py": "", "calc.py": ""})
        scope = scope_in(tmp_path, "true", require=["run_command:python3 judge_it.py"])
        assert not scope.in_scope("judge_it.py", new=False)
        assert scope.in_scope("calc.py", new=False)

    def test_a_task_that_names_a_test_does_not_free_it(self, root: Path):
        predicates = Predicates(until=[CHECK])
        spec = RunSpec(
            run_id="r", loop=LoopKind.GOAL, task="make tests/test_calc.py pass", workspace=str(root),
            model=ModelSpec(name="none"), predicates=predicates,
        )  # fmt: skip
        assert not scope_of(spec, root, {}).in_scope("tests/test_calc.py", new=False)


class TestNamesOfJudges:
    """A neutral name stands for the program under test."""

    @pytest.mark.parametrize(
        ("check", "path"),
        [
            ("cc -Isrc -o /tmp/verify verify.c src/*.c && /tmp/verify", "verify.c"),
            ("g++ -o run checks/all.cc src/calc.cc && ./run", "checks/all.cc"),
            ("rustc checks.rs -o run && ./run", "checks.rs"),
            ("python3 -c 'import checks; checks.main()'", "checks.py"),
            ("node -e 'require(\"./checks\")'", "checks.js"),
            ("perl -Ilib -MChecks -e run", "lib/Checks.pm"),
            ("sqlite3 :memory: < checks.sql", "checks.sql"),
            ("sqlite3 shop.db '.read checks.sql'", "checks.sql"),
        ],
    )
    def test_what_is_compiled_or_loaded_with_such_a_name_is_out(self, tmp_path: Path, check: str, path: str):
        made(tmp_path, {path: "", "src/calc.c": "", "src/calc.cc": ""})
        assert scope_in(tmp_path, check).why_out(path, new=False) == "the check runs it"

    @pytest.mark.parametrize(
        ("check", "path"),
        [
            ("cc -o run src/validate.c src/main.c && ./run", "src/validate.c"),
            ("ruff check validate.py", "validate.py"),
            ("python3 -m py_compile validate.py", "validate.py"),
            ("python3 -c 'from shop import total; assert total() == 3'", "shop.py"),
            ("python3 validate.py < in.txt | diff - out.txt", "other.py"),
        ],
    )
    def test_the_code_under_test_is_in(self, tmp_path: Path, check: str, path: str):
        made(tmp_path, {path: "", "src/main.c": "", "in.txt": "", "out.txt": ""})
        assert scope_in(tmp_path, check).in_scope(path, new=False)


class TestComparedFolders:
    @pytest.mark.parametrize(
        "check",
        [
            "python3 build.py && diff -r site want",
            "python3 build.py && diff -ru want/ site/",
            "for page in want/*; do cmp $page site/${page#want/} || exit 1; done",
            "for page in a b; do cmp site/$page.html want/$page.html || exit 1; done",
        ],
    )
    def test_what_a_folder_is_compared_with_is_data(self, tmp_path: Path, check: str):
        made(tmp_path, {"build.py": "", "src/page.html": "", "want/a.html": "", "want/sub/b.html": ""})
        scope = scope_in(tmp_path, check)
        assert scope.why_out("want/a.html", new=False) == "data that the check compares with"
        assert scope.in_scope("src/page.html", new=False)


@pytest.mark.parametrize(
    "path",
    ["src/features.h", "include/stdc-predef.h", "include/bits/types.h", "lib/mro.pm", "lib/warnings/register.pm"],
)
def test_what_compilers_and_test_modules_load_themselves_cannot_be_new(tmp_path: Path, path: str):
    made(tmp_path, {"src/calc.c": "", "lib/Calc.pm": "", "tests/calc.c": "", "t/calc.t": ""})
    scope = scope_in(tmp_path, "make test && prove -l")
    assert scope.why_out(path, new=True) == "new, with the name of a library's module"


def test_packages_of_a_version_manager_cannot_be_replaced(tmp_path: Path):
    made(tmp_path, {"pyenv/versions/3.12.1/lib/python3.12/site-packages/iniconfig/__init__.py": ""})
    assert "iniconfig" in module_names_of(tmp_path, {"PATH": f"{tmp_path}/pyenv/shims:/bin"})


class TestMigration:
    def of(self, root: Path, check: str, globs: list[str]) -> Scope:
        finder = FinderSpec(recipe=Recipe.MIGRATE, check=check, globs=globs)
        spec = RunSpec(
            run_id="r",
            loop=LoopKind.UNTIL_DRY,
            task="t",
            workspace=str(root),
            model=ModelSpec(name="none"),
            finder=finder,
        )
        return scope_of(spec, root, {})

    def test_items_are_in_the_scope_whatever_they_are(self, tmp_path: Path):
        made(tmp_path, {"tests/test_a.py": "", "data/a.json": "", "judge.py": "", "src/b.py": ""})
        scope = self.of(tmp_path, "python3 judge.py {file}", ["tests/*.py", "data/*.json", "judge.py"])
        assert scope.in_scope("tests/test_a.py", new=False)
        assert scope.in_scope("data/a.json", new=False)
        assert scope.in_scope("src/b.py", new=False)
        assert not scope.in_scope("judge.py", new=False)
        assert not scope.in_scope("data/b.xml", new=False)


class TestFirstOutput:
    OUTPUTS = [
        ("pytest -q", "FAILED strange/proof.py::test_add - assert 1 == 2\n", "strange/proof.py"),
        ("pytest", "strange/proof.py ..F.                 [100%]\n", "strange/proof.py"),
        ("python3 -m unittest", '  File "{root}/strange/proof.py", line 3, in test_add\n', "strange/proof.py"),
        ("python3 -m unittest -v", "FAIL: test_add (strange.proof.Adding.test_add)\n", "strange/proof.py"),
        ("node --test", "# Subtest: a\n  location: '{root}/strange/proof.js:3:1'\n", "strange/proof.js"),
        ("npx jest", "FAIL strange/proof.jsx\n", "strange/proof.jsx"),
        ("npx vitest run", " ✓ strange/proof.ts (3 tests) 4ms\n", "strange/proof.ts"),
        ("npx mocha", "    at Context.<anonymous> (strange/proof.js:3:12)\n", "strange/proof.js"),
        ("rspec", "rspec ./strange/proof.rb:3 # adds\n", "strange/proof.rb"),
        ("ruby all.rb", "TestIt#test_add [strange/proof.rb:3]:\n", "strange/proof.rb"),
        ("prove -r strange", "strange/proof.pl .. ok\n", "strange/proof.pl"),
        ("busted strange", "Failure → strange/proof.lua @ 3\n", "strange/proof.lua"),
        ("phpunit strange", "{root}/strange/proof.php:12\n", "strange/proof.php"),
        ("./all", "strange/proof.cc:12: Failure\n", "strange/proof.cc"),
    ]

    @pytest.mark.parametrize(("check", "output", "path"), OUTPUTS)
    def test_a_file_that_the_first_check_printed_as_a_test_is_none_of_the_sources(
        self, tmp_path: Path, check: str, output: str, path: str
    ):
        made(tmp_path, {path: "", "calc.py": ""})
        scope = scope_in(tmp_path, "true").with_first_output(output.replace("{root}", str(tmp_path)), tmp_path)
        assert scope.why_out(path, new=False) == "the first check printed a test in it"
        assert scope.in_scope("calc.py", new=False)

    @pytest.mark.parametrize(
        "output",
        [
            'Traceback:\n  File "src/calc.py", line 3, in add\n',
            "src/calc.py:3: AssertionError\n",
            "src/calc.py:3:1: F401 unused import\n",
            "    at add (src/calc.js:3:1)\n",
            "src/calc.go:3:1: undefined: x\n",
            "thread 'tests::adds' panicked at src/lib.rs:3:5:\n",
            "     Running unittests src/lib.rs (target/debug/deps/x)\n",
            "src/calc.c:3:1: error: expected ';'\n",
            "error in src/page.ts: 3\n",
        ],
    )
    def test_a_place_in_the_code_under_test_is_not_a_test(self, tmp_path: Path, output: str):
        scope = scope_in(tmp_path, "true").with_first_output(output, tmp_path)
        for path in ("src/calc.py", "src/calc.js", "src/calc.go", "src/lib.rs", "src/calc.c", "src/page.ts"):
            assert scope.in_scope(path, new=False)

    def test_examples_in_docstrings_do_not_make_a_source_a_test(self, tmp_path: Path):
        made(tmp_path, {"src/calc.py": ""})
        scope = scope_in(tmp_path, "pytest --doctest-modules src")
        found = scope.with_first_output("src/calc.py .   [100%]\nFAILED src/calc.py::src.calc.add\n", tmp_path)
        assert found.in_scope("src/calc.py", new=False)

    def test_tests_inside_a_source_do_not_make_it_a_test(self, tmp_path: Path):
        made(tmp_path, {"src/calc.ts": "if (import.meta.vitest) {\n  it('a', () => {})\n}\n", "package.json": "{}"})
        scope = scope_in(tmp_path, "npx vitest run").with_first_output(" ✓ src/calc.ts (1 test)\n", tmp_path)
        assert scope.in_scope("src/calc.ts", new=False)

    def test_a_place_outside_of_the_workspace_is_nothing(self, tmp_path: Path):
        scope = scope_in(tmp_path, "true")
        assert scope.with_first_output("FAILED ../other/test_x.py::test_x\n", tmp_path) is scope


class TestFrozen:
    def test_the_scope_does_not_follow_the_workspace(self, root: Path):
        (root / ".gitignore").write_text("made/\n")
        stored = msgspec.json.encode(scope_in(root, CHECK))
        (root / ".gitignore").write_text("")
        (root / "pyproject.toml").unlink()
        scope = msgspec.json.decode(stored, type=Scope)
        assert scope.why_out("made/x.py", new=True) == "ignored by git"
        assert not scope.in_scope("pyproject.toml", new=True)

    def test_nested_ignore_rules_hold_where_they_stand(self, root: Path):
        made(root, {"src/.gitignore": "*.gen.py\n!keep.gen.py\n", ".gitignore": "/out\n"})
        scope = scope_in(root, CHECK)
        assert not scope.in_scope("src/a.gen.py", new=True)
        assert not scope.in_scope("src/deep/a.gen.py", new=True)
        assert scope.in_scope("src/keep.gen.py", new=True)
        assert scope.in_scope("a.gen.py", new=True)
        assert not scope.in_scope("out/a.py", new=True)
        assert scope.in_scope("src/out/a.py", new=True)

    def test_upper_and_lower_case_are_one_name_where_a_path_decides(self, root: Path):
        scope = scope_in(root, "python3 Judge.py")
        assert not scope.in_scope("judge.py", new=True)
        assert not scope.in_scope("JUDGE.PY", new=True)
        assert not scope.in_scope("TESTS/x.py", new=True)
        assert not scope.in_scope("Jest.Config.JS", new=True)

    def test_names_that_are_not_text_are_in_no_scope(self, root: Path):
        odd = os.fsdecode(b"src/\xff.py")
        (root / odd).write_text("")
        scope = msgspec.json.decode(msgspec.json.encode(scope_in(root, CHECK)), type=Scope)
        assert scope.why_out(odd, new=False) == "a name that is not text"


class TestWords:
    def test_the_line_names_the_sources_and_what_was_added(self, root: Path):
        line = scope_in(root, CHECK, scope=["docs/**"], until_file=["report.txt"]).line()
        assert line == (
            "May change: sources (*.html, *.py), report.txt, docs/**; tests, settings and what the check runs do not "
            "count until you accept them (/scope lists them)"
        )

    def test_a_missing_file_that_the_check_also_runs_is_not_in_the_scope(self, root: Path):
        scope = scope_in(root, "test -e out/suite || cp suite.sh out/suite; sh out/suite; grep -q x out/log.txt")
        assert "out/suite" not in scope.line() and "out/log.txt" in scope.line()
        assert not scope.in_scope("out/suite", new=True)

    def test_the_line_is_one_line_for_odd_names(self, root: Path):
        assert "\n" not in scope_in(root, CHECK, scope=["a\nb", *map(str, range(9))]).line()

    def test_the_line_of_guard_none(self, root: Path):
        assert scope_in(root, CHECK, guard=["none"]).line() == "May change: everything (--guard none)"

    def test_the_listing_has_all_reasons(self, root: Path):
        lines = scope_in(root, "bash check.sh && pytest -q", scope=["docs/**"], guard=["src/page.html"]).listing()
        text = "\n".join(lines)
        assert lines[0] == "May change: sources: *.html, *.py"
        assert "Added with --scope: docs/**" in text
        assert "The check runs it: check.sh" in text
        assert "Taken away with --guard: src/page.html" in text
        assert all("\n" not in line for line in lines)


class TestEarlierRuns:
    def test_what_an_undecided_file_named_before_still_decides(self, tmp_path: Path):
        made(
            tmp_path,
            {"package.json": '{"scripts": {"test": "true"}}', "tools/rule.js": "", "calc.js": "", "gone.js": ""},
        )
        before = {"package.json": '{"scripts": {"test": "node tools/rule.js"}}', "gone.js": "import 'node:test'"}
        predicates = Predicates(until=["npm test"])
        spec = RunSpec(
            run_id="r", loop=LoopKind.GOAL, task="t", workspace=str(tmp_path), model=ModelSpec(name="none"),
            predicates=predicates,
        )  # fmt: skip
        scope = scope_of(spec, tmp_path, {}, undecided=before)
        assert not scope.in_scope("tools/rule.js", new=False)
        assert not scope.in_scope("gone.js", new=False)
        assert not scope.in_scope("package.json", new=False)
        assert scope.in_scope("calc.js", new=False)


ODD = ["package.json", "tests/test_a.py", "a b.txt", "[id].txt", "docs/what?.md", "a*b.txt", "!a/b.txt", "#x/y.txt"]
ODD += ["end ", "b\\c"]


@pytest.mark.parametrize("path", ODD)
def test_a_proposed_option_adds_exactly_this_file(root, path):
    option, glob = shlex.split(scope_option(path))
    assert option == "--scope" and scope_problem([glob]) is None, glob
    scope = scope_in(root, CHECK, scope=[glob])
    assert scope.in_scope(path, new=True)
    others = [f"deep/{path}", path.replace("[id]", "i").replace("?", "s").replace("*", "xx"), f"{path.rstrip()}x"]
    assert not [one for one in others if one != path and scope.in_scope(one, new=True)]
