"""Command lines: reading them never fails, and a line that is not read asks in every mode."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from rundry.agent.gate.draft import CommandDraft
from rundry.agent.gate.guarded_paths import GuardedPaths
from rundry.agent.gate.policy import PolicyContext, judge
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import GateMode, Rule
from rundry.agent.shell.line_parser import parse_line

from ..target import Target

ALLOWED = ("git", "echo", "ls", "cat", "pytest", "npm run", "cargo test")
RULES = [Rule(verdict="allow", tool="run_command", command=words) for words in ALLOWED]
DENIED = [Rule(verdict="deny", tool="run_command", command="git push"), Rule(verdict="ask", path="secret/**")]


@cache
def workspace() -> Workspace:
    return Workspace(Path(tempfile.mkdtemp(prefix="rundry-fuzz-")))


def shell(data: bytes) -> None:
    line = data.decode(errors="surrogateescape" if data[:1] > b"\x7f" else "replace")
    read = parse_line(line)
    draft = CommandDraft(tool="run_command", command=line, timeout=5, cwd=workspace().root)
    for mode in GateMode:
        for rules in ([], RULES, [*RULES, *DENIED]):
            verdict = judge(
                draft,
                PolicyContext(
                    workspace=workspace(), mode=mode, rules=rules, guard=GuardedPaths(), sandbox="bubblewrap"
                ),
            )
            if read.parse_error is not None or mode is GateMode.READ:
                assert verdict.action != "allow", (mode, verdict)
            if verdict.action == "allow" and mode not in (GateMode.AUTO, GateMode.STAGE):
                assert rules, (mode, verdict)
                assert not read.doubts, (mode, read.doubts)


LINES = (
    b"git status && echo 'a b' | cat > out.txt",
    b'for f in *.py; do ls "$f"; done',
    b"X=1 git -C a push $(id) `id`",
    b"cat <<'EOF' >x\na\nEOF\n",
    b"if [ -f a ]; then pytest -q; fi &",
    b"git {push,origin} \\\n -f",
    b"echo $((1+2)) ${A:-b} <(ls)",
)
TOKENS = (
    b"$(",
    b"`",
    b"'",
    b'"',
    b"\\",
    b"\n",
    b";",
    b"&&",
    b"|",
    b"<<E\n",
    b">",
    b"${",
    b"}",
    b"((",
    b"$'\\x67'",
    b"{a,b}",
    b"*",
    b"~",
    b"\0",
    b"#",
    b"!",
    b"git push",
    b"function f",
    b"case x in",
    b"\xc2\xa0",
    b"\xe2\x80\x8b",
    b"&",
    b"$[",
    b"=",
    b"[[",
    b"eval ",
)
TARGETS = {"shell-line": Target(shell, LINES, TOKENS)}
