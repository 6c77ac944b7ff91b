"""List options that divert a program from what `--require` asks for. Data only."""

from __future__ import annotations

import msgspec


class BeforeScript(msgspec.Struct, frozen=True):
    """Options that are allowed between an interpreter and its script. Any other may prevent the script from running."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    """Options with a value, in the next word or joined to the option."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHELL = BeforeScript(_words("-e -u -x -eu -ex -eux -ux --norc --noprofile"), _words("-o -eo -euo -euxo"))
_PYTHON = BeforeScript(_words("-I -B -b -E -s -S -u -v -O -OO -q -P"), _words("-W -X"))
_NODE = BeforeScript(_words("--enable-source-maps --no-warnings --trace-uncaught --trace-warnings"))
INTERPRETERS: tuple[tuple[str, BeforeScript], ...] = (
    (r"(ba|da|z|k)?sh", _SHELL),
    (r"(python|pypy)[\d.]*", _PYTHON),
    (r"node(js)?", _NODE),
    (r"ruby|perl|php", BeforeScript(_words("-w"))),
)
"""Pairs of a pattern for the interpreter's name and its allowed options."""
_MAKE = _words(
    """-n --just-print --dry-run --recon -f --file --makefile -o --old-file --assume-old -t --touch
    -q --question -i --ignore-errors -W --what-if --new-file --assume-new --eval -I --include-dir -p -h -v -E"""
)
_PYTEST = _words(
    """-c --config-file --rootdir -p -k -m --deselect --ignore --ignore-glob --co --confcutdir -o --override-ini
    --lf --last-failed --sw --stepwise --noconftest --setup-only --setup-plan --pyargs -h -V"""
)
_MANAGER = _words("--ignore-scripts --script-shell -h -n")
DIVERTS: dict[str, frozenset[str]] = {
    "make": _MAKE,
    "gmake": _MAKE,
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "unittest": _words("-k -s -p -t --start-directory --pattern --top-level-directory -h"),
    "npm": _MANAGER,
    "pnpm": _MANAGER,
    "yarn": _MANAGER,
    "bun": _MANAGER | _words("-t --test-name-pattern"),
    "node": _words("-c --check -h --test-name-pattern --test-skip-pattern"),
    "jest": _words("-t --testNamePattern --testPathIgnorePatterns -c --config --rootDir -o --onlyChanged -h"),
    "vitest": _words("-t --testNamePattern --exclude -c --config -r --root --changed -h list"),
    "mocha": _words("-g --grep -f --fgrep -i --invert --config --exclude --ignore --dry-run -h"),
    "cargo": _words("--manifest-path --exclude --config -Z -h -C"),
    "go": _words("-run -skip -c -list -exec -n -C -overlay -modfile -toolexec -vettool -h"),
    "ruff": _words(
        """--config -e --exclude --extend-exclude --ignore --extend-ignore --select --per-file-ignores --add-noqa
        --extend-per-file-ignores --show-files --show-settings --isolated --stdin-filename -h"""
    ),
    "mypy": _words("--config-file --exclude --disable-error-code --ignore-errors --follow-imports -h -V"),
    "pyright": _words("-p --project -h"),
    "basedpyright": _words("-p --project -h"),
    "flake8": _words("--config --exclude --extend-exclude --ignore --extend-ignore --isolated -h"),
    "eslint": _words("-c --config --ignore-pattern --ignore-path --no-eslintrc --quiet --rule --print-config -h"),
    "tsc": _words("-p --project --noCheck --showConfig --listFilesOnly --init -h -v"),
    "tox": _words("-c --conf --notest -n --root --workdir -l -h"),
    "nox": _words("-f --noxfile -l --no-run -h"),
}
"""Programs (including Python modules), with options that select less, use another configuration, or run nothing."""
CLUSTERS_END = "rnWj"
"""Letters of short options that may be joined to a value: letters after them are not options (`-rfE`, `-n4`)."""
ONE_DASH = ("go", "tsc")
"""Programs whose long options begin with one dash, so short options cannot be joined."""
TAKES_ASSIGNMENTS = ("make", "gmake")
"""Programs with which an argument `NAME=value` overrides a variable of the build file."""
OTHER_FOLDER = ("-C", "--chdir", "--directory", "--project", "--cwd", "--dir")
"""Options of launchers that change the folder in which a program runs."""
CHANGES_FOLDER = ("cd", "pushd", "popd")
