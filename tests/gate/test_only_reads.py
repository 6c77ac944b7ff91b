"""Which command lines are known to write nothing."""

import pytest

from rundry.agent.shell.line_parser import parse_line
from rundry.agent.shell.only_reads import only_reads

READS = (
    "cat a",
    "ls -la src | head -5",
    "cd src && rg -n 'def x' . && wc -l ./*.py",
    "git status --short",
    "git log --oneline -3; git diff HEAD -- a",
    "grep -rn x . 2>/dev/null",
)
MAY_WRITE = (
    "",
    "cat a > b",
    "cat a | tee b",
    "./cat a",
    "python3 -c 'print(1)'",
    "git commit -m x",
    "git stash",
    "git log --output=a",
    "git -c alias.status='!touch x' status",
    "rg --pre ./x a",
    "cat $(touch x)",
    "$CAT a",
    "sed -n 1p a; rm a",
    "find . -delete",
    "ls; make",
    "echo 'unfinished",
)


@pytest.mark.parametrize("line", READS)
def test_a_line_of_readers_only_reads(line: str):
    assert only_reads(parse_line(line))


@pytest.mark.parametrize("line", MAY_WRITE)
def test_any_other_line_may_write(line: str):
    assert not only_reads(parse_line(line))
