"""Fill in the variables of a shell script whose values can be read from its text.

So `for t in suite/*.sh; do sh "$t"; done` also becomes `sh suite/*.sh`, and a reader of commands sees what is executed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

_ASSIGNED = re.compile(
    r"""(?:^|[;\n]|&&)\s*(?:export\s+|local\s+|readonly\s+)?(\w+)=("[^"`\n]*"|'[^'\n]*'|[^\s;&|"'`]*)"""
)
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+((?:\\\n|[^;\n])+)")
_READ = re.compile(r"\bread\s+(?:-\w+\s+)*(\w+)")
_FUNCTION = re.compile(r"^\s*(?:function\s+)?[\w-]+\s*\(\)\s*\{", re.MULTILINE)
_OWN_FOLDER = re.compile(
    r"""\$\(\s*(?:CDPATH=\s*)?cd\s+(?:--\s+)?["']?(?:\$\(dirname\s+(?:--\s+)?["']?\$(?:0|\{?BASH_SOURCE(?:\[0\]|:-\$0)*\}?)["']?\)|\$\{(?:0|BASH_SOURCE\[0\])%/\*\})(?P<below>[\w./-]*)["']?[^()]*\)"""
    r"""|\$\(dirname\s+(?:--\s+)?["']?\$(?:0|\{?BASH_SOURCE(?:\[0\])?\}?)["']?\)|\$\{(?:0|BASH_SOURCE\[0\])%/\*\}"""
)
"""`$(dirname "$0")`, `${0%/*}` and `$(cd "$(dirname "$0")/.." && pwd)`."""
_ITEM = re.compile(r"""[^\s"'`;()|&<>=]+""")
_MOST = 30
"""Most values of one variable, and most variants of one text."""


def filled_in(text: str, script: str = "", arguments: Sequence[str] = ()) -> list[str]:
    """Return the text with constants filled in, and then once for each value that a loop gives to its variable.

    `script`: the script with this text, as its folder sees it. `arguments`: the words after its name.
    """
    plain = _OWN_FOLDER.sub(lambda match: _below(script, match["below"]), text)
    for number, value in enumerate(arguments, 1):
        if "\0" not in value:
            plain = _put(plain, str(number), value)
    if arguments and not any("\0" in value for value in arguments):
        plain = re.sub(r'"?\$[@*]"?', lambda _: " ".join(arguments), plain)
    plain = _with_constants(plain)
    return [plain, *_variants(plain)]


def _below(script: str, rest: str | None) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(script) or ".", (rest or "").lstrip("/")))


def _with_constants(text: str) -> str:
    """Fill in variables that the text assigns once, with a value that is known."""
    found = _ASSIGNED.findall(text)
    names = [name for name, _ in found]
    values = {name: value.strip("\"'") for name, value in found if names.count(name) == 1}
    for _ in range(3):
        for name, value in values.items():
            if "$" not in value:
                text = _put(text, name, value)
        values = {name: value.strip("\"'") for name, value in _ASSIGNED.findall(text) if name in values}
    return text


def _variants(text: str) -> Iterator[str]:
    count = 0
    for name, values in _loops(text):
        for value in values[:_MOST]:
            count += 1
            if count > _MOST:
                return
            yield _put(text, name, value)


def _loops(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each variable that takes one value after the other, with the values that can be read."""
    for match in _LOOP.finditer(text):
        yield match[1], _items(match[2].replace("\\\n", " ").replace('"', ""))
    for match in _READ.finditer(text):
        yield match[1], [item for item in _items(text) if "/" in item or "*" in item]
    if _FUNCTION.search(text):
        yield "1", [item for item in _items(text) if ("/" in item or "*" in item) and not item.startswith("-")]


def _items(words: str) -> list[str]:
    """Return the words of a list that are known: `suite/*` and `*` for `$(ls suite)`, all below for `$(find suite)`."""
    found = dict[str, None]()
    searches = re.search(r"\bfind\s+([\w./-]+)", words)
    if searches:
        found[f"{searches[1].rstrip('/')}/**/*"] = None
    lists = re.search(r"\bls\s+(?:-\w+\s+)*([\w./-]+)\s*[)`|]", words)
    if lists:
        found.update({f"{lists[1].rstrip('/')}/*": None, "*": None})
    found.update((item, None) for item in _ITEM.findall(words) if "$" not in item and item not in ("find", "ls", "\\"))
    return list(found)


def _put(text: str, name: str, value: str) -> str:
    """Fill in `$name`, `${name}` and `${name:-other}`; not in an assignment to the name itself."""
    bare = rf"\${name}(?!\w)|\$\{{{name}(?::?-[^}}]*)?\}}"
    return re.sub(bare, lambda _: value, text)
