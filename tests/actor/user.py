"""What the user does, step by step and by a seed: real saves, real git."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

MINE = ("mine/a.txt", "mine/b.txt", "mine/c.txt", "mine/deep/d.txt")
BOTH = ("both/a.txt", "both/b.txt", "both/c.txt", "both/d.txt", "both/deep/e.txt")
ITEMS = ("items/a.txt", "items/b.txt", "items/c.txt")
LINES = "".join(f"line {n}\n" for n in range(12))
_IDENTITY = ("-c", "user.name=User", "-c", "user.email=user@example.org", "-c", "core.editor=true")


def make_workspace(project: Path) -> None:
    """Make a repository with files of the user, of both, and of a migration, and a stash.

    There are files that are staged, edited since, untracked and ignored.
    """
    (project / "gen").mkdir(parents=True)
    for name in (*MINE, *BOTH, *ITEMS):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"{name}: old\n{LINES}")
    (project / ".gitignore").write_text("*.log\nignored/\n")
    (project / "gen/size.txt").write_text("x" * 400 + "\n")
    (project / "mine/link").symlink_to("a.txt")
    user = User(project, 0, "before")
    for words in (["init", "-q", "-b", "work", "."], ["add", "."], ["commit", "-qm", "First"], ["tag", "v1"]):
        assert user.git(*words), words
    user.save("mine/deep/d.txt", f"second\n{LINES}")
    assert user.git("commit", "-qam", "Second")
    user.save("mine/b.txt", "kept in the stash\n")
    assert user.git("stash", "push", "-qm", "of the user")
    user.save("mine/c.txt", "staged\n")
    assert user.git("add", "mine/c.txt")
    user.save("mine/c.txt", "staged, then edited\n")
    user.save("mine/untracked.txt", "untracked\n")
    (project / "ignored").mkdir()
    user.save("ignored/data.log", "ignored\n")


class User:
    """A user with a seed."""

    def __init__(self, project: Path, seed: int, name: str = "user", *, rarely_shares: bool = False) -> None:
        """`name`: is in all that is written. `rarely_shares`: a pass conflicts with any change of its files."""
        self.project, self._chance, self._name = project, random.Random(f"user {seed}"), name
        self.log: list[str] = []
        """What was done, in words."""
        self.hot: list[str] = []
        """Files in which a command of the model may write just now."""
        self._count = 0
        self._shared = self._chance.choice([0.0, 0.05, 0.2] if rarely_shares else [0.05, 0.3, 0.7])
        """How often it is a file in which the model writes, too."""
        self._steps: list[tuple[int, Callable[[], object]]] = [
            (6, self._save_in_place),
            (6, self._save_by_rename),
            (4, self._append),
            (3, self._new_file),
            (3, self._delete),
            (2, self._move),
            (1, self._mode),
            (1, self._link),
            (1, self._replace_folder),
            (1, self._swap_folder_for_link),
            (5, self._stage),
            (2, self._stage_and_edit),
            (1, self._unstage),
            (1, self._forget),
            (4, self._commit),
            (1, self._commit_all),
            (1, self._amend),
            (1, self._branch),
            (1, self._tag),
            (2, self._switch),
            (2, self._stash),
            (1, self._pop),
            (1, self._rebase),
            (1, self._pack),
        ]

    def step(self, *, may_rebase: bool) -> None:
        """Do one thing. During a rebase, every second one ends it."""
        if self._is_rebasing and self._chance.random() < 0.5:
            self._end_rebase()
            return
        steps = [(weight, act) for weight, act in self._steps if may_rebase or act != self._rebase]
        self._chance.choices([act for _, act in steps], [weight for weight, _ in steps])[0]()

    def git(self, *words: str) -> bool:
        """Run git, and return whether it worked: another git may hold a lock, or it does not fit what is there."""
        env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        argv = ["git", *_IDENTITY, *words]
        done = subprocess.run(argv, cwd=self.project, env=env, stdin=subprocess.DEVNULL, capture_output=True)
        self.log.append(f"git {' '.join(words)}: {done.returncode}")
        return done.returncode == 0

    def save(self, name: str, text: str) -> None:
        """Save by a rename, as editors do."""
        path = self.project / name
        if path.parent.is_symlink() and not path.parent.exists():
            path.parent.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.swp")
        fresh.write_text(text)
        fresh.rename(path)
        self.log.append(f"save {name}")

    @property
    def _is_rebasing(self) -> bool:
        return (self.project / ".git/rebase-merge").exists()

    def _text(self) -> str:
        self._count += 1
        return f"by the {self._name} {self._count}.\n"

    def _file(self) -> str:
        """Choose a file that is there, the user's own or one of both."""
        own = [*MINE, "mine/untracked.txt", "ignored/data.log"]
        own += [f"mine/{path.name}" for path in (self.project / "mine").glob("new-*")]
        shared = [*BOTH, *ITEMS, *(f"gen/{path.name}" for path in (self.project / "gen").glob("n*.txt"))]
        shared = [*self.hot, *self.hot] if self.hot and self._chance.random() < 0.6 else shared
        names = shared if self._chance.random() < self._shared else own
        there = [name for name in names if (self.project / name).is_file() and not (self.project / name).is_symlink()]
        return self._chance.choice(there or ["mine/a.txt"])

    def _save_in_place(self) -> None:
        name = self._file()
        path = self.project / name
        try:  # while a process that is stopped has a lease on the file, this would wait
            flags = os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK
            opened = os.open(path, flags)
        except OSError:
            self.save(name, self._text())
            return
        with os.fdopen(opened, "w") as file:
            file.write(self._text())
        self.log.append(f"write {name}")

    def _save_by_rename(self) -> None:
        self.save(self._file(), f"{LINES}{self._text()}")

    def _append(self) -> None:
        name = self._file()
        path = self.project / name
        text = path.read_bytes().decode(errors="replace") if path.exists() else ""
        self.save(name, text + self._text())

    def _new_file(self) -> None:
        text = self._text()
        folder = self._chance.choice(["mine", "mine/deep", "both", "gen", "both/deep", "ignored"])
        self.save(f"{folder}/new-{self._count}.{self._chance.choice(['txt', 'txt', 'log'])}", text)

    def _delete(self) -> None:
        name = self._file()
        (self.project / name).unlink(missing_ok=True)
        self.log.append(f"delete {name}")

    def _move(self) -> None:
        name = self._file()
        self._count += 1
        if (self.project / name).exists():
            (self.project / name).rename((self.project / name).with_name(f"moved-{self._count}.txt"))
        self.log.append(f"move {name}")

    def _mode(self) -> None:
        name = self._file()
        if (self.project / name).exists():
            (self.project / name).chmod(self._chance.choice([0o755, 0o644]))
        self.log.append(f"chmod {name}")

    def _link(self) -> None:
        self._count += 1
        fresh = self.project / f"mine/.link-{self._count}"
        (self.project / "mine").mkdir(exist_ok=True)
        fresh.symlink_to(f"nowhere-{self._count}")
        fresh.rename(self.project / self._chance.choice(["mine/link", "both/link"]))
        self.log.append("link")

    def _replace_folder(self) -> None:
        """Move a folder away, and put another one in its place."""
        self._count += 1
        folder = self.project / ("both/deep" if self._chance.random() < self._shared else "mine/deep")
        if folder.exists():
            folder.rename(folder.with_name(f"deep-{self._count}"))
        self.save(f"{folder.relative_to(self.project)}/e.txt", self._text())

    def _swap_folder_for_link(self) -> None:
        """Move a folder away, and put a link to it in its place."""
        self._count += 1
        folder = self.project / "mine/deep"
        if folder.is_dir() and not folder.is_symlink():
            folder.rename(folder.with_name(f"deep-{self._count}"))
            folder.symlink_to(f"deep-{self._count}")
        self.log.append("swap mine/deep for a link")

    def _stage(self) -> None:
        self.git("add", "--", self._file())

    def _stage_and_edit(self) -> None:
        name = self._file()
        self.git("add", "--", name)
        self.save(name, f"{LINES}{self._text()}")

    def _unstage(self) -> None:
        self.git("reset", "-q", "--", self._file())

    def _forget(self) -> None:
        self.git("rm", "-q", "--cached", "--", self._file())

    def _commit(self) -> None:
        self.git("commit", "-q", "--no-verify", "-m", self._text())

    def _commit_all(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "-m", self._text())

    def _amend(self) -> None:
        self.git("commit", "-q", "--no-verify", "--amend", "-m", self._text())

    def _branch(self) -> None:
        self._count += 1
        self.git("branch", f"user-{self._count}")

    def _tag(self) -> None:
        self._count += 1
        self.git("tag", f"user-tag-{self._count}")

    def _switch(self) -> None:
        self._count += 1
        branches = ["work"] + [path.name for path in (self.project / ".git/refs/heads").glob("*")]
        some = self._chance.choice(
            [["-c", f"user-{self._count}"], ["work"], [self._chance.choice([*branches, "work"])]]
        )
        self.git("switch", "-q", *some)

    def _stash(self) -> None:
        self.git("stash", "push", "-q", "-m", self._text(), *self._chance.choice([[], ["-u"], ["--", self._file()]]))

    def _pop(self) -> None:
        self.git("stash", "pop", "-q")

    def _rebase(self) -> None:
        """Begin a rebase that stops at its first line."""
        if not self._is_rebasing:
            self.git("rebase", "-q", "--autostash", "-x", "false", "HEAD~1")

    def _end_rebase(self) -> None:
        self.git("rebase", self._chance.choice(["--continue", "--abort", "--quit"]))

    def _pack(self) -> None:
        self.git("pack-refs", "--all")
