"""Convert a path to one line of text in which every character is visible."""

from __future__ import annotations


def quoted_path(path: str) -> str:
    """Return `path` as git writes it in a diff: in quotes, with octal bytes, if it contains an invisible character.

    A path then cannot add lines to a diff or to Markdown (git-config(1), core.quotePath). A plain path is unchanged.
    """
    if path.isprintable() and not any(character in path for character in '"\\'):
        return path
    return f'"{"".join(character if _shows(character) else _octal(character) for character in path)}"'


def _shows(character: str) -> bool:
    return character.isprintable() and character not in '"\\'


def _octal(character: str) -> str:
    is_raw_byte = "\udc80" <= character <= "\udcff"
    data = character.encode("utf-8", "surrogateescape" if is_raw_byte else "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)
