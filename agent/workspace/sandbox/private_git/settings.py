"""Build the config of a private git folder from the settings of the user's repository that do not name a program."""

from __future__ import annotations

import re

_DATA = re.compile(
    r"""
    core\.(?:repositoryformatversion|filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath
        |worktree|sparsecheckout|sparsecheckoutcone|abbrev|trustctime|checkstat|commentchar|bare|whitespace|longpaths
        |protecthfs|protectntfs|excludesfile)
    |extensions\.(?:objectformat|compatobjectformat|partialclone|noop)
    |(?:user|author|committer)\.(?:name|email|useconfigonly)
    |remote\..*\.(?:url|pushurl|fetch|push|tagopt|prune|mirror|promisor|partialclonefilter)
    |branch\..*\.(?:remote|merge|rebase|pushremote|description)
    |branch\.(?:autosetupmerge|autosetuprebase|sort)
    |merge\.(?:ff|conflictstyle|renames|renamelimit|directoryrenames|log|autostash|verbosity)
    |diff\.(?:algorithm|renames|renamelimit|context|interhunkcontext|mnemonicprefix|noprefix|submodule|ignoresubmodules
        |colormoved|indentheuristic|wserrorhighlight|suppressblankempty|statgraphwidth|relative)
    |pull\.(?:rebase|ff)|push\.(?:default|autosetupremote|followtags)
    |rebase\.(?:autosquash|autostash|updaterefs|stat|missingcommitscheck)
    |fetch\.(?:prune|prunetags)|tag\.sort|init\.defaultbranch
    |status\.\w+|stash\.\w+|log\.(?:date|decorate|follow|abbrevcommit)|commit\.(?:verbose|status|cleanup)
    |rerere\.(?:enabled|autoupdate)|submodule\..*\.(?:url|path|active|branch|ignore)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_FILTER = re.compile(r"filter\.(.*)\.(?:clean|smudge|process|required)", re.IGNORECASE | re.DOTALL)
_WITH_PASSWORD = re.compile(r"^(\w[\w+.-]*://)[^/@]*@")
_FIXED = (
    ("gc.auto", "0"),
    ("gc.writecommitgraph", "false"),
    ("fetch.writecommitgraph", "false"),
    ("maintenance.auto", "false"),
    ("core.splitindex", "false"),
    ("core.untrackedcache", "false"),
    ("core.logallrefupdates", "true"),
    ("index.sparse", "false"),
)


def render_config(listed: bytes) -> bytes:
    """Return a config with those settings that are only data. `listed`: output of `git config --list -z`."""
    pairs = list[tuple[str, str]]()
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        key, has_value, value = entry.partition("\n")
        if filtered := _FILTER.fullmatch(key):
            # git must fail: without the program of the filter it would store other bytes than the user's git.
            pairs.append((f"filter.{filtered[1]}.required", "true"))
        elif _DATA.fullmatch(key):
            pairs.append((key, _WITH_PASSWORD.sub(r"\1", value) if has_value else "true"))
    text = "".join(_setting(key, value) for key, value in dict.fromkeys((*pairs, *_FIXED)))
    return text.encode("utf-8", "surrogateescape")


def _setting(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    middle, _, name = rest.rpartition(".")
    quoted = middle.replace("\\", "\\\\").replace('"', '\\"')
    head = f'[{section} "{quoted}"]' if middle else f"[{section}]"
    shown = (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b")
    )
    return f'{head}\n\t{name} = "{shown}"\n'
