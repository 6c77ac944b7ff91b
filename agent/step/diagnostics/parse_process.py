"""Parse files and say which of them fail. It runs as a helper process: `parse_files.py` sends it the files.

A text is JSON: path, content before (or null) and content now of each file, both as Latin-1.
"""

from __future__ import annotations

import json
import re
import tomllib
import warnings

from ...shell.helper_process import serve_helper

LONGEST = 3.0
"""Seconds of processor time for the files of one step."""

_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def problem(path: str, data: bytes) -> tuple[int, str] | None:
    """Return line and message of why a file cannot be parsed, or None if it can be, or is too deep to tell."""
    try:
        if path.endswith(".json"):
            json.loads(data.decode("utf-8-sig"))
        elif path.endswith(".toml"):
            tomllib.loads(data.decode())
        else:
            compile(data, path, "exec", dont_inherit=True)
    except (RecursionError, MemoryError, OverflowError):
        return None
    except SyntaxError as error:
        return error.lineno or 1, error.msg
    except json.JSONDecodeError as error:
        is_comment = error.doc[error.pos :].lstrip().startswith(("//", "/*"))  # then its program allows them
        return None if is_comment else (error.lineno, error.msg)
    except UnicodeDecodeError as error:
        return data[: error.start].count(b"\n") + 1, f"not UTF-8: {error.reason}"
    except ValueError as error:  # of tomllib, or a NUL in Python
        place = _PLACE.search(str(error))
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        return int(place[1]) if place and place[1] else max(lines, 1), _PLACE.sub("", str(error))
    return None


def _answer(text: str) -> bytes:
    """Return the problems of those files that could be parsed before, or are new."""
    found = list[dict[str, object]]()
    for path, before, now in json.loads(text):
        why = problem(path, now.encode("latin-1"))
        if why is not None and (before is None or problem(path, before.encode("latin-1")) is None):
            found.append({"path": path, "line": why[0], "message": why[1]})
    return json.dumps(found).encode()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # to show one, Python would look for the file in folders of this process
    serve_helper(_answer, seconds=LONGEST)
