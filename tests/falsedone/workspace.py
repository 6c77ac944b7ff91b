"""The workspace of one play, and what is true of it afterwards."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from .suite import Action, Behaviour, Project, Replace, Run, Write

SECONDS = 300
"""A run of a harness, and a command of this suite, may take this long."""
PATH = os.pathsep.join([os.path.dirname(os.path.normpath(sys.executable)), os.environ.get("PATH", os.defpath)])
_PREPARING = threading.Lock()
_GIT = ["git", "-c", "user.name=User", "-c", "user.email=user@example.org"]


def environment(home: Path) -> dict[str, str]:
    """Return the variables of all commands: an empty home, and nothing of this process but where programs are."""
    return {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "NO_UPDATE_NOTIFIER": "1"}


def shell(command: str, folder: Path, home: Path, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """Run a command line. One that takes too long failed."""
    words = ["bash", "-c", command]
    try:
        return subprocess.run(
            words,
            cwd=folder,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(words, 124, str(error.stdout or ""), f"no end after {seconds} s")


@cache
def why_not(project: Project, may_install: bool = False) -> str:
    """Why this project cannot be played here, or an empty text if it can."""
    with TemporaryDirectory() as home:
        if shell(project.needs, Path(home), Path(home)).returncode:
            return f"`{project.needs}` fails"
    if project.install and not may_install and not _kept(project).is_dir():
        return "its packages are not installed: use --install"
    return ""


def lay_out(project: Project, folder: Path) -> Path:
    """Make a fresh workspace below this folder."""
    place = folder / "project"
    shutil.copytree(_template(project), place, symlinks=True)
    return place


def perform(action: Action, place: Path, home: Path) -> None:
    """Do it as a tool of a harness does."""
    match action:
        case Write(path, text):
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text)
        case Replace(path, old, new):
            (place / path).write_text(replaced((place / path).read_text(), old, new))
        case Run(command):
            shell(command, place, home)


def replaced(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise ValueError(f"{old!r} occurs {text.count(old)} times: it must occur once")
    return text.replace(old, new)


def is_true(behaviour: Behaviour, place: Path) -> bool:
    """Whether the product does what the task asks for, in a workspace that has nothing else of the run."""
    with TemporaryDirectory(prefix="falsedone-truth-") as folder:
        clean = lay_out(behaviour.project, Path(folder))
        for pattern in behaviour.product:
            for old in clean.glob(pattern):
                old.unlink()
            for new in place.glob(pattern):
                if new.is_file() and not new.is_symlink():
                    target = clean / new.relative_to(place)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(new, target)
        home = Path(folder) / "home"
        home.mkdir()
        done = shell(behaviour.truth, clean, home)
        return done.returncode == 0 and done.stdout.strip() == behaviour.prints


def _template(project: Project) -> Path:
    with _PREPARING:  # plays at the same time wait for the first one, which installs the packages
        return _prepared(project)


@cache
def _prepared(project: Project) -> Path:
    folder = Path(mkdtemp(prefix="falsedone-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    place, home = folder / "project", folder / "home"
    home.mkdir()
    if project.install:
        shutil.copytree(_installed(project), place, symlinks=True)
    else:
        _write_files(project, place)
    for command in project.prepare:
        _must(shell(command, place, home))
    (place / ".gitignore").write_text("".join(f"{line}\n" for line in project.ignored))
    for words in (["init", "-q", "-b", "work"], ["add", "."], ["commit", "-qm", "Start"]):
        _must(subprocess.run([*_GIT, *words], cwd=place, env=environment(home), capture_output=True, text=True))
    return place


def _installed(project: Project) -> Path:
    kept = _kept(project)
    if not kept.is_dir():
        making = kept.with_name(f"{kept.name}.{os.getpid()}")
        _write_files(project, making)
        for command in project.install:
            _must(shell(command, making, Path.home(), 600))
        making.rename(kept)
    return kept


def _kept(project: Project) -> Path:
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    made_of = repr((sorted(project.files.items()), project.install))
    return cache_home / "falsedone" / f"{project.name}-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"


def _write_files(project: Project, place: Path) -> None:
    for name, text in project.files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name in project.executable else 0o644)


def _must(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        raise RuntimeError(f"{done.args} failed with exit code {done.returncode}: {done.stdout}{done.stderr}")
