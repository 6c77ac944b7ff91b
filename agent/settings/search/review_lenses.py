"""The lenses with which a diff is reviewed, and the search that they make."""

from __future__ import annotations

from ...protocol import FinderSpec, Lens, Recipe, UserError
from ..option_table import MOST_WORKERS
from .search_recipes import SearchRequest

REVIEW_LENSES = (
    Lens(
        name="logic",
        prompt="For each changed condition, expression, loop bound, index, default and return value: what did it do "
        "before, what does it do now, and for which value is that wrong? Try the first, the last, none, one too many.",
    ),
    Lens(
        name="errors",
        prompt="Look for errors that the change ignores, hides or lets through: a result that is not checked, a caught "
        "exception that is dropped, an empty, missing or malformed value, a time-out, a partial write.",
    ),
    Lens(
        name="security",
        prompt="Follow each value that comes from outside through the changed lines: into commands, queries, paths, "
        "templates, logs, comparisons of secrets, permissions. What was checked before and is not any more?",
    ),
    Lens(
        name="resources",
        prompt="Look for what the changed lines open, lock, start, allocate or share, and whether each path, also that "
        "of an error, closes, releases and ends it once; and what happens if two of them run at the same time.",
    ),
    Lens(
        name="contracts",
        prompt="Search for all callers, subclasses, tests, settings and documents of what the change renames, removes "
        "or gives another meaning: which of them still expects the old one? Do the tests fail if the change is wrong?",
    ),
)
"""Ways to look at a diff. Each looks for something else, so together they give no estimate."""
_REVIEWER = (
    "Review the whole change as an experienced maintainer: read each changed line with the code around it, its callers "
    "and its tests, and report each defect that you can show."
)
_MOST_REVIEWERS = 16


def review_request(what: str, own: SearchRequest | None, reviewers: int | None) -> SearchRequest:
    """Return a review with the lenses of a spec file, with equal reviewers, or with the built-in lenses.

    Raises UserError for a file that has no lenses, and for a number of reviewers that is out of range.
    """
    task = f"Review {what}: which defects do they introduce?"
    if own is None:
        lenses = list(REVIEW_LENSES) if reviewers is None else _equal(reviewers)
        return SearchRequest(task=task, finder=FinderSpec(recipe=Recipe.REVIEW, lenses=lenses))
    if reviewers is not None:
        raise UserError("--reviewers: the file has lenses of its own: leave one of them out")
    given = own.finder
    if not given.lenses or given.seeds:
        raise UserError(f"{given.source}: a review needs [[lens]], and no [[seed]], [worker] or [migrate]")
    finder = FinderSpec(
        recipe=Recipe.REVIEW,
        source=given.source,
        lenses=given.lenses,
        leads=given.leads,
        concurrency=given.concurrency,
        retries=given.retries,
        dry_passes=given.dry_passes,
        sceptics=given.sceptics,
        critic=given.critic,
        hosts=given.hosts,
    )
    return SearchRequest(
        task=f"{task} {own.task}",
        finder=finder,
        options=own.options,
        limits=own.limits,
        values=own.values,
        is_own=own.is_own,
        choices=own.choices,
        requires_verifiers=own.requires_verifiers,
    )


def _equal(count: int) -> list[Lens]:
    if not 1 <= count <= min(_MOST_REVIEWERS, MOST_WORKERS):
        raise UserError(f"--reviewers {count}: use a number from 1 to {min(_MOST_REVIEWERS, MOST_WORKERS)}")
    return [Lens(name=f"reviewer {number}", prompt=_REVIEWER) for number in range(1, count + 1)]
