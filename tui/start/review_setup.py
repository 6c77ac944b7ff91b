"""`rundry review`: take a diff and make the search that reviews it. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from rundry.agent import (
    FailOn,
    FinderSpec,
    GateMode,
    LoopKind,
    ReviewLoopSpec,
    RunSpec,
    SearchRequest,
    TakenReview,
    UserError,
    WantedDiff,
    budget_is_set,
    budget_of,
    has_comments,
    plural,
    review_request,
    take_review,
)

from .find_recipe import search_of_word
from .find_setup import FindSetup
from .new_run import Setup

_OWN = ("diff", "patch", "reviewers", "fail_on", "comments", "fix")
"""Options that only a review has."""
_OF_REPAIRS = ("until", "verify", "confirm", "confirm_with", "setup", "holdout", "holdout_files", "escalate")
"""Options of the runs that repair a finding."""
_MOST_PATCH = 50_000_000
"""Bytes of the largest patch."""


def requested_review(words: Sequence[str], flags: Mapping[str, object], what: str = "a change") -> SearchRequest:
    """Return the review with built-in lenses, with equal reviewers, or with those of a spec file. Raises UserError."""
    if len(words) > 1:
        raise UserError(
            f"a review takes one spec file or recipe, not {len(words)} words: give the range with --diff "
            f"{words[0]}...{words[1]}"
        )
    if flags.get("set_") and not words:
        raise UserError("--set fills the parameters of a spec file or a recipe: name one, rundry review FILE.toml")
    own = search_of_word(words[0], flags) if words else None
    return review_request(what, own, cast("int | None", flags.get("reviewers")))


def review_setup(words: Sequence[str], flags: Mapping[str, object], *, headless: bool) -> ReviewSetup:
    """Return the options of a review, or with `--fix` of a run that repairs what it finds. Raises UserError."""
    if flags.get("fix"):
        return ReviewLoopSetup(words, flags, headless=headless)
    if given := next((name for name in _OF_REPAIRS if flags.get(name) not in (None, False, ())), None):
        raise UserError(f"--{given.replace('_', '-')} is for repairs: add --fix, or leave it out")
    return ReviewSetup(words, flags, headless=headless)


def comments_file(flags: Mapping[str, object], *, headless: bool) -> Path | None:
    """Return the file for the comments of a review, or None. Raises UserError before anything begins.

    A file that exists is replaced if an earlier review wrote it.
    """
    given = flags.get("comments")
    if given is None:
        return None
    if not headless:
        raise UserError(
            "--comments needs --headless; after a review on a screen use rundry export --format comments-json"
        )
    path = Path(str(given))
    if path.exists() and not _is_of_review(path):
        raise UserError(f"{path} already exists, and no review wrote it: give --comments another name")
    if not path.parent.is_dir():
        raise UserError(f"--comments {path}: there is no folder {path.parent}")
    return path


def _is_of_review(path: Path) -> bool:
    """Return whether a file has the comments of a review, as `rundry export --format comments-json` writes them."""
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > _MOST_PATCH:
            return False
        return has_comments(path.read_bytes())
    except OSError:
        return False


class ReviewSetup(FindSetup):
    """The options of one review. The diff is taken when this is made, before there is a journal or a screen."""

    def __init__(self, words: Sequence[str], flags: Mapping[str, object], *, headless: bool) -> None:
        """Combine the flags with the spec file, and take the diff. Raises UserError."""
        if flags.get("diff") is not None and flags.get("patch") is not None:
            raise UserError("--diff and --patch exclude each other: use one of them")
        self._fail_on = _fail_on(flags)
        self._taken: TakenReview | None = None
        own = {name: value for name, value in flags.items() if name not in (*_OWN, *_OF_REPAIRS)}
        super().__init__(requested_review(words, flags), own, headless=headless)
        first = super().spec("-")
        taken = asyncio.run(take_review(first, self._wanted(flags, headless=headless), os.environ, self.folder))
        self._taken, self._run_id, self.blobs = taken, first.run_id, (taken.data,)
        self.wanted = msgspec.structs.replace(self.wanted, task=requested_review(words, flags, _what(taken)).task)
        self._news += _notes(taken)

    @property
    def task(self) -> str:
        """What is searched for."""
        return self.wanted.task

    @property
    def journal(self) -> Path:
        """The journal that the run will have."""
        return self.folder / f"{self._run_id}.db"

    def spec(self, task: str) -> RunSpec:
        """Return the spec of the review. Raises UserError."""
        spec = super().spec(task)
        return spec if self._taken is None else self._with_diff(spec, self._taken)

    def _with_diff(self, spec: RunSpec, taken: TakenReview) -> RunSpec:
        review = msgspec.structs.replace(taken.spec, fail_on=self._fail_on)
        finder = msgspec.structs.replace(cast("FinderSpec", spec.finder), review=review)
        return msgspec.structs.replace(spec, run_id=self._run_id, workspace=taken.workspace, finder=finder)

    def _wanted(self, flags: Mapping[str, object], *, headless: bool) -> WantedDiff:
        if (given := flags.get("patch")) is not None:
            return WantedDiff(patch=_patch(str(given), headless=headless))
        given = flags.get("diff")
        return WantedDiff(range=None if given is None else str(given))


class ReviewLoopSetup(ReviewSetup):
    """The options of a review that repairs what it finds, in the workspace."""

    def __init__(self, words: Sequence[str], flags: Mapping[str, object], *, headless: bool) -> None:
        """Combine the flags with the config, and take the diff. Raises UserError."""
        if flags.get("patch") is not None:
            raise UserError("--patch with --fix: repairs are made in the workspace, so apply the patch there first")
        if flags.get("comments") is not None:
            raise UserError("--comments with --fix: the end names what is left: leave one of them out")
        if flags.get("fail_on") is not None:
            raise UserError("--fail-on with --fix: the exit code says whether all is repaired: leave it out")
        given = {name: value for name, value in flags.items() if name not in _OWN and value not in (None, False, ())}
        self._repairs = Setup({**given, "loop": "goal"}, headless=headless)
        self._mode = _mode_of_repairs(self._repairs)
        super().__init__(words, flags, headless=headless)
        taken = cast("TakenReview", self._taken)
        if taken.spec.home:
            raise UserError(
                "--fix repairs in the workspace, which has other files than the new side: commit or put aside your "
                "changes, and check out the commit that you want to review"
            )

    def spec(self, task: str) -> RunSpec:
        """Return the spec of the whole run. Raises UserError."""
        search = super().spec(task)
        if self._taken is None:
            return search
        if self.model is not None:
            self._repairs.choose(self.model)
        whole = self._repairs.spec(task)
        loop = ReviewLoopSpec(
            task=search.task,
            finder=cast("FinderSpec", search.finder),
            base=self._taken.diff.base,
            until=whole.predicates.until,
        )
        return msgspec.structs.replace(
            whole,
            run_id=search.run_id,
            loop=LoopKind.REVIEW,
            budget=budget_of(self._repairs.settings, LoopKind.REVIEW),
            gate=msgspec.structs.replace(whole.gate, mode=self._mode, falls_back=False),
            review=loop,
            item_steps=search.item_steps,
        )


def _mode_of_repairs(setup: Setup) -> GateMode:
    """Return the mode of the gate. Raises UserError for options with which a repair cannot work."""
    settings = setup.settings
    if not settings.texts("until"):
        raise UserError("--fix needs a check for the repairs: add --until CMD, such as the suite; {file} is the file")
    if not budget_is_set(settings):
        raise UserError(
            "a run with child runs needs an explicit budget: add --steps, --tokens, --usd, --time or --deadline, "
            "with a value other than none"
        )
    if settings.is_set("commit") and settings["commit"].value:
        raise UserError("--commit with --fix: each repair is staged and decided on as a whole: leave --commit out")
    mode = settings.need("gate", GateMode) if settings.is_set("gate") else GateMode.EFFECTS
    if mode in (GateMode.READ, GateMode.STAGE):
        raise UserError(f"--gate {mode} with --fix: each repair is staged anyway: use ask, effects, edits or auto")
    return mode


def _what(taken: TakenReview) -> str:
    return f"{taken.diff.what} ({plural(len(taken.diff.files), 'file')})"


def _notes(taken: TakenReview) -> list[str]:
    """Return the lines about what is not reviewed, and about the copy."""
    notes = list[str]()
    if taken.outside:
        notes.append(f"{plural(taken.outside, 'changed file')} outside of this folder are not reviewed: use --cwd")
    if taken.spec.home:
        notes.append(
            f"the lenses read a copy of the new side, because the workspace has other files: {taken.workspace}"
        )
    return notes


def _fail_on(flags: Mapping[str, object]) -> FailOn:
    given = flags.get("fail_on")
    if given in (None, "confirmed"):
        return "confirmed"
    if given == "none":
        return "none"
    raise UserError(f"--fail-on {given}: use confirmed or none")


def _patch(name: str, *, headless: bool) -> bytes:
    try:
        if name == "-":
            if not headless:
                raise UserError("--patch - reads standard input, which a screen needs: add --headless")
            data = sys.stdin.buffer.read(_MOST_PATCH + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(_MOST_PATCH + 1)
    except OSError as error:
        raise UserError(f"--patch {name} cannot be read: {error.strerror}") from None
    if len(data) > _MOST_PATCH:
        raise UserError(f"--patch {name} is larger than 50 MB: review a part of it")
    return data
