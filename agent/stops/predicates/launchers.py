"""List launchers, which return the exit status of the program that they start, and options that prevent the work."""

from __future__ import annotations

import msgspec


class Launcher(msgspec.Struct, frozen=True):
    """Options that may be between a launcher and its program. After any other option, the program is unknown."""

    flags: frozenset[str] = frozenset()
    """Options without a value."""
    valued: frozenset[str] = frozenset()
    """Options with a value, in the next word or after `=`."""
    skip: int = 0
    """Number of words between the options and the program, such as the duration of `timeout`."""
    assigns: bool = False
    """Whether `NAME=value` may precede the program."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _launcher(flags: str = "", valued: str = "", skip: int = 0, *, assigns: bool = False) -> Launcher:
    return Launcher(_words(flags), _words(valued), skip, assigns)


LAUNCHERS: dict[tuple[str, ...], Launcher] = {
    ("timeout",): _launcher("-v --verbose --foreground", "-k -s --kill-after --signal", 1),
    ("time",): _launcher("-p"),
    ("nice",): _launcher("", "-n --adjustment"),
    ("ionice",): _launcher("-t", "-c -n --class --classdata"),
    ("stdbuf",): _launcher("", "-i -o -e --input --output --error"),
    ("env",): _launcher(assigns=True),
    ("nohup",): _launcher(),
    ("command",): _launcher("-p"),
    ("exec",): _launcher(),
    ("chronic",): _launcher(),
    ("unbuffer",): _launcher(),
    ("xvfb-run",): _launcher("-a --auto-servernum", "-s --server-args"),
    ("uv", "run"): _launcher(
        "-q --quiet -v --frozen --locked --no-sync --offline --isolated --all-extras --all-groups --dev --no-dev",
        "--with --extra --group -p --python --project --directory --package --with-requirements",
    ),
    ("uvx",): _launcher("-q --quiet --isolated --offline", "--with -p --python"),
    ("poetry", "run"): _launcher(),
    ("pipenv", "run"): _launcher(),
    ("pdm", "run"): _launcher(),
    ("hatch", "run"): _launcher(),
    ("rye", "run"): _launcher(),
    ("pixi", "run"): _launcher(),
    ("bundle", "exec"): _launcher(),
    ("mise", "exec"): _launcher(),
    ("direnv", "exec"): _launcher("", "", 1),
    ("npx",): _launcher("-y --yes --no --no-install"),
    ("bunx",): _launcher(),
    ("npm", "exec"): _launcher("-y --yes --no"),
    ("pnpm", "exec"): _launcher(),
    ("pnpm", "dlx"): _launcher(),
    ("yarn", "exec"): _launcher(),
    ("yarn", "dlx"): _launcher(),
    ("coverage", "run"): _launcher("--branch -a --append -p --parallel-mode", "--source --rcfile --data-file --omit"),
}
"""Launchers by the first words of the command."""
MODULE_FLAGS = _words("-I -B -b -E -s -S -u -v -O -OO -q -P")
MODULE_VALUED = _words("-W -X")
"""Options of Python that may precede `-m` or the script."""
NO_WORK_OPTIONS = _words(
    """--help --version --collect-only --collectonly --co --fixtures --markers --setup-plan --dry-run --just-print
    --recon --list-tests --listTests --list --if-present --exit-zero --print-config --showconfig --no-run
    --passWithNoTests"""
)
"""Options with which a program only prints something, or exits with 0 whatever it finds."""
NO_WORK_ALONE = _words("-h -V -v -n help version")
"""Arguments with the same effect if there is no other argument."""
