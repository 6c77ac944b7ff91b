"""Options with which a program does something else than it is required to do, by its name. Data only."""

from __future__ import annotations

import msgspec


class BeforeScript(msgspec.Struct, frozen=True):
    """Options that may stand between an interpreter and its script. Any other one may keep the script from running."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    """Options whose value is the next word, or is joined to them."""


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
"""A pattern of the program's name, and what may stand before the script."""
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
"""Programs, Python modules among them, and options that select less, obey another configuration, or run nothing."""
CLUSTERS_END = "rnWj"
"""Letters of short options whose value may be joined to them: what comes behind is no option (`-rfE`, `-n4`)."""
ONE_DASH = ("go", "tsc")
"""Their long options begin with one dash, so that short ones cannot be joined."""
TAKES_ASSIGNMENTS = ("make", "gmake")
"""`NAME=value` among their arguments replaces what the build file says."""
OTHER_FOLDER = ("-C", "--chdir", "--directory", "--project", "--cwd", "--dir")
"""Options of launchers that change the folder in which a program runs."""
CHANGES_FOLDER = ("cd", "pushd", "popd")
