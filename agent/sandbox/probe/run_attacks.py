"""Run the attacks in a sandbox, and store the results until the machine or the program changes."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from ...host.own_temp import temp_folder
from ...host.plain_files import read_plain
from ...host.processes.processes import Finished
from ...host.real_paths import followed
from ...protocol.text.broken_json import BROKEN_JSON
from ...protocol.version import VERSION
from .attack_targets import AttackStage
from .guarantees import Verdict

_ATTACKS = Path(__file__).with_name("attacks.py")
_FILE = "sandbox.json"
_MOST_KEPT = 8
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")

RunAttacks = Callable[[AttackStage, list[str]], Awaitable[Finished]]
"""Run a command on a stage in the sandbox that is being tested."""


class ProbeResult(msgspec.Struct, frozen=True):
    """The results of the attacks, by the name of the guarantee."""

    verdicts: dict[str, Verdict] = {}
    why: str = ""
    """Why there are no verdicts; empty if there are."""


def cache_folder() -> Path:
    """Return the folder for data that can be computed again."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "rundry"


async def probe(run: RunAttacks, about: str, *, workspace: Path | None, fresh: bool) -> ProbeResult:
    """Return which guarantees the sandbox gives.

    `about`: identifies this sandbox. `workspace`: a folder that commands can write to, so results are not stored there.
    `fresh`: ignore stored results.
    """
    kept = cache_folder() / _FILE
    if workspace is not None and _is_below(kept, workspace):
        return await _attack(run)
    key = _key(about)
    known = _read(kept)
    if not fresh and key in known:
        return known[key]
    found = await _attack(run)
    if found.verdicts:
        _write(kept, {**known, key: found})
    return found


def _is_below(path: Path, folder: Path) -> bool:
    real = followed(path)
    return real is not None and real.is_relative_to(os.path.realpath(folder))


async def _attack(run: RunAttacks) -> ProbeResult:
    try:
        with temp_folder("probe", _stage_folder()) as folder, AttackStage(folder) as stage:
            targets = msgspec.json.encode(stage.targets).decode()
            done = await run(stage, [sys.executable, "-I", "-S", "-B", "-c", _text(), targets])
            return _judge(stage, done)
    except OSError as error:
        return ProbeResult(why=f"the sandbox was not tested: {error.strerror or error}")


def _judge(stage: AttackStage, done: Finished) -> ProbeResult:
    try:
        inside = msgspec.json.decode(done.output.strip().rpartition(b"\n")[2], type=dict[str, bool])
    except BROKEN_JSON:
        message = done.error or done.errors.decode(errors="replace").strip().rpartition("\n")[2] or "no answer"
        return ProbeResult(why=f"the sandbox was not tested: the attacks did not run ({message})")
    verdicts = stage.verdicts(inside)
    return ProbeResult(
        verdicts, "" if verdicts else "the sandbox was not tested: a command cannot write in its workspace"
    )


def _stage_folder() -> Path | None:
    """Return a folder that commands can see. A temp folder is not suitable, because the sandbox replaces it."""
    try:
        cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return cache_folder() if os.access(cache_folder(), os.W_OK) else None


def _key(about: str) -> str:
    """Return a key of everything the result depends on: kernel, namespaces, program, user and sandbox."""
    facts = [about, VERSION, _text(), os.uname().release, str(os.getuid())]
    with suppress(OSError):
        facts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii"))
    for name in _NAMESPACES:
        with suppress(OSError):
            facts.append(str(Path(f"/proc/self/ns/{name}").readlink()))
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def _read(path: Path) -> dict[str, ProbeResult]:
    """Return the stored results; none if the file is damaged."""
    try:
        return msgspec.json.decode(read_plain(path), type=dict[str, ProbeResult])
    except (OSError, *BROKEN_JSON):
        return {}


def _write(path: Path, known: dict[str, ProbeResult]) -> None:
    """Store the newest results. If that fails, the next start runs the attacks again."""
    kept = dict(list(known.items())[-_MOST_KEPT:])
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode(kept))
        temporary.replace(path)


@cache
def _text() -> str:
    return _ATTACKS.read_text("utf-8")
