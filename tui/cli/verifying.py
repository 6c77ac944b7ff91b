"""`rundry verify`: check in a clean checkout whether the result of an ended run passes. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

from rundry.agent import Confirmation, Confirmed, confirmation_words, some_files, verify_run

from ..border.json_out import print_json
from ..setup.resuming import find_any_own
from ..text import one_line, show

EXIT_CODES = {Confirmed.PASSED: 0, Confirmed.FAILED: 1, Confirmed.NOT_CONFIRMED: 6}


def verify(ref: str | None, flags: Mapping[str, object], *, command: str | None, as_json: bool) -> int:
    """Run the checks and print one line. Return the exit code. Raises RundryError."""
    verified = asyncio.run(verify_run(find_any_own(ref, flags), command, os.environ))
    if as_json:
        print_json(verified)
        return EXIT_CODES[verified.result]
    if verified.output.strip():
        print(show(verified.output.rstrip("\n")), file=sys.stderr)
    confirmation = Confirmation(result=verified.result, command=verified.command, detail=verified.detail)
    words = f"{confirmation_words(confirmation)} ({verified.command}, {verified.seconds:.1f} s)"
    if verified.left_out:
        words += f", without what nobody decided on: {some_files(verified.left_out)}"
    print(one_line(f"{verified.run_id}  {words}"))
    if not verified.recorded:
        print("the run is open elsewhere, so the result was not recorded", file=sys.stderr)
    return EXIT_CODES[verified.result]
