"""A search by lenses as its journal would tell it, for tests of the board."""

from __future__ import annotations

from rundry.agent import (
    Event,
    FinderSpec,
    FindingJudged,
    FindingReported,
    Lens,
    LoopKind,
    PassFinished,
    PassStarted,
    Recipe,
    Seed,
    Stamped,
    VoteCast,
    WorkFinished,
    WorkStarted,
)

from ..played_events import Script, started

LENSES = ("taint", "auth", "cache")


class Search(Script):
    """Stamps events; `of` puts them under the name of a work."""

    def of(self, work: str, *events: Event) -> list[Stamped]:
        return [Stamped(s.seq, s.at, s.step, work, s.event) for s in self.stamp(*events)]

    def lens(self, name: str, number: int, *events: Event, ok: bool = True, **more: object) -> list[Stamped]:
        """One lens in one pass, end to end."""
        work = f"lens:{name}#{number}"
        ended = WorkFinished(kind="lens", about=name, ok=ok, new=len(events), **more)  # type: ignore[arg-type]
        return self.of(work, WorkStarted(kind="lens", about=name), *events, ended)


def lens_search(**more: object) -> Event:
    """It begins."""
    fields = {"lenses": [Lens(name=name, prompt=f"look like {name}") for name in LENSES], **more}
    return started(
        "every place where input reaches SQL",
        loop=LoopKind.UNTIL_DRY,
        finder=FinderSpec(**fields),  # type: ignore[arg-type]
    )


def crawl(**more: object) -> Event:
    seeds = [Seed(kind="url", value="http://site/")]
    finder = FinderSpec(recipe=Recipe.CRAWL, seeds=seeds, sceptics=0, **more)  # type: ignore[arg-type]
    return started("crawl http://site/", loop=LoopKind.UNTIL_DRY, model="none", finder=finder)


def found(key: str, title: str, source: str = "taint", **more: str) -> FindingReported:
    return FindingReported(key=key, title=title, source=source, **more)


def judged(key: str, *votes: str) -> list[Event]:
    """The sceptics' votes, and what follows from them."""
    stands = votes.count("stands")
    cast = [VoteCast(key=key, by=f"sceptic {n}", verdict=v, reason=f"reason {n}") for n, v in enumerate(votes, 1)]
    verdict = "confirmed" if stands * 2 > len(votes) else "refuted"
    reasons = [vote.reason for vote in cast]
    return [
        *cast,
        FindingJudged(key=key, verdict=verdict, by="sceptics", stands=stands, votes=len(votes), reasons=reasons),
    ]


def a_pass(script: Search, number: int, new: int, streak: int, *, dry: int = 2) -> list[Stamped]:
    """A pass in which taint and auth ran; the finding events come from `taint`."""
    reported = [found(f"f{number}.{n}", f"finding {number}.{n}", evidence="src/a.py:2") for n in range(new)]
    return [
        *script.stamp(PassStarted(number=number, lenses=list(LENSES))),
        *script.lens("taint", number, *reported),
        *script.lens("auth", number),
        *script.stamp(PassFinished(number=number, new=new, dry_streak=streak, dry_passes=dry)),
    ]
