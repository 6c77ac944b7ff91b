"""Convert a path to one line of text in which every character is visible."""

from __future__ import annotations


def quoted_path(path: str) -> str:
    """Return `path` as git writes it in a diff: in quotes, with octal bytes, if it contains an invisible character.

    A path then cannot add lines to a diff or to Markdown (git-config(1), core.quotePath). A plain path is unchanged.
    """
    if path.isprintable() and not any(sign in path for sign in '"\\'):
        return path
    return f'"{"".join(sign if _shows(sign) else _octal(sign) for sign in path)}"'


def _shows(sign: str) -> bool:
    return sign.isprintable() and sign not in '"\\'


def _octal(sign: str) -> str:
    is_raw_byte = "\udc80" <= sign <= "\udcff"
    data = sign.encode("utf-8", "surrogateescape" if is_raw_byte else "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)
