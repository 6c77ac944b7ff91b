"""`python -m fuzz [--seconds N] [TARGET...]` from `tests/`: a long run with atheris, or with hypothesis without it.

atheris (coverage-guided, from libFuzzer) is not among the locked dependencies: `pip install atheris` adds it where a
wheel for this Python exists. What a run finds is written to the folder of `--keep` and named.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import time
import traceback
from pathlib import Path

LONGEST = 20_000
"""Bytes of one input."""
_BATCH = 400
"""Examples of hypothesis before the clock is looked at."""


def main() -> int:
    """Run each target for the given time. Exit code 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all of tests/fuzz/targets")
    parser.add_argument("--seconds", type=int, default=60, help="for each target; default: 60")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"), help="folder for inputs that fail")
    parser.add_argument("--engine", choices=["atheris", "hypothesis"], help="default: atheris where it is installed")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return _atheris(given.targets[0], given.seconds, given.seed, given.keep)
    from .targets import TARGETS

    if unknown := [name for name in given.targets if name not in TARGETS]:
        parser.error(f"unknown target {unknown[0]}: there are {', '.join(TARGETS)}")
    engine = given.engine or ("atheris" if importlib.util.find_spec("atheris") else "hypothesis")
    if engine == "hypothesis" and given.engine is None:
        print("atheris is not installed (pip install atheris): hypothesis makes the inputs, without coverage")
    failed: list[str] = []
    for name in given.targets or TARGETS:
        if engine == "atheris":  # libFuzzer ends its process
            words = [f"--seconds={given.seconds}", f"--seed={given.seed}", f"--keep={given.keep}", "--inside", name]
            is_sound = subprocess.run([sys.executable, "-m", "fuzz", *words], check=False).returncode == 0
        else:
            is_sound = _hypothesis(name, given.seconds, given.seed, given.keep)
        failed += [] if is_sound else [name]
    print(f"failed: {', '.join(failed)}" if failed else "nothing was found")
    return 1 if failed else 0


def _atheris(name: str, seconds: int, seed: int, keep: Path) -> int:
    import tempfile

    import atheris

    with atheris.instrument_imports(include=["rundry"]):
        from .targets import TARGETS

    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as folder:
        corpus, words = Path(folder) / "corpus", Path(folder) / "words"
        corpus.mkdir()
        for number, seed_bytes in enumerate(target.seeds):
            (corpus / str(number)).write_bytes(seed_bytes)
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words if word))
        keep.mkdir(exist_ok=True)
        options = [
            f"-max_total_time={seconds}",
            f"-max_len={LONGEST}",
            f"-seed={seed}",
            "-timeout=20",
        ]
        options += [f"-dict={words}"] if words.stat().st_size else []
        quiet = ["-verbosity=0", "-print_final_stats=0", f"-artifact_prefix={keep / name}-"]
        print(f"{name}: atheris, {seconds} s", flush=True)
        atheris.Setup(["fuzz", *options, *quiet, str(corpus)], target.run)
        atheris.Fuzz()
    return 0


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _hypothesis(name: str, seconds: int, seed: int, keep: Path) -> bool:
    from hypothesis import HealthCheck, Phase, given, seed as seeded, settings

    from .mutation import inputs
    from .targets import TARGETS

    target = TARGETS[name]
    count, last = 0, b""

    def run(data: bytes) -> None:
        nonlocal count, last
        count, last = count + 1, data
        target.run(data)

    until = time.monotonic() + seconds
    options = settings(
        max_examples=_BATCH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    while time.monotonic() < until:
        try:
            seeded(seed)(options(given(inputs(target))(run)))()
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            keep.mkdir(exist_ok=True)
            (keep / name).write_bytes(last)
            traceback.print_exc()
            print(f"{name}: failed after {count:,} inputs; the smallest one found is {keep / name}: {last!r}")
            return False
        seed += 1
    print(f"{name}: hypothesis, {count:,} inputs in {seconds} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
