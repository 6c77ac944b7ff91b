"""Validate an answer against a JSON Schema: `python -I -B -c schema_child.py SECONDS`, both as JSON on standard input.

Prints `{"passed": ..., "detail": ...}`. More processor time than SECONDS ends the process, also within a pattern.
Imports nothing of rundry.
"""

import json
import os
import signal
import sys
from typing import Any, NoReturn


def unfenced(answer: str) -> str:
    """Remove a code fence that encloses the whole answer."""
    lines = answer.strip().splitlines()
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if fenced else answer


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and Infinity, which are not JSON."""
    raise ValueError(f"{name} is not JSON")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object. Raises ValueError if it has a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it has the key {next(name for name in names if names.count(name) > 1)!r} twice")
    return found


def judge_answer(schema: dict[str, Any], answer: str) -> tuple[bool, str]:
    """Return whether the answer fits the schema, and a detail for people and the model."""
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
    try:
        value = json.loads(unfenced(answer), parse_constant=refuse_constant, object_pairs_hook=unique_keys)
        # With an empty registry, a `$ref` to the network is not fetched.
        validator = validator_for(schema)(schema, registry=Registry())
        error = min(validator.iter_errors(value), key=lambda error: len(error.absolute_path), default=None)
    except ValueError as error:
        return False, f"the answer is not JSON: {error}"
    except Unresolvable as unknown:
        return False, f"the schema refers to {unknown.ref}, which is not in it"
    except RecursionError:
        return False, "the answer or the schema is nested too deeply"
    if error is None:
        return True, "the answer fits the schema"
    return False, f"the answer does not fit the schema at {error.json_path}: {error.message[:300]}"


def main() -> None:
    """Read the schema and the answer, and print the verdict."""
    passed, detail = judge_answer(*json.load(sys.stdin))
    print(json.dumps({"passed": passed, "detail": detail}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
