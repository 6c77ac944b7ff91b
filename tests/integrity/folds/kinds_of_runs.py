"""Journals of every kind of loop, and of what happens to runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.in_process.headless_run import resume_run, spec_of
from fakes.in_process.simulated_hours import make_repository, through_hours
from fakes.models.model import ScriptedModel
from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report
from fakes.models.tries import TryingModel, writes
from fakes.turns import Call, Turn, call, calls, edit, finish, say
from fakes.web.site import Site
from search.migrate.fixer import CHECK, Fixer

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Act,
    Better,
    Budget,
    Decide,
    FinderSpec,
    GateMode,
    GiveWheel,
    ImproveSpec,
    IntervalSpec,
    Lens,
    LoopKind,
    ModelSpec,
    Price,
    Recipe,
    Rewind,
    Say,
    Seed,
    SetGateMode,
    SetLimit,
    Stop,
    SwitchModel,
    TakeWheel,
)
from rundry.agent.run.start.fork import fork

from .early_journal import early

DONE = finish("all is well", "a.txt:1")
READ = call("read_file", path="a.txt")
PRICE = Price(input=1e-6, cached=1e-7, output=2e-6, worst_input=1e-6, worst_output=2e-6)
STOP = Stop(how="now")
Make = Callable[[Path], Awaitable[Path]]
"""An empty folder to the journal of a run in it."""


def driven(folder: Path, *turns: Turn, then: Turn | None = None, **options: object) -> Driven:
    work, runs = folder / "work", folder / "runs"
    if not work.exists():
        work.mkdir(parents=True)
        runs.mkdir(mode=0o700)
        (work / "a.txt").write_text("one\n")
        (work / "b.txt").write_text("two\n")
    return Driven(runs, work, ScriptedModel(turns, then=then, price=PRICE), **options)  # type: ignore[arg-type]


def decide(verdict: str, **more: object) -> Callable[[dict[str, object]], Decide]:
    return lambda event: Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict=verdict, **more)  # type: ignore[arg-type]


async def goal(folder: Path) -> Path:
    run = driven(folder, READ, edit("a.txt", "one", "ONE"), call("run_command", command="echo 3 > c.txt"), DONE)
    await run.run()
    return run.path


async def goal_with_commands(folder: Path) -> Path:
    """A queued message, changed limits, another gate mode, another model, and a person in control."""
    run = driven(folder, READ, edit("a.txt", "one", "ONE"), READ, READ, DONE, gate=GateMode.EDITS)
    run.on("step_started", Say(text="mind b.txt"), SetLimit(name="steps", value=30), SetGateMode(mode=GateMode.AUTO))
    run.on("step_finished", TakeWheel(), number=2)
    run.on("wheel_taken", Act(tool="run_command", arguments={"command": "echo three > c.txt"}))
    run.on("tool_finished", GiveWheel(note="c.txt was missing"), by="person")
    run.on("wheel_given", SwitchModel(model=ModelSpec(name="other")))
    await run.run(watched=True)
    return run.path


async def chat(folder: Path) -> Path:
    """Each message has its own budget; the person goes back to before the second one."""
    turns = (edit("a.txt", "one", "first"), say("first done"), READ, say("second done"), say("third done"))
    run = driven(folder, *turns, loop=LoopKind.CHAT, task="do the first", budget=Budget(steps=3))
    run.on("waiting", Say(text="do the second"), why="message")
    run.on("waiting", lambda _: Rewind(seq=_said(run, "do the second")), why="message", nth=2)
    run.on("rewound", Say(text="do the third"), SetLimit(name="tokens", value=90_000))
    run.on("waiting", STOP, why="message", nth=3)
    await run.run(watched=True)
    return run.path


async def naive(folder: Path) -> Path:
    run = driven(folder, READ, edit("a.txt", "one", "ONE"), say("done"), loop=LoopKind.NAIVE, budget=Budget(steps=3))
    await run.run()
    return run.path


async def interval(folder: Path) -> Path:
    write = call("write_file", path="score.txt", content="1\n")
    spec = IntervalSpec(every=3600.0)
    run = driven(
        folder, write, DONE, READ, DONE,
        loop=LoopKind.INTERVAL, interval=spec, budget=Budget(steps=4, seconds=None),
    )  # fmt: skip
    make_repository(folder / "work")
    await through_hours(run, ManualClock())
    return run.path


async def paced(folder: Path) -> Path:
    run = driven(folder, READ, DONE, READ, DONE, loop=LoopKind.PACED, budget=Budget(steps=4, seconds=None))
    await through_hours(run, ManualClock())
    return run.path


async def improve(folder: Path) -> Path:
    """A person changes the patience and the gate while it runs."""
    spec = ImproveSpec(score="cat b.txt", bounded=True, patience=2, goal=Better.MAX)
    turns = [turn for n in (7, 6, 8, 3, 2) for turn in (call("write_file", path="b.txt", content=f"{n}\n"), DONE)]
    run = driven(folder, *turns, loop=LoopKind.IMPROVE, improve=spec, budget=Budget(steps=12))
    (folder / "work" / "b.txt").write_text("5\n")
    run.on("step_started", SetLimit(name="patience", value=1), SetLimit(name="usd", value=3.0), number=1)
    await through_hours(run, ManualClock(), watched=True)
    return run.path


async def tries(folder: Path) -> Path:
    """Three tries of a pass at the same time, and a changed limit while they run."""
    run = driven(
        folder,
        loop=LoopKind.IMPROVE,
        improve=ImproveSpec(score="cat b.txt", bounded=True, tries=3, patience=1),
        budget=Budget(steps=40),
    )
    (folder / "work" / "b.txt").write_text("5\n")
    run.model = TryingModel({(1, n): [READ, writes("b.txt", score)] for n, score in ((1, 6), (2, 9), (3, 7))})
    run.on("step_started", SetLimit(name="tokens", value=150_000), SetLimit(name="patience", value=2))
    await through_hours(run, ManualClock())
    return run.path


def _search(folder: Path, model: ScriptedModel, *, budget: Budget | None = None, **finder: object) -> Driven:
    place, runs = folder / "place", folder / "runs"
    place.mkdir(parents=True)
    runs.mkdir(mode=0o700)
    for name in ("a", "b", "c"):
        (place / f"{name}.txt").write_text(f"{name}: old\n")
    spec = FinderSpec(**finder)  # type: ignore[arg-type]
    return Driven(runs, place, model, task="find it", loop=LoopKind.UNTIL_DRY, finder=spec, budget=budget)


async def find(folder: Path) -> Path:
    """A search by two lenses with a verifier and a critic; a person raises the number of dry passes."""
    model = ModelByRole(
        {"one": [report("x is wrong"), report("y is wrong"), NOTHING], "two": [NOTHING]},
        sceptic=lambda key, _: judge("stands" if key == "title:x is wrong" else "refuted", "checked"),
        critic=[call("propose", reason="nothing is missing")],
    )
    lenses = [Lens(name=name, prompt=f"look like {name}") for name in ("one", "two")]
    run = _search(folder, model, lenses=lenses, sceptics=1, critic=True)
    run.on("pass_finished", SetLimit(name="dry_passes", value=3), SetLimit(name="item_steps", value=4))
    await run.run()
    return run.path


async def migrate(folder: Path, **works: int) -> Path:
    """It stops at its limit, and is resumed."""
    options = {"recipe": Recipe.MIGRATE, "check": CHECK, "globs": ["*.txt"], "concurrency": 1, "sceptics": 0} | works
    run = _search(folder, Fixer(), budget=Budget(steps=2), **options)
    await run.run()
    return run.path


async def parallel(folder: Path) -> Path:
    return await migrate(folder, concurrency=4, parallel=2)


async def crawl(folder: Path) -> Path:
    (folder / "place").mkdir(parents=True)
    with Site(pages=12) as site:
        seeds = [Seed(kind="url", value=site.url + path) for path in ("/page/0", "/flaky/1", "/missing")]
        spec = spec_of(
            None,
            folder / "place",
            task="crawl",
            loop=LoopKind.UNTIL_DRY,
            model=ModelSpec(name="none"),
            budget=Budget(steps=12),
            finder=FinderSpec(recipe=Recipe.CRAWL, seeds=seeds, sceptics=0),
        )
        path = folder / "crawl.db"
        Journal.create(path, spec).close()
        await resume_run(path)
    return path


async def proposals(folder: Path) -> Path:
    """One rejected, one approved, one approved in part."""
    new = "".join(f"line {n}\n" for n in range(20))
    (turns := [edit("a.txt", "one", "1"), edit("a.txt", "one", "ONE"), call("write_file", path="b.txt", content=new)])
    run = driven(folder, *turns, DONE, gate=GateMode.ASK, on_ask=None)
    run.on("proposal_opened", decide("reject", reason="no digits"))
    run.on("proposal_opened", decide("approve"), nth=2)
    run.on("proposal_opened", decide("approve"), nth=3)
    await run.run(watched=True)
    return run.path


async def killed_at_the_gate(folder: Path) -> Path:
    """Killed while a proposal waits, then resumed by a person who approves it."""
    run = driven(folder, READ, edit("a.txt", "one", "ONE"), DONE, gate=GateMode.ASK, on_ask=None)
    run.on("proposal_opened", decide("approve"))
    await run.run(watched=True)
    other = run.killed_at("proposal_opened")
    (folder / "work" / "a.txt").write_text("one\n")
    other.on("proposal_opened", decide("approve")).on("run_resumed", Say(text="carry on"))
    other.model = ScriptedModel([DONE], price=PRICE)
    await other.run(watched=True)
    return other.path


async def killed_in_control(folder: Path) -> Path:
    """Killed while a person is in control and a message waits, then resumed."""
    run = driven(folder, READ, READ, DONE)
    run.on("step_finished", TakeWheel(), number=1).on("wheel_taken", GiveWheel(note=""), Say(text="mind b.txt"))
    await run.run(watched=True)
    other = run.killed_at("wheel_taken")
    other.on("run_resumed", Say(text="carry on"), GiveWheel(note="nothing changed"))
    other.model = ScriptedModel([DONE], price=PRICE)
    await other.run(watched=True)
    return other.path


async def killed_in_a_call(folder: Path) -> Path:
    """Killed while the model answers: its call is charged by an estimate on resume."""
    run = driven(folder, READ, say("a long answer " * 20), READ, DONE)
    await run.run()
    other = run.killed_at("call_admitted", nth=2)
    other.model = ScriptedModel([READ, DONE], price=PRICE)
    await other.run()
    return other.path


async def cut_stream(folder: Path) -> Path:
    """A stream that ends in the middle: what its provider may still bill is held."""
    cut = say("one two three four five six", drop_after=3)
    run = driven(folder, READ, cut, READ, DONE)
    await run.run()
    return run.path


async def handed_over(folder: Path) -> Path:
    """Handed over because it stalls, then resumed by a person."""
    check = "echo two words are missing; exit 3"
    run = driven(
        folder, edit("a.txt", "one", "ONE"), then=READ, until=[check], on_stall="handoff", budget=Budget(steps=30)
    )
    await run.run()
    run.model = ScriptedModel([READ], then=READ, price=PRICE)
    await run.run()
    return run.path


async def question(folder: Path) -> Path:
    """A question that nobody answers, with a proposal in the same step."""
    both = calls(Call("ask_person", {"question": "tabs?"}), Call("read_file", {"path": "b.txt"}))
    run = driven(folder, READ, both, on_ask="handoff")
    await run.run()
    return run.path


async def forked(folder: Path) -> Path:
    run = driven(folder, READ, edit("a.txt", "one", "ONE"), READ, DONE)
    run.on("step_finished", SetLimit(name="steps", value=33), SetGateMode(mode=GateMode.EDITS), number=1)
    await run.run(watched=True)
    done = fork(run.path, folder / "runs", at=2)
    return Path(done.journal)


def _said(run: Driven, text: str) -> int:
    return next(each["seq"] for each in run.of("said") if each["text"] == text)


RUNS: dict[str, Make] = {
    make.__name__: make
    for make in (
        goal, goal_with_commands, chat, naive, interval, paced, improve, tries, find, migrate, parallel, crawl,
        proposals, killed_at_the_gate, killed_in_control, killed_in_a_call, cut_stream, handed_over, question, forked,
        early,
    )
}  # fmt: skip
"""By name."""
