"""What a search reports besides its findings: what each lens read, and an estimate of what none of them found."""

from __future__ import annotations

import itertools
import os

from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report
from fakes.turns import Call, calls
from hypothesis import given, strategies as st

from rundry.agent.protocol import Estimate, LensCoverage, WorkFinished, estimate_words
from rundry.agent.state.search.estimate import richness
from rundry.agent.state.search.finding_facts import LensFacts
from rundry.agent.state.search.reads import Ranges, add_range, count_lines


def read(path: str, start: int | None = None, end: int | None = None) -> Call:
    lines = {"start_line": start, "end_line": end}
    return Call("read_file", {"path": path, **{name: line for name, line in lines.items() if line is not None}})


def listed(*names: str) -> list[dict[str, str]]:
    return [{"title": name, "evidence": f"{name[0]}.txt:{name[1]}"} for name in names]


async def test_coverage_counts_the_lines_that_each_lens_read_of_the_files_in_scope(search, place):
    (place / ".gitignore").write_text("ignored.txt\n")
    (place / "ignored.txt").write_text("x\n" * 50)
    (place / "picture.bin").write_bytes(b"\0\1\2")
    os.symlink("b.txt", place / "link.txt")
    one = [calls(read("a.txt"), read("./a.txt", 2, 3), read("link.txt", 1, 2), read("ignored.txt")), NOTHING]
    two = [calls(read("b.txt", 2), read("nowhere.txt"), read("picture.bin")), NOTHING]
    run = search(ModelByRole({"one": one, "two": two, "idle": [NOTHING]}), "one", "two", "idle")
    outcome = await run.run()
    coverage = outcome.coverage
    assert coverage is not None
    assert (coverage.files, coverage.lines) == (4, 10), "three texts of three lines, and .gitignore"
    assert coverage.lenses == [LensCoverage("one", 2, 5), LensCoverage("two", 1, 2), LensCoverage("idle", 0, 0)]
    assert (coverage.files_read, coverage.lines_read) == (2, 6)
    assert run.of("run_ended")[0]["coverage"]["files"] == 4
    assert outcome.complete, "what nobody read never counts against the end"


async def test_the_scope_is_what_the_search_names(search, place):
    (place / "src").mkdir()
    (place / "src" / "m.py").write_text("1\n2")
    run = search(ModelByRole({"one": [calls(read("src/m.py"), read("a.txt")), NOTHING]}), "one", paths=["src"])
    outcome = await run.run()
    assert outcome.coverage is not None
    assert (outcome.coverage.files, outcome.coverage.lines) == (1, 2)
    assert outcome.coverage.lenses == [LensCoverage("one", 1, 2)], "a file out of scope does not count"


LOOKS = ("one", "two", "three", "four")


def looks(**found: tuple[str, ...]) -> ModelByRole:
    """Four lenses: what each reports first, then nothing."""
    return ModelByRole({name: [report(*listed(*found.get(name, ()))), NOTHING] for name in LOOKS}, sceptic=stands)


def stands(key, nth):
    return judge("stands")


ALIKE = {"one": ("a1", "a2", "a3"), "two": ("a1", "a2", "b1"), "three": ("a1", "a3"), "four": ("a2", "b2")}
"""Five things: a1 and a2 three times, a3 twice, b1 and b2 once."""
ALL = richness([3, 3, 2, 1, 1], 4)


async def test_looks_of_the_same_kind_that_were_not_shown_each_others_findings_give_an_estimate(search):
    run = search(looks(**ALIKE), *LOOKS, prompt="look everywhere", concurrency=4)
    outcome = await run.run()
    assert outcome.findings.confirmed == 5
    assert outcome.estimate is not None, run.story()
    assert (outcome.estimate.sample, outcome.estimate.lenses) == (5, 4)
    assert ALL is not None
    assert outcome.estimate.unseen == ALL.total - 5
    assert (outcome.estimate.low, outcome.estimate.high) == (ALL.low - 5, ALL.high - 5)
    assert outcome.estimate.low <= outcome.estimate.unseen < outcome.estimate.high


async def test_lenses_that_look_for_different_things_give_no_estimate(search):
    """Seen before the fix: 142 estimated, 11 true, and an interval that never held the truth."""
    run = search(looks(**ALIKE), *LOOKS, concurrency=4)
    outcome = await run.run()
    assert outcome.findings.confirmed == 5
    assert outcome.estimate is None, run.story()
    assert estimate_words(5, None) == "5 found, no estimate of what is unseen"


async def test_looks_that_hardly_overlap_give_no_estimate_whatever_their_prompts_say(search):
    apart = {"one": ("a1", "a2"), "two": ("a3", "b1"), "three": ("b2", "b3"), "four": ("c1", "a1")}
    run = search(looks(**apart), *LOOKS, prompt="look everywhere", concurrency=4)
    outcome = await run.run()
    assert outcome.findings.confirmed == 7
    assert outcome.estimate is None, run.story()


async def test_fewer_than_four_looks_give_no_estimate(search):
    run = search(looks(**ALIKE), *LOOKS[:3], prompt="look everywhere", concurrency=4)
    assert (await run.run()).estimate is None, run.story()


async def test_what_a_later_pass_found_is_no_longer_unseen(search):
    model = looks(**ALIKE)
    model.lenses["one"].insert(1, report(*listed("c1")))
    run = search(model, *LOOKS, prompt="look everywhere", concurrency=4)
    outcome = await run.run()
    assert outcome.estimate is not None, run.story()
    assert ALL is not None
    assert outcome.estimate.high == ALL.high - 6
    assert outcome.estimate.sample == 5


async def test_refuted_findings_are_left_out_and_duplicates_count_as_the_one_that_they_repeat(search):
    """Two reports a1 in other words, and c3, which is refuted."""

    def sceptic(key, nth):
        if "~" in key:
            return judge("duplicate", of=key.partition("~")[0])
        return judge("refuted") if "c.txt" in key else judge("stands")

    reworded = {"title": "a1 in other words", "evidence": "a.txt:1"}
    model = ModelByRole(
        {
            "one": [report(*listed("a1", "a2")), NOTHING],
            "two": [report(reworded, *listed("c3")), NOTHING],
            "three": [report(*listed("a1")), NOTHING],
            "four": [NOTHING],
        },
        sceptic=sceptic,
    )
    run = search(model, *LOOKS, prompt="look everywhere", concurrency=4)
    outcome = await run.run()
    assert outcome.estimate is not None, run.story()
    assert (outcome.findings.confirmed, outcome.estimate.sample, outcome.estimate.lenses) == (2, 2, 4)


async def test_a_lens_that_was_shown_what_another_found_is_not_part_of_the_sample(search):
    """One after the other: the prompt of each lists what the ones before it found."""
    run = search(looks(**ALIKE), *LOOKS, prompt="look everywhere", concurrency=1)
    outcome = await run.run()
    assert [e["shown"] != [] for e in run.of("lens_briefed")][:2] == [False, True], run.story()
    assert outcome.estimate is None
    assert outcome.complete


async def test_a_search_of_an_earlier_version_gives_no_estimate_and_no_scope(search):
    run = search(looks(**ALIKE), *LOOKS, prompt="look everywhere", concurrency=4)
    await run.run()
    facts = run.facts()
    assert facts.finder is not None
    assert facts.finder.estimate() is not None
    kept = [s for s in run.stamped if type(s.event).__name__ not in ("LensBriefed", "ScopeCounted", "ReadsPlaced")]
    run.stamped[:] = kept
    old = run.facts().finder
    assert old is not None
    assert old.estimate() is None
    assert old.coverage().files is None


def test_the_words_of_an_estimate_round_its_interval_outwards():
    estimate = Estimate(unseen=1.3, low=0.2, high=3.6, sample=8, lenses=3)
    assert estimate_words(9, estimate) == "9 found, about 1 unseen (0 to 4)"


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), max_size=40))
def test_read_lines_are_kept_as_stretches_with_gaps_between_them(reads):
    ranges: Ranges = []
    lines: set[int] = set()
    for first, more in reads:
        add_range(ranges, first, first + more)
        lines.update(range(first, first + more + 1))
    assert count_lines(ranges) == len(lines)
    assert all(low[1] + 1 < high[0] for low, high in itertools.pairwise(ranges))


def test_a_lens_counts_for_the_estimate_only_while_the_journal_says_what_it_was_shown():
    known, unknown = (LensFacts(name, "look") for name in ("known", "unknown"))
    for number, lens in enumerate((known, unknown, known), 1):
        lens.begin_pass(0.0)
        lens.briefed = lens is known  # earlier versions did not record it
        lens.end_pass(WorkFinished(kind="lens", about=lens.name, ok=True), number, number, 0.0)
    assert (known.is_independent, known.sampled) == (True, True)
    assert (unknown.is_independent, unknown.sampled) == (False, False)
    known.begin_pass(0.0)
    known.end_pass(WorkFinished(kind="lens", about="known", ok=True), 4, 4, 0.0)
    assert (known.is_independent, known.sampled) == (False, True)
