"""What a check executes behind variables, loops, searches and other makefiles."""

from __future__ import annotations

from pathlib import Path

import pytest
from verdict.scope.test_projects import made

from rundry.agent.verdict.checks.executed_files import executed


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ('for t in suite/*.sh; do sh "$t"; done', "suite/*.sh"),
        ("for t in a b; do python3 checks/$t.py; done", "checks/b.py"),
        ("D=suite; bash $D/run.sh", "suite/run.sh"),
        ('D="suite"; bash "${D}/run.sh"', "suite/run.sh"),
        ("for t in $(ls suite); do ./suite/$t; done", "suite/*"),
        ("find suite -name '*.sh' -exec bash {} +", "suite/**/*"),
        ("find suite -type f | xargs -n1 bash", "suite/**/*"),
        ("find suite -type f | xargs -I{} bash {}", "suite/**/*"),
        ("ls suite/*.sh | while read -r t; do bash $t; done", "suite/*.sh"),
        ("run-parts --verbose suite", "suite/*"),
        ("git ls-files suite | xargs -n 1 sh", "suite/**/*"),
        ("timeout 60 bash -c 'for t in suite/*; do $t; done'", "suite/*"),
        ("env X=1 bash run.sh suite", "suite/*.py"),
        ("parallel sh ::: suite/*.sh", "suite/*.sh"),
        ("parallel -j2 'sh {}' ::: suite/*.sh", "suite/*.sh"),
        ("ls suite/*.sh | parallel sh", "suite/*.sh"),
        ("find suite -type f | parallel -j 4 bash {}", "suite/**/*"),
    ],
)
def test_what_a_line_finds_is_executed(tmp_path: Path, command: str, path: str):
    made(tmp_path, {"suite/a.sh": "", "run.sh": 'for t in "$1"/*.py; do python3 "$t"; done\n'})
    assert path in executed(command, tmp_path).files


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("python3 -O rules.py", "rules.py"),
        ("python3 -I -W error rules.py", "rules.py"),
        ("python3 -mrules", "rules.py"),
        ("python3 -Im rules", "rules.py"),
        ("python3 - < rules.py", "rules.py"),
        ("python3 < rules.py", "rules.py"),
        ("cat rules.py | python3 -", "rules.py"),
        ("uv run --python 3.12 rules.py", "rules.py"),
        ("conda run -n dev python rules.py", "rules.py"),
        ("flock -w 5 /tmp/lock python3 rules.py", "rules.py"),
        ("taskset 0x1 ionice -c 3 python3 rules.py", "rules.py"),
        ("node rules", "rules.js"),
        ("node rules", "rules/index.js"),
        ("node < rules.js", "rules.js"),
        ("sh -s < rules.sh", "rules.sh"),
        ("bash <<E\nset -e\n. ./rules.sh\nE\n", "rules.sh"),
        ("sh -s <<-'E' && echo ok\n\tcd .\n\tsh rules.sh\n\tE\n", "rules.sh"),
        ("bash <<< 'sh rules.sh'", "rules.sh"),
        ("cat <<E | sh\nsh rules.sh\nE\n", "rules.sh"),
        ("echo 'sh rules.sh' | bash", "rules.sh"),
        ("printf 'set -e\\nsh rules.sh\\n' | sh -s", "rules.sh"),
    ],
)
def test_a_script_is_found_however_its_interpreter_gets_it(tmp_path: Path, command: str, path: str):
    assert path in executed(command, tmp_path).direct


@pytest.mark.parametrize(
    "command", ["python3 -c 'x' rules.py", "cat rules.py | python3 app.py", "python3 app.py < rules.py", "cat rules.py"]
)
def test_input_of_a_program_is_not_its_script(tmp_path: Path, command: str):
    assert "rules.py" not in executed(command, tmp_path).files


@pytest.mark.parametrize(
    "makefile",
    [
        "check: $(patsubst %.py,%.ok,$(wildcard demos/*.py))\n%.ok: %.py\n\tpython3 $<\n",
        "DEMOS := $(wildcard demos/*.py)\ncheck: $(DEMOS:.py=.ok)\n%.ok: %.py app.py\n\tpython3 $< && touch $@\n",
        "check:\n\t$(foreach one,$(wildcard demos/*.py),python3 $(one) &&) true\n",
    ],
)
def test_a_rule_for_each_file_of_a_folder_runs_all_of_them(tmp_path: Path, makefile: str):
    made(tmp_path, {"Makefile": makefile, "demos/a.py": "", "app.py": ""})
    found = executed("make check", tmp_path).files
    assert "demos/*.py" in found
    assert not {"*.py", "app.py"} & found


@pytest.mark.parametrize("command", ["exec 3<>/dev/tcp/127.0.0.1/80", "env", "timeout 5", "cd suite && exec >log"])
def test_a_line_without_a_program_executes_nothing(tmp_path: Path, command: str):
    assert not executed(command, tmp_path).files


@pytest.mark.parametrize(
    "command",
    [
        "for f in src/*.c; do cc -c $f; done",
        "for f in src/*.py; do python3 -m py_compile $f; done",
        "find src -name '*.py' | xargs wc -l",
        "find src -name '*.py' -exec grep -l x {} +",
        "for f in in/*.txt; do ./app < $f | diff - ${f%.txt}.out; done",
        "bash -n src/a.sh",
        "cat <<E\nsh src/a.sh\nE\n",
        "echo 'sh src/a.sh' | grep -q a",
        "sh run.sh <<E\nsh src/a.sh\nE\n",
    ],
)
def test_what_is_only_read_is_not_executed(tmp_path: Path, command: str):
    assert not any(path.startswith(("src", "in/")) for path in executed(command, tmp_path).files)


def test_a_script_knows_its_own_folder(tmp_path: Path):
    made(
        tmp_path,
        {
            "ci/run.sh": (
                'HERE=$(cd "$(dirname "$0")" && pwd)\nsh "$HERE/one.sh"\n. "${0%/*}/lib.sh"\n'
                'cd "$(dirname "$0")/.."\n./two.sh\n'
            ),
        },
    )
    found = executed("bash ci/run.sh", tmp_path)
    assert {"ci/one.sh", "ci/lib.sh", "two.sh"} <= found.files
    assert found.direct == {"ci/run.sh"}
    assert found.by_script["ci/one.sh"] == {"ci/run.sh"}


def test_a_makefile_has_variables_includes_and_others_below(tmp_path: Path):
    made(
        tmp_path,
        {
            "Makefile": (
                "include more.mk\nSUITE = $(wildcard suite/*.sh)\n"
                "check: extra\n\tfor t in $(SUITE); do sh $$t; done\n\t$(MAKE) -C sub all\n"
            ),
            "more.mk": "TOOL := tools/judge.py\nextra:\n\tpython3 $(TOOL)\n",
            "sub/Makefile": "all:\n\tnode judge.js\n",
            "suite/a.sh": "",
        },
    )
    found = executed("make check", tmp_path).files
    assert {"suite/*.sh", "tools/judge.py", "sub/judge.js", "sub/Makefile"} <= found


def test_a_pattern_rule_executes_what_its_prerequisites_name(tmp_path: Path):
    made(tmp_path, {"Makefile": "check: cases/a.ok\ncases/%.ok: cases/%.sh\n\tsh $<\n"})
    assert "cases/*.sh" in executed("make check", tmp_path).files


def test_scripts_without_an_end_come_to_one(tmp_path: Path):
    made(tmp_path, {"a.sh": "for t in *.sh; do for u in *.sh; do bash $t; bash $u; done; done\n"})
    assert "a.sh" in executed("bash a.sh", tmp_path).files


def test_a_line_of_redirections_alone_is_read_on(tmp_path: Path):
    line = "exec 3<>/dev/tcp/127.0.0.1/8124; exec 4>&1; bash a.sh <&3"
    assert "a.sh" in executed(f"bash -c '{line}'", tmp_path).files
