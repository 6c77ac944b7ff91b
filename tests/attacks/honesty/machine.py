"""Ways to run the real program: held by bubblewrap, by Landlock or by nothing, as root or as an ordinary user.

`DIRECT` is held by Landlock on a machine that refuses mounts, so that commands work in the workspace itself.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from fakes.machines import words_for
from fakes.rundry import RUNDRY, TIMEOUT, Home, Ran

BUBBLEWRAP, LANDLOCK, NONE, DIRECT = "bubblewrap", "landlock", "none", "direct"
NOBODY = 65534
_NO_LANDLOCK = """
import ctypes, os, struct, sys
load, equal, give = (0x20, 0, 0, 0), (0x15, 0, 1, 444), 0x06
rows = [load, equal, (give, 0, 0, 0x00050000 | 38), (give, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A kernel without Landlock: seccomp(2) answers landlock_create_ruleset with ENOSYS."""
_OPEN_PATH = """
set -e
mount --bind "$1" "$3"; mount -t tmpfs -o mode=755 none "$2"; mkdir -p "$1"; mount --bind "$3" "$1"
shift 3
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all -- "$@"
"""
"""Python may stand in a home that others cannot enter: only it is shown there, in a mount namespace of this run."""


@dataclass(frozen=True)
class Machine:
    """The user who runs the program, and the sandbox of its commands."""

    sandbox: str = BUBBLEWRAP
    is_root: bool = True

    def run(self, home: Home, *argv: str, cwd: Path, timeout: float = TIMEOUT) -> Ran:
        """Run it to its end."""
        env = dict(home.env)
        if self.sandbox != BUBBLEWRAP:
            first, _, rest = env["PATH"].partition(str(RUNDRY.parent))
            env["PATH"] = f"{first}{RUNDRY.parent}{os.pathsep}{_without_bubblewrap(rest.lstrip(os.pathsep))}"
        words = [str(RUNDRY), *argv]
        if self.sandbox == NONE:
            words = [sys.executable, "-c", _NO_LANDLOCK, *words]
        if self.sandbox == DIRECT:
            words = [*words_for("landlock"), *words]
        if not self.is_root:
            words = [*_as_nobody(cwd.parent), *words]
        done = subprocess.run(words, cwd=cwd, env=env, input="", capture_output=True, text=True, timeout=timeout)
        return Ran(done.returncode, done.stdout, done.stderr, ["rundry", *argv])

    def why_not(self) -> str:
        """Why this is not available here, or an empty text if it is."""
        if not self.is_root and (os.geteuid() != 0 or not shutil.which("setpriv")):
            return "only root can become an ordinary user, by setpriv"
        if not self.is_root and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
            return "no mount namespace can be made here"
        if self.sandbox == BUBBLEWRAP and not shutil.which("bwrap"):
            return "bubblewrap is not installed"
        from rundry.agent.sandbox.landlock import why_no_landlock

        return why_no_landlock() if self.sandbox in (LANDLOCK, DIRECT) else ""


def give(folder: Path) -> None:
    """All of it belongs to the ordinary user now."""
    for top, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(os.path.join(top, name), NOBODY, NOBODY, follow_symlinks=False)


def _as_nobody(folder: Path) -> list[str]:
    base = Path(sys.base_prefix)
    closed = next((place for place in reversed(base.parents) if not place.stat().st_mode & 0o001), None)
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--"]
    if closed is None:
        return words
    aside = folder / "python"
    aside.mkdir(exist_ok=True)
    return ["unshare", "--mount", "sh", "-c", _OPEN_PATH, "sh", str(base), str(closed), str(aside)]


@cache
def _without_bubblewrap(path: str) -> Path:
    """One folder with links to all programs of this PATH but bubblewrap."""
    farm = Path(mkdtemp(prefix="programs-"))
    atexit.register(shutil.rmtree, farm, ignore_errors=True)
    farm.chmod(0o755)
    for entry in path.split(os.pathsep):
        for program in Path(entry).iterdir() if Path(entry).is_dir() else ():
            link = farm / program.name
            if program.name != "bwrap" and not link.is_symlink():
                link.symlink_to(program)
    return farm
