"""One run with a user next to it: started, killed, resumed, and judged."""

from __future__ import annotations

import atexit
import random
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from fakes.machines import words_for
from fakes.models.stateless_server import StatelessServer
from fakes.rundry import RUNDRY, Home

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Fault, JournalError, RunResumed, RunStarted

from .accepted import read_accepted
from .commands import LOOPS, Model
from .frozen import Frozen
from .judge import Judge, Window
from .looking import Looker
from .user import User, make_workspace

TESTS = Path(__file__).resolve().parents[1]
_HEADLESS = ("--headless", "--json")
_DIRECT = ("commands write to the workspace itself", "it works in copies of the workspace")
"""In the notes of a run without layers: one that works in place, and one that works in units."""
_SECONDS, _SECONDS_OF_WORK, _SECONDS_TO_APPLY, _STEPS_AFTER = 120.0, 20.0, 5.0, 2
_CHECKS = {
    "goal": ["--until", "test -f gen/done.txt", "--steps", "9"],
    "tries": ["--until", "test -f gen/done.txt", "--tries", "2", "--steps", "20"],
    "interval": ["--every", "1s", "--until", "test ! -f gen/state.txt", "--scope", "gen/**", "--steps", "9"],
    "improve": [
        "--score",
        "wc -c < gen/size.txt",
        "--scope",
        "gen/size.txt",
        "--goal",
        "min",
        "--patience",
        "2",
        "--steps",
        "9",
    ],
}


@dataclass(frozen=True)
class Kill:
    """When a run is killed."""

    seconds: float
    """Seconds after it asked the model."""
    applier: bool
    """The process that applies accepted effects is killed, too."""
    at_apply: bool
    """Not before something is applied, if that comes soon."""


@dataclass(frozen=True)
class Plan:
    """A run, decided by its seed."""

    seed: int
    loop: str
    direct: bool
    """Without layers."""
    kills: tuple[Kill, ...]
    is_early: bool
    """Kills count from the start and each resume, instead of from the first request after it."""
    pace: float
    """Seconds between two steps of the user, at most."""

    @property
    def in_units(self) -> bool:
        """Whether commands work in units, and what they did is applied later."""
        return self.loop not in ("goal", "chat")

    @property
    def in_place(self) -> bool:
        """Whether commands write into the workspace itself."""
        return self.direct and not self.in_units

    @staticmethod
    def of(seed: int, *, direct: bool = False) -> Plan:
        chance = random.Random(f"plan {seed}")
        kills = [
            Kill(chance.uniform(0.0, 2.0), chance.random() < 0.4, chance.random() < 0.5)
            for _ in range(chance.choice([0, 1, 1, 2]))
        ]
        return Plan(
            seed, LOOPS[seed % len(LOOPS)], direct, tuple(kills), chance.random() < 0.2, chance.choice([0.1, 0.25, 0.5])
        )


@dataclass
class Outcome:
    """What became of a run."""

    plan: Plan
    found: list[str]
    """A line for each change that nobody accepted, and each fault of the program."""
    steps: int
    """How many things the user did."""
    kills: int
    changes: int
    """Changes that were not the user's, and were judged."""
    end: str

    def line(self) -> str:
        """Return one line without paths of this machine."""
        plan = self.plan
        how = f"{plan.loop}{', direct' if plan.direct else ''}"
        said = f"{self.steps} steps, {self.kills} kills, {self.changes} changes of the run, end {self.end}"
        return f"{plan.seed} {how}: {said}: {'; '.join(self.found) or 'ok'}"


@dataclass
class Trial:
    """A workspace, a home, a model and a user."""

    plan: Plan
    root: Path
    server: StatelessServer
    model: Model
    windows: list[Window] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.project = self.root / "project"
        self.home = Home(self.root)
        (self.root / "temp").mkdir()
        self.home.env["TMPDIR"] = str(self.root / "temp")
        self.home.env["XDG_CACHE_HOME"] = str(_shared_cache())
        in_passes = self.plan.loop in ("interval", "improve", "tries")
        self.user = User(self.project, self.plan.seed, rarely_shares=in_passes)
        self.looker, self.frozen = Looker(self.project), Frozen(self.root)
        self._chance = random.Random(f"trial {self.plan.seed}")
        self._words = words_for("landlock") if self.plan.direct else []

    def run(self) -> Outcome:
        """Play it, and judge what it left."""
        make_workspace(self.project)
        self._act("nothing")
        found, killed = list[str](), 0
        began = time.monotonic()
        process = self._start()
        waiting = list(self.plan.kills)
        asked, due = 0, None
        while process.poll() is None:
            if time.monotonic() > began + _SECONDS:
                found.append("it did not end")
                break
            is_at_work = len(self.model.deeds) > asked
            time.sleep(self._chance.uniform(0, self.plan.pace) if is_at_work else 0.1)
            is_over = time.monotonic() > began + _SECONDS_OF_WORK  # so that the run finds an end
            if not is_over:
                self._act()
            if due is None and waiting and (is_at_work or self.plan.is_early):
                due = time.monotonic() + waiting[0].seconds
            if due is not None and time.monotonic() >= due:
                self._kill(process, waiting.pop(0))
                killed += 1
                for _ in range(self._chance.randint(0, 3)):
                    self._act()
                process = self._start()
                asked, due = len(self.model.deeds), None
        self._end(process)
        for _ in range(_STEPS_AFTER):
            self._act()
        accepted = read_accepted(self.home.journals())
        judge = Judge(self.looker, accepted, self.model.deeds, in_units=self.plan.in_units, in_place=self.plan.in_place)
        found += judge.wrong(self.windows)
        found += self._faults()
        return Outcome(self.plan, found, len(self.windows) - 1, killed, judge.changes, str(process.returncode))

    def _act(self, did: str = "") -> None:
        """Let the user do one thing while all else stands still."""
        with self.frozen:
            before = self.looker.look()
            if did:
                self.windows.append(Window(before, before, did))
                return
            at = len(self.user.log)
            newest = self.model.deeds[-1:]
            self.user.hot = [one for deed in newest for one in (*deed.writes, *deed.deletes) if one[-1] != "/"]
            self.user.step(may_rebase=bool(self.model.deeds))
            self.windows.append(Window(before, self.looker.look(), ", ".join(self.user.log[at:])))

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the run, or resume it."""
        journals = [path for path in self.home.journals() if _is_whole(path)]
        with (self.root / "out.txt").open("ab") as out:
            return subprocess.Popen(
                [*self._words, *(self._chat() if self.plan.loop == "chat" else self._argv(journals))],
                cwd=TESTS if self.plan.loop == "chat" else self.project,
                env=self.home.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _argv(self, journals: list[Path]) -> list[str]:
        if journals:
            return [str(RUNDRY), "resume", min(journals).stem, *_HEADLESS]
        model = ["--model", "fake", "--api-base", self.server.base_url, "--gate", "auto", *_HEADLESS]
        if self.plan.loop == "migrate":
            many = ["--parallel", "2"] if self._chance.random() < 0.5 else []
            check = ["--check", "grep -q new {file}", "--retries", "1", "--item-steps", "4"]
            return [str(RUNDRY), "find", "--recipe", "migrate", *check, *many, *model, "items/*.txt"]
        return [str(RUNDRY), "run", "work on it", *_CHECKS[self.plan.loop], *model]

    def _chat(self) -> list[str]:
        words = [str(self.home.runs), str(self.project), self.server.base_url, str(self.plan.seed)]
        self.home.runs.mkdir(exist_ok=True)
        return [sys.executable, "-m", "actor.chatting", *words, *(["--ask"] if self.plan.direct else [])]

    def _kill(self, process: subprocess.Popen[bytes], kill: Kill) -> None:
        deadline = time.monotonic() + _SECONDS_TO_APPLY
        while kill.at_apply and not self._is_applied() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        self.frozen.kill(applier=kill.applier)
        process.wait()

    def _is_applied(self) -> bool:
        """Whether something is being applied."""
        orders = (one.parent for one in self.home.runs.glob("layers/*/orders/*/order"))
        return any(not (one / "done").exists() for one in orders)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until nothing of the run is left."""
        deadline = time.monotonic() + 10
        while self.frozen.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.frozen.kill(applier=True)
        process.wait()

    def _faults(self) -> list[str]:
        """Return what went wrong in the program itself."""
        found = list[str]()
        for path in self.home.journals():
            journal = Journal.open(path)
            try:
                events = journal.read_types((Fault, RunStarted, RunResumed))
            finally:
                journal.close()
            found += [
                f"fault: {one.event.text[:300]} ({_last_frames(one.event.trace)})"
                for one in events
                if isinstance(one.event, Fault) and one.event.kind == "program"
            ]
            notes = [note for one in events if isinstance(one.event, RunStarted) for note in one.event.notes]
            if any(_DIRECT[self.plan.in_units] in note for note in notes) != self.plan.direct:
                found.append(f"it is {'not ' if self.plan.direct else ''}in direct mode")
        for name in ("out.txt", "runs/runner.log"):
            path = self.root / name
            if path.exists() and b"Traceback (most" in (data := path.read_bytes()):
                found.append(f"{path.name} has a traceback: {data.decode(errors='replace').splitlines()[-1][:300]}")
        return found


def _last_frames(trace: str | None) -> str:
    """Return where the last frames of a traceback are, without paths of this machine."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', trace or "")[-7:]
    return " > ".join(f"{'/'.join(Path(file).parts[-2:])}:{line} {name}" for file, line, name in frames)


def attempt(plan: Plan, *, keeps: bool = False) -> Outcome:
    """Run one plan in a folder of its own. `keeps`: leave the folder, with what was done."""
    root = Path(mkdtemp(prefix="actor-"))
    model = Model(plan.seed, plan.loop, plan.in_place)
    with StatelessServer(model.answer) as server:
        trial = Trial(plan, root, server, model)
        try:
            outcome = trial.run()
        finally:
            trial.frozen.kill(applier=True)
        if keeps:
            lines = [f"{number} {window.before.at:.2f} {window.did}" for number, window in enumerate(trial.windows)]
            lines += [str(deed) for deed in model.deeds]
            (root / "story.txt").write_text("\n".join([str(plan), *lines, outcome.line()]))
            print(f"kept: {root.name}", file=sys.stderr)
        else:
            shutil.rmtree(root, ignore_errors=True)
        return outcome


@cache
def _shared_cache() -> Path:
    """A folder in which the sandbox is tried out once for all seeds of this process."""
    folder = Path(mkdtemp(prefix="actor-cache-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _is_whole(path: Path) -> bool:
    """Whether a run began in this journal before it was killed."""
    try:
        Journal.open(path).close()
    except JournalError:
        return False
    return True
