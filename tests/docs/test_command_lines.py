"""Runs each command line of the README, the tutorial and the guides, in the order of its page.

A page has a home, a scripted server and a project of its own. A line that starts a run gets a new project, so that it
can be read alone; the other lines follow the run before them. A line that would open the screen gets `--headless`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fakes.nested.fixing import make_search
from fakes.project import CORE, FIX_ADD, FIX_MEAN, git, make_project
from fakes.rundry import Home, Ran, Running
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, edit, finish, say
from fakes.web.certificates import Authority
from fakes.web.site import Site
from sampling import sampled

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "tutorial.md",
    *sorted(ROOT.glob("docs/how-to/*.md")),
    *sorted(ROOT.glob("docs/explanation/*.md")),
]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.M | re.S)
EXIT = re.compile(r"exit code (\d+)")
APART = ("review",)
"""Pages whose lines a test of their own runs (`test_review_page.py`)."""
SLOW = ("container", "sandbox")
"""Pages whose lines take more than five seconds: `doctor` starts each sandbox."""
NOT_OURS = ("dask", "git", "pipx", "sqlite3")
"""Programs whose lines are only parsed by the shell."""
STARTS = ("run", "find", "review", "demo")
REMOTE = re.compile(r"--model (?:openai|anthropic|ollama_chat|meta)/|gateway\.example")
ENDLESS = re.compile(
    r"--every|constrained|--loop paced|--score|--recipe research|rundry review|--executor|find (?:search|audit)\.toml"
)
"""Lines that need a clock, or a model that is not scripted: they are refused after all their values were read."""
FILES = {
    "Makefile": "test:\n\tpython3 -m unittest -q\n",
    "task.txt": "Fix the failing suite.\n",
    "bench.sh": "#!/bin/sh\necho 1\n",
    "is-green.sh": "#!/bin/sh\nexec python3 -m unittest -q\n",
    "src/app.py": "import os\n\nVALUE = 1\n",
    "apart/test_apart.py": """import sys

sys.path.insert(0, ".")
from calc.core import add


def test_apart():
    assert add(4, 5) == 9
""",
    "search.toml": 'task = "Find it"\n[[lens]]\nname = "a"\nprompt = "Look"\n',
}
TURNS = [FIX_ADD, FIX_MEAN, FIX_MEAN, finish("fixed", "calc/core.py")]
"""The check passes after the second turn; a page that rejects the second proposal gets it again."""
FIXED = CORE.replace("a - b", "a + b").replace("(len(values) + 1)", "len(values)")
OTHER_CODES = {"rundry apply": 5, "rundry apply --json": 5}
"""Exit codes of lines whose comment says something else."""
MIGRATED = [edit("src/app.py", "import os\n\n", "")]
UNCHECKED = [call("read_file", path="calc/core.py"), finish("read", "calc/core.py")]


def lines_of(page: Path) -> list[str]:
    """Return the lines of the shell blocks."""
    blocks = [text for kind, _, text in BLOCK.findall(page.read_text("utf-8")) if kind == "sh"]
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def turns_for(line: str, others: list[Turn]) -> list[Turn]:
    """Return what the model answers to a line."""
    if "--edit-format whole" in line:
        return [say(f"```python\n{FIXED}```")]
    is_migration = "migrate" in line or "drop-import" in line
    return TURNS if "--until" in line or "make-tests" in line else MIGRATED if is_migration else others


@dataclass
class Reader:
    """Types the lines of one page."""

    home: Home
    server: ScriptedServer
    site: Site
    page: Path
    folder: Path
    live: Running | None = None
    live_id: str = ""
    projects: int = 0
    project: Path = field(init=False)

    def __post_init__(self) -> None:
        self.home.env |= {"RUNDRY_MODEL": "fake", "RUNDRY_API_BASE": self.server.base_url, "RUNDRY_TIME": "90s"}
        self.new_project()

    def new_project(self) -> None:
        self.projects += 1
        self.project = self.folder / f"project-{self.projects}"
        self.project.mkdir(parents=True)
        named = {name: text for _, name, text in BLOCK.findall(self.page.read_text("utf-8")) if name}
        for name, text in {**FILES, **named}.items():
            (self.project / name).parent.mkdir(exist_ok=True)
            (self.project / name).write_text(text)
            if name.endswith(".sh"):
                (self.project / name).chmod(0o755)
        (self.project / "copies").mkdir()
        make_project(self.project)
        git(self.project, "checkout", "-qb", "topic")
        self.server.served = 0

    def shell(self, line: str) -> Ran:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.project,
            env=self.home.env,
            input="",
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, done.stderr, [line])

    def newest(self) -> str:
        """Return the id of the newest run."""
        return json.loads(self.home.run("runs", "--json", cwd=self.project).stdout)[0]["run_id"]

    def filled(self, line: str) -> str:
        """Return the line with the run and the digest that a reader would insert."""
        line = line.replace("http://127.0.0.1:8080/v1", self.server.base_url)
        line = line.replace("http://localhost:8000/", self.site.url + "/page/0")
        is_of_search = re.search(r"--format (sarif|csv|findings-md)", line)
        if is_of_search or re.search(r"\bRUN\b", line):
            run = make_search(self.home, self.project, ["a.txt"]) if is_of_search else self.newest()
            line = re.sub(r"\bRUN\b", run, line)
        if "apply" in line and "--digest" in line:
            staged = json.loads(self.home.run("apply", "--json", cwd=self.project).stdout)
            line = re.sub(r"--digest \w+", f"--digest {staged['digest']}", line)
        elif "--digest" in line:
            waiting = json.loads(self.home.run("handoffs", "--json", cwd=self.project).stdout)
            line = re.sub(r"--digest \w+", f"--digest {waiting[0]['proposals'][0]['digest']}", line)
        return line

    def type(self, line: str) -> None:
        command = re.sub(r"\s+#.*$", "", line)
        words = command.split()
        if words[0] in NOT_OURS:
            assert (
                subprocess.run(["bash", "-n"], input=command.replace("<this repository>", "X"), text=True).returncode
                == 0
            )
        elif words[0].startswith(".dev/"):
            assert (ROOT / words[0]).stat().st_mode & 0o100
        elif words == ["rundry"]:
            assert "there is no terminal" in self.shell(command).stderr
        elif words[1] == "ctl":
            self.control(command)
        else:
            self.run(line, command, words[1])

    def control(self, command: str) -> None:
        if self.live is None:
            self.new_project()
            self.server.turns = [Turn(text="I look at the suite.", hold_after=1)]
            self.live = self.home.start("run", "fix it", "--headless", "--json", cwd=self.project)
            self.live_id = self.live.wait_event("run_started")["run_id"]
        done = self.shell(command.replace("20261121", self.live_id))
        assert done.exit_code == 0, str(done)

    def run(self, line: str, command: str, verb: str) -> None:
        is_task = verb.startswith('"')
        if self.live is not None:
            self.finish()
        is_new = (is_task or verb in STARTS) and "--resume" not in command
        if is_new or verb == "fix":
            self.new_project()
        if verb == "apply":
            self.stage()
        command = self.with_findings(command) if verb == "fix" else self.filled(command)
        is_served = "--serve" in command
        if is_served:  # for a second, and not on the network
            command = re.sub(r" --for \S+", "", command) + " --for 1s --bind 127.0.0.1"
            self.certify(command)
        is_run = is_task or verb in (*STARTS, "fix", "resume", "approve", "reject")
        if is_run and not is_served and "--headless" not in command:
            command += " --headless" + (" --gate auto" if is_new and "--gate" not in command else "")
        if verb != "fix":
            self.server.turns = turns_for(line, self.server.turns if not is_new else UNCHECKED)
        before = self.home.journals()
        if ENDLESS.search(line):
            done = self.shell(f"{command} --runs-dir {self.project}")
            assert (done.exit_code, "--runs-dir" in done.stderr) == (2, True), str(done)
        elif REMOTE.search(line):
            done = self.shell(f"env -u RUNDRY_MODEL -u RUNDRY_API_BASE {command}")
            assert done.exit_code in (2, 75), str(done)
            assert self.home.journals() == before
        elif "--try" in line:
            done = self.shell(command)
            assert (done.exit_code, "No edit format led" in done.stdout) == (1, True), str(done)
        else:
            found = EXIT.search(line)
            done = self.shell(command)
            assert done.exit_code == (int(found[1]) if found else OTHER_CODES.get(command, 0)), str(done)

    def certify(self, command: str) -> None:
        """Write the certificate and the key that a line names."""
        if names := re.findall(r"--(?:cert|key) (\S+)", command):
            pem = Authority(self.folder, "authority").file_for("laptop.lan")
            for name in names:
                (self.project / name).write_bytes(pem.read_bytes())

    def stage(self) -> None:
        """Let a run stage something in a new project."""
        self.new_project()
        self.server.turns = TURNS
        argv = ("run", "fix it", "--until", "make test", "--headless")
        assert self.home.run(*argv, cwd=self.project).exit_code == 5

    def with_findings(self, command: str) -> str:
        """Return the line with a search that found something in a project whose tests pass."""
        core = self.project / "calc" / "core.py"
        core.write_text(core.read_text().replace("a - b", "a + b").replace("(len(values) + 1)", "len(values)"))
        run = make_search(self.home, self.project, ["src/app.py"])
        self.server.turns = [
            call("read_file", path="src/app.py"),
            call("write_file", path="src/app.py", content="VALUE = 1\n"),
            finish("fixed", "src/app.py"),
        ]
        return command.replace("20261121", run)

    def finish(self) -> None:
        if self.live is not None:
            self.shell(f"rundry ctl {self.live_id} stop now")
            self.live.finish()
            self.live = None
            self.server.turns = TURNS


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(pages=3) as site:
        yield site


WITH_LINES = [page for page in PAGES if lines_of(page) and page.stem not in APART]
QUICK = [page for page in WITH_LINES if page.stem not in SLOW]


@pytest.mark.parametrize(
    "page",
    [*sampled(QUICK, 3), *sampled([page for page in WITH_LINES if page.stem in SLOW], 0)],
    ids=lambda page: page.stem,
)
def test_each_command_line_of_a_page_does_what_the_page_says(home: Home, site: Site, tmp_path: Path, page: Path):
    with ScriptedServer(TURNS) as server:
        reader = Reader(home, server, site, page, tmp_path / "work")
        for line in lines_of(page):
            reader.type(line)
        reader.finish()


def test_every_guide_has_command_lines():
    assert [page.stem for page in PAGES if page.parent.name == "how-to" and not lines_of(page)] == [
        "keys",
        "python",
        "session",
        "themes",
        "web",
    ]
