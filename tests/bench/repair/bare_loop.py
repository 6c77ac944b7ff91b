"""The smallest harness that can work, to compare others with: the whole file, the failing test, a few tries.

    python bare_loop.py PROGRAM BASE_URL MODEL CHECK SECONDS

Each try is a new request with the original program and what the check printed of it, at a higher temperature than the
try before. The last code block of the answer becomes the program. Exits with 0 if the check passes, else the original
program is back.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

SHOWN = 1_000
"""Characters of the check's output in a prompt: its end."""
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def passes(check: str) -> tuple[bool, str]:
    try:
        done = subprocess.run(check, shell=True, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return False, "the tests did not end within 60 s"
    return done.returncode == 0, done.stdout[-SHOWN:]


def answer(base: str, model: str, prompt: str, temperature: float, longest: int, seconds: float) -> str:
    message = {"role": "user", "content": prompt}
    body = {"model": model, "messages": [message], "temperature": temperature, "max_tokens": longest}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'x')}"}
    request = urllib.request.Request(f"{base}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=seconds) as reply:
        return json.load(reply)["choices"][0]["message"]["content"] or ""


def main(program: str, base: str, model: str, check: str, seconds: str) -> int:
    end, path = time.monotonic() + float(seconds), Path(program)
    original = path.read_text()
    good, failure = passes(check)
    tries = 0
    while not good and (left := end - time.monotonic()) > 0:
        prompt = (
            f"{program} has a bug:\n\n```python\n{original}\n```\n\nThe tests print:\n\n{failure}\n\n"
            f"Write the whole of {program} with the bug fixed, in one code block."
        )
        try:
            text = answer(base, model, prompt, min(1.0, tries / 4), 300 + len(original) // 2, left)
        except OSError as e:
            print(f"no answer: {e}")
            break
        tries += 1
        if found := BLOCK.findall(text):
            path.write_text(found[-1])
            good, _ = passes(check)
        print(f"try {tries}: {'passed' if good else 'failed' if found else 'no code block'}", flush=True)
        if not good:
            path.write_text(original)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
