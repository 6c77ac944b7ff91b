"""What a plain command may do beyond its name: options that run or write something, whatever rule allows the command.

The lists are of published holes of other agents' allow lists (ATTACKS A.3 to A.7, A.27) and of what their manual pages
say. A program that is not named here is taken for what its rule says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .shell import Part


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER: dict[str, str] = {
    name: why
    for why, names in {
        "it changes the shell for what follows": """eval source . exec trap alias unalias set shopt export declare
            typeset local readonly unset read mapfile readarray let enable bind complete compgen hash builtin pushd
            popd umask ulimit coproc""",
        "it runs with other rights": "sudo su doas pkexec runuser setpriv chroot nsenter unshare gosu",
        "it can send data elsewhere": """ping ping6 nslookup dig host whois traceroute tracepath curl wget http https nc
            ncat netcat socat telnet ftp sftp ssh scp rsync openssl""",
        "it can run any other command": """awk gawk mawk nawk parallel watch script expect at batch crontab entr
            zsh fish ksh csh tcsh busybox gdb strace ltrace systemd-run screen tmux""",
        "it can open other programs": "man info less more most vi vim nvim view nano emacs ed ex pico tig",
    }.items()
    for name in names.split()
}
"""Programs that ask whatever rule there is."""

_SHELLS = frozenset({"sh", "bash", "dash"})
_INTERPRETERS: dict[str, frozenset[str]] = {
    "python": _words("-c -i --"),
    "node": _words("-e -p -r -i --eval --print --require --import --loader --experimental-loader --env-file"),
    "perl": _words("-e -E -i -n -p -M -x"),
    "ruby": _words("-e -i -n -p -r"),
    "php": _words("-r -B -R -E -d"),
    "lua": _words("-e -l -i"),
    "deno": _words("eval repl"),
    "bun": _words("-e --eval -p --print repl"),
}

_RISKY: dict[str, frozenset[str]] = {
    "rg": _words("--pre --hostname-bin --search-zip -z"),
    "sort": _words("--compress-program --output -o --temporary-directory -T"),
    "find": _words("-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf"),
    "fd": _words("-x -X --exec --exec-batch"),
    "tar": _words("--to-command --checkpoint-action --use-compress-program -I --rsh-command --info-script -F"),
    "zip": _words("-T -TT --unzip-command"),
    "tree": _words("-o -R"),
    "file": _words("-C --compile"),
    "test": _words("-v"),
    "[": _words("-v"),
    "printf": _words("-v"),
    "date": _words("-s --set"),
    "yq": _words("-i --inplace"),
    "diff": _words("-l --paginate"),
    "split": _words("--filter"),
    "make": _words("--eval -f --file --makefile -C --directory -I --include-dir"),
    "go": _words("-exec -toolexec -vettool -o -overlay -modfile -C"),
    "cargo": _words("--config -Z -C --manifest-path --target-dir"),
    "npm": _words("--script-shell --prefix -C --node-options --globalconfig --userconfig"),
    "pnpm": _words("--script-shell --prefix -C --dir --shell-emulator"),
    "yarn": _words("--cwd --use-yarnrc"),
    "pytest": _words(
        "-p -c --config-file -o --override-ini --rootdir --confcutdir --basetemp --pastebin --junitxml --junit-xml"
        " --log-file --import-mode --debug"
    ),
    "ruff": _words("--config --output-file -o"),
    "mypy": _words("--python-executable --config-file --install-types"),
    "env": _words("-S --split-string"),
}
_GIT_RISKY = _words(
    """-c --config-env --exec-path --output --upload-pack --receive-pack --exec --ext-diff --textconv
    --open-files-in-pager --git-dir --work-tree --paginate --template --namespace --super-prefix --no-index -x -O -C
    --interactive --edit --ignore-revs-file"""
)
_GIT_COMMANDS = _words(
    """config filter-branch bisect submodule difftool mergetool daemon instaweb send-email credential archive hook
    maintenance upload-pack receive-pack remote-ext remote-fd gui citool svn p4 cvsserver fsmonitor--daemon bundle
    fast-import update-index worktree web--browse sh-setup"""
)

WRITERS = _words("tee cp mv ln install dd rm rmdir mkdir mkfifo touch truncate chmod chown chgrp shred unlink patch")
"""Programs whose arguments are files that they change."""

_PRINT = re.compile(r"\d+(,(\d+|\$))?p")
_SINGLE_DASH = frozenset({"find", "go", "zip"})
"""Their options are words behind one dash."""


def risk(part: Part) -> str | None:
    """Why this command asks whatever rule allows it, or None. Its words are known (see `unknown_word`)."""
    name = base(part.name)
    given = part.texts[1:]
    if name in NEVER:
        return f"`{name}`: {NEVER[name]}"
    if name in _SHELLS:
        return f"`{name}`: it runs commands that are not seen here"
    if name == "git":
        return _git_risk(given)
    if name == "sed":
        return _sed_risk(part)
    if name in ("uniq", "xxd") and len([word for word in given if not word.startswith("-")]) > 1:
        return f"`{name}`: it writes to its second file"
    if name == "make" and any("=" in word for word in given):
        return "`make`: it sets variables of the makefile"
    language = _language(name)
    if language is not None:
        return _interpreter_risk(part, _INTERPRETERS[language])
    found = next((word for word in given if _is_risky(word, _RISKY.get(name, frozenset()), name)), None)
    return f"`{name} {found}`: this option can run or write something" if found else None


def unknown_word(part: Part) -> str | None:
    """Why what reaches the command is not known, or None."""
    for i, word in enumerate(part.words):
        if word.known and not word.pattern:
            continue
        if i == 0:
            return f"which program `{word.text}` runs is not known"
        if word.pattern and base(part.name) not in WRITERS and re.match(r"[\w./]", word.text):
            continue  # the names that it becomes begin like the pattern: never with a dash
        if base(part.name) == "echo" and (word.echoable or word.pattern):
            continue
        return f"what `{word.text}` becomes is not known"
    return None


def base(name: str) -> str:
    """The program's name without its folder."""
    return name.rpartition("/")[2]


def _language(name: str) -> str | None:
    plain = re.sub(r"[\d.]+$", "", name)
    plain = {"pypy": "python", "nodejs": "node", "luajit": "lua"}.get(plain, plain)
    return plain if plain in _INTERPRETERS else None


def _interpreter_risk(part: Part, risky: frozenset[str]) -> str | None:
    name, given = part.name, part.texts[1:]
    for word in given:
        if not word.startswith("-") or word == "-m":
            break
        if _is_risky(word, risky, name):
            return f"`{name} {word}`: it runs code from the command line"
    if given and (given[0] in ("--version", "-V", "-v", "--help") and len(given) == 1):
        return None
    if all(word.startswith("-") for word in given):
        return f"`{name}`: it runs code from its standard input"
    return f"`{name} {given[0]}`: it runs code from the command line" if given[0] in risky else None


def _is_risky(word: str, risky: frozenset[str], name: str) -> bool:
    """The word is one of these options, also shortened (`--outp`), joined (`-ofile`) or bundled (`-ro`)."""
    if not word.startswith("-") or word == "-":
        return word in risky
    option = word.partition("=")[0]
    if name in _SINGLE_DASH and not word.startswith("--"):
        return option in risky or option.lstrip("-") in {r.lstrip("-") for r in risky if len(r) > 2}
    if word.startswith("--"):
        if name == "go" and option[1:] in risky:
            return True
        return any(r.startswith(option) for r in risky if r.startswith("--")) and option != "--"
    return any(r[1] in word[1:] for r in risky if len(r) == 2 and r != "--")


def _sed_risk(part: Part) -> str | None:
    """Only printing lines by number is without risk: a script can write files and run commands."""
    given = part.texts[1:]
    if part.piped or len(given) < 3 or given[0] != "-n" or not _PRINT.fullmatch(given[1]):
        return "`sed`: its script can write files and run commands"
    return "`sed`: it has further options" if any(word.startswith("-") for word in given[2:]) else None


def _git_risk(given: Sequence[str]) -> str | None:
    command = next((word for word in given if not word.startswith("-")), "")
    if command in _GIT_COMMANDS:
        return f"`git {command}`: it can change what git runs"
    if command == "rebase" and _has(given, "-i"):
        return "`git rebase -i`: it runs commands"
    found = next((word for word in given if _is_git_risk(word)), None)
    return f"`git {found}`: this option can run or write something" if found else None


def _is_git_risk(word: str) -> bool:
    if word.startswith("--"):
        return _is_risky(word, _GIT_RISKY, "git")
    if word.startswith("-") and len(word) > 1:
        return word[:2] in _GIT_RISKY
    return word.startswith("ext::")


def _has(given: Sequence[str], option: str) -> bool:
    return any(word.startswith(option) for word in given)
