"""One run: started, crashed, resumed to its end, and looked at."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.models.stateless_server import StatelessServer
from fakes.project import git
from fakes.rundry import Home, Ran

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import CallAdmitted, Stamped
from rundry.agent.state.facts.run_facts import fold
from rundry.agent.state.reports.journal_check import check_journal
from rundry.agent.state.reports.run_state import run_state

from .kinds import Kind

MOST_RESUMES = 6
HEADLESS = ("--headless", "--json")
KILLED = -signal.SIGKILL
HANDED_OVER = 5


@dataclass
class Case:
    """A folder, a home and a model of its own."""

    kind: Kind
    root: Path
    server: StatelessServer
    ran: list[Ran] = field(default_factory=list)

    @staticmethod
    def make(kind: Kind, root: Path) -> Case:
        project = root / "project"
        project.mkdir(parents=True)
        (root / "temp").mkdir()
        kind.make(project)
        return Case(kind, root, StatelessServer(kind.answer(project)).start())

    def __post_init__(self) -> None:
        self.project = self.root / "project"
        self.home = Home(self.root)
        self.home.env["TMPDIR"] = str(self.root / "temp")

    def close(self) -> None:
        self.server.stop()
        self.home.end_runners()

    @property
    def start_argv(self) -> list[str]:
        model = ["--model", "fake", "--api-base", self.server.base_url] if self.kind.has_model else ["--model", "none"]
        return [*self.kind.argv, *model, *HEADLESS]

    def run(self, *argv: str, at: int | None = None, through: Sequence[str] = ()) -> Ran:
        """Run it; `at`: the crash point at which it dies, 0: none, but they are counted."""
        env = {} if at is None else {"RUNDRY_CRASH_AT": str(at), "RUNDRY_CRASH_LOG": str(self.root / "points")}
        self.ran.append(self.home.run(*argv, cwd=self.project, env=env, through=through))
        return self.ran[-1]

    def points(self) -> list[str]:
        """The names of the crash points that were reached."""
        return (self.root / "points").read_text().splitlines()

    def prepare(self) -> None:
        """Do what comes before the command that is crashed."""
        if self.kind.is_approved:
            handed_over = self.run(*self.start_argv)
            assert handed_over.exit_code == HANDED_OVER, handed_over

    def next_argv(self, *options: str) -> list[str]:
        """The command that starts the run, or continues where the last process stopped. `options`: of a resume."""
        if not self.home.journals():
            return self.start_argv
        if digests := self._waiting():
            return ["approve", self.journal.stem, "--digest", digests[0], *HEADLESS]
        return ["resume", self.journal.stem, *HEADLESS, *options]

    def _waiting(self) -> list[str]:
        """Digests of the proposals that wait for a person; whether one was decided is in the journal."""
        if not self.kind.is_approved:
            return []
        journal = Journal.open(self.journal)
        try:
            return [proposal.digest for proposal in run_state(journal).decidable_without_runner().values()]
        finally:
            journal.close()

    def finish(self, *options: str) -> Ran:
        """Resume until the run ends by itself. `options`: of the first resume."""
        for _ in range(MOST_RESUMES):
            ran, options = self.run(*self.next_argv(*options)), ()
            if ran.exit_code in self.kind.exit_codes:
                return ran
        raise AssertionError(f"{self.kind.name}: no end after {MOST_RESUMES} resumes\n{ran}")

    @property
    def journal(self) -> Path:
        """That of the run itself: the ids of its child runs sort after its own."""
        return min(self.home.journals())

    def events(self) -> list[Stamped]:
        journal = Journal.open(self.journal)
        try:
            return journal.read()
        finally:
            journal.close()

    def admitted(self) -> int:
        """Calls that the run and its child runs admitted."""
        count = 0
        for path in self.home.journals():
            journal = Journal.open(path)
            count += len(journal.read_types((CallAdmitted,)))
            journal.close()
        return count

    def recorded(self) -> list[Stamped]:
        """The events so far; none where the crash came before the journal."""
        return self.events() if self.home.journals() else []

    def files(self) -> dict[str, str]:
        """All files outside of git's folder, and what git shows."""
        found = {
            str(path.relative_to(self.project)): path.read_text(errors="replace")
            for path in sorted(self.project.rglob("*"))
            if path.is_file() and not {".git", "__pycache__"} & set(path.parts)
        }
        if (self.project / ".git").exists():
            found["git log"] = git(self.project, "log", "--format=%s", "--all")
            found["git status"] = git(self.project, "status", "--porcelain", "-uall")
            found["git stash"] = git(self.project, "stash", "list")
        return found

    def items(self) -> dict[str, Any]:
        """The items and findings of a search, by state."""
        from rundry.agent.search.items.frontier_view import FrontierView
        from rundry.agent.search.items.item_state import State

        journal = Journal.open(self.journal)
        try:
            if journal.spec.finder is None:
                return {}
            facts = fold(journal.spec, journal.read())
            view = FrontierView(journal)
            found: dict[str, Any] = {state.value: sorted(row.key for row in view.page(state)) for state in State}
            assert facts.finder is not None
            found["verdicts"] = {key: one.verdict for key, one in sorted(facts.finder.findings.items())}
            return found
        finally:
            journal.close()

    def spent(self) -> tuple[int, int]:
        """Tokens that the server billed, and those that the journal counts against the limits."""
        journal = Journal.open(self.journal)
        try:
            facts = fold(journal.spec, journal.read())
        finally:
            journal.close()
        billed = sum(one.usage.get("total_tokens", 0) for one in self.server.requests)
        return billed, facts.ledger.counted().counted_tokens

    def litter(self) -> list[str]:
        """What a crash left and nobody removed."""
        runs = [p for p in self.home.runs.iterdir() if p.suffix in (".probe", ".new") or ".making-" in p.name]
        runs += [p for p in self.home.runs.glob("*.leftovers") if p.stat().st_size]
        runs += [p for p in self.home.runs.glob("*.snapshots") if not p.with_suffix(".db").exists()]
        worktrees = self.home.runs.parent / "worktrees"
        there = [*(worktrees.iterdir() if worktrees.exists() else ()), *(self.root / "temp").iterdir()]
        inside = [
            path
            for path in self.project.rglob("*")
            if path.name.startswith(".rundry-") or path.suffix == ".lock" or path.name.endswith((".rundry-new", ".tmp"))
        ]
        return [str(path.relative_to(self.root)) for path in [*runs, *there, *inside]]

    def damage(self) -> list[str]:
        """What `rundry check` reports, without what a person accepted."""
        found = [finding for path in self.home.journals() for finding in check_journal(path).findings]
        return [finding.text for finding in found if not finding.accepted]
