"""What a check executes behind variables, loops, searches and other makefiles."""

from __future__ import annotations

from pathlib import Path

import pytest
from verdict.scope.test_projects import made

from rundry.agent.stops.executed import executed


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
    ],
)
def test_what_a_line_finds_is_executed(tmp_path: Path, command: str, path: str):
    made(tmp_path, {"suite/a.sh": "", "run.sh": 'for t in "$1"/*.py; do python3 "$t"; done\n'})
    assert path in executed(command, tmp_path).files


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
