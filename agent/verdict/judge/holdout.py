"""The second check of a run (`--holdout`): its model never sees the files, and never gets the output.

It runs once before the first call, so that its tests are counted, and once for a result that the judge let pass.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...journal.encoding import recorded_text
from ...layers.git.layer_git_folders import git_folders_of
from ...protocol import SECOND_FAILED, HoldoutPrepared, Judged, JudgePreparing, Refusal, some_files
from ...protocol.text.path_text import quoted_path
from ...repo.real_git import RealGit, RealGitFailed
from ...repo.repository import repository_top
from ...sandbox.denied_paths import held_out_paths
from ..counting.compare_counts import why_suspect
from ..counting.counted import Counted
from .checked import checked_in_view
from .judge_view import ViewContent, ViewFailed, open_view

if TYPE_CHECKING:
    from ..checks.run_check import CheckResult
    from .judge_case import Case

_MOST_LISTED = 50


def held_out_files(globs: Sequence[str], root: Path) -> list[str]:
    """Return the files of a second check, relative to the workspace. Raises Refusal if one cannot be hidden."""
    found = sorted(_files(globs, root))
    if not found:
        raise Refusal(
            f"--holdout-files {' '.join(globs)}: no file in {root} matches. Name the files of the second check"
        )
    for path in found:
        status = os.lstat(root / path)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            what = "has another name" if stat.S_ISREG(status.st_mode) else "is not a file"
            raise Refusal(
                f"--holdout-files: {quoted_path(path)} {what}, so it cannot be hidden: replace it with a copy"
            )
    return found


def _files(globs: Sequence[str], root: Path) -> Iterator[str]:
    for name in held_out_paths(globs, root):
        whole = f"{root}/{name}"
        if not stat.S_ISDIR(os.lstat(whole).st_mode):
            yield name
            continue
        for folder, folders, files in os.walk(whole):
            links = [one for one in folders if Path(folder, one).is_symlink()]
            yield from (os.path.relpath(f"{folder}/{one}", root) for one in (*files, *links))


def known_to_git(files: Sequence[str], workspace: Path) -> list[str]:
    """Return which of these files the model could read in git: a name or a content in the index or the history.

    Returns all of them if git cannot tell.
    """
    folders, top = git_folders_of(workspace), repository_top(workspace)
    if folders is None or top is None:
        return []
    git, prefix = RealGit(folders, workspace), workspace.relative_to(top)
    names = {(prefix / path).as_posix(): path for path in files}
    try:
        index = git.run("--literal-pathspecs", "ls-files", "-z", "--", *names)
        past = git.run(
            *("--literal-pathspecs", "log", "--all", "--reflog", "-m", "--format=", "--name-only", "-z", "--", *names)
        )
        known = {os.fsdecode(name) for name in (index + past).split(b"\0")}
        return [path for name, path in names.items() if name in known or _is_stored(git, workspace / path)]
    except RealGitFailed:
        return list(files)


def _is_stored(git: RealGit, file: Path) -> bool:
    """Return whether git has an object with this content. Raises RealGitFailed."""
    data = file.read_bytes()
    name = git.run("hash-object", "--no-filters", "--stdin", stdin=data).strip()
    return bool(data) and not git.run("cat-file", "--batch-check", stdin=name + b"\n").strip().endswith(b" missing")


async def prepare_holdout(case: Case) -> None:
    """Record, before the first call, what git knows of the second check, and the tests that it counts."""
    facts, root = case.facts, case.workspace.root
    if facts.spec.predicates.holdout is None or facts.verdicts.holdout is not None:
        return
    files = await asyncio.to_thread(held_out_files, facts.spec.predicates.holdout_files, root)
    known = await asyncio.to_thread(known_to_git, files, root)
    case.events.record(JudgePreparing(what="holdout", command=facts.spec.predicates.holdout))
    problem, counted, seconds = "", None, 0.0
    try:
        result = await _tried(case, ViewContent({}, {}))
        problem, seconds = result.error or "", result.seconds
        counted = None if result.counted is None else case.journal.blobs.keep(msgspec.json.encode(result.counted))
    except ViewFailed as failed:
        problem = str(failed)
    case.events.record(
        HoldoutPrepared(
            known=[recorded_text(path) for path in known[:_MOST_LISTED]],
            counted=counted,
            problem=recorded_text(problem),
            seconds=seconds,
        )
    )


async def with_second_check(case: Case, judged: Judged, content: ViewContent) -> Judged:
    """Run the second check on a result that the judge let pass, and return the judgement with what it shows.

    `content`: what the view has that was judged. Raises ViewFailed.
    """
    result = await _tried(case, content)
    output = case.journal.path.with_name(f"{case.journal.path.name}.holdout")
    await asyncio.to_thread(_store, output, result)
    if result.timed_out and case.timeout < case.facts.spec.predicates.timeout:
        late = "the time that is left is not enough for the second check"
        return msgspec.structs.replace(judged, grade="passed", passed=False, why="budget", detail=late)
    if not result.passed or why_suspect(_first(case), result.counted, result.output) is not None:
        detail = f"{SECOND_FAILED}; its output is in {output}"
        return msgspec.structs.replace(
            judged, grade="passed", passed=False, why="holdout", detail=detail, holdout="second check failed"
        )
    known = await asyncio.to_thread(_known_now, case)
    if known:
        words = f"second check passed, but the model could read {some_files(known)} in git"
        return msgspec.structs.replace(judged, holdout=words)
    grade = "held_out" if judged.grade == "judged" else judged.grade
    return msgspec.structs.replace(judged, grade=grade, holdout="second check passed")


async def _tried(case: Case, content: ViewContent) -> CheckResult:
    command = case.facts.spec.predicates.holdout
    assert command is not None  # the caller asked
    async with open_view(case.layers, case.sandbox.with_held_out(), content) as view:
        result = await checked_in_view(case, view, command)
        if view.reached:
            result = msgspec.structs.replace(result, passed=False, output=f"it was ended, because {view.reached}")
    return result


def _first(case: Case) -> Counted | None:
    """Return what the second check counted before the first call. Raises ViewFailed."""
    prepared = case.facts.verdicts.holdout
    try:
        blob = None if prepared is None else prepared.counted
        return None if blob is None else msgspec.json.decode(case.journal.blobs.load(blob), type=Counted)
    except (KeyError, msgspec.DecodeError) as error:
        raise ViewFailed(f"the record of what the second check counted is damaged: {error}") from error


def _known_now(case: Case) -> list[str]:
    """Return which files git has had since the start. Raises ViewFailed."""
    prepared, root = case.facts.verdicts.holdout, case.workspace.root
    try:
        files = held_out_files(case.facts.spec.predicates.holdout_files, root)
    except Refusal as error:
        raise ViewFailed(str(error)) from error
    return sorted({*(prepared.known if prepared is not None else ()), *known_to_git(files, root)})


def _store(file: Path, result: CheckResult) -> None:
    """Write what the second check printed where only the user can read it: no prompt and no event has it."""
    how = result.error or ("it timed out" if result.timed_out else f"exit code {result.exit_code}")
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(f"{result.command}\n{how}\n\n{result.output}")
