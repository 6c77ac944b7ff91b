"""A random sequence in which a run and a person write to one file."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import random
import threading
from collections.abc import Callable
from pathlib import Path

from fakes.blobs_in_memory import BlobsInMemory
from fakes.clock import ManualClock

from rundry.agent.extend.mcp.mcp_servers import no_servers
from rundry.agent.gate.draft import FileDraft
from rundry.agent.gate.gate import Gate
from rundry.agent.gate.guarded_paths import GuardedPaths
from rundry.agent.gate.session_policy import GatedTree, SessionPolicy
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import Decide, GatePolicy, ProposalOpened, ProposalRebased, Stamped
from rundry.agent.protocol.text.hunks import apply_hunks, split
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.state.common.person_requests import PersonRequests
from rundry.agent.tools.carry_out import carry_out, draft_of, plan_again
from rundry.agent.tools.parse import parse_arguments
from rundry.agent.tools.tool_context import ToolContext
from rundry.agent.tools.tool_result import ToolResult

LINES = 30


class Person:
    """The second writer, in a thread of its own."""

    def __init__(self, root: Path, choose: random.Random) -> None:
        self.root, self.path, self.choose = root, root / "d/a.txt", choose
        self.tokens: list[bytes] = []
        """What they wrote and did not remove again themselves, in the order of writing."""
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            order()

    def act(self) -> threading.Event:
        """Start one more action immediately; the event reports its end."""
        deed, done = self.choose.choice(self._deeds()), threading.Event()

        def order() -> None:
            try:
                deed()
            except OSError:
                pass  # it is a folder, or gone, or one that nobody may open: then the person did nothing
            finally:
                done.set()

        self._orders.put(order)
        return done

    def end(self) -> None:
        self._orders.put(None)
        self._thread.join()

    def _deeds(self) -> list[Callable[[], None]]:
        often = [self._edit_in_place, self._edit_by_rename, self._append, self._append, self._touch]
        return [*often * 6, self._delete, self._folder, self._link, self._pipe, self._restore]

    def _new_text(self) -> bytes:
        """Read, and change a line: the same ones as the run does, or others. What was read may be written over."""
        if not self.path.is_file():
            raise FileNotFoundError
        lines = self.path.read_bytes().splitlines(keepends=True)
        at = self.choose.randrange(len(lines) + 1)
        gone = lines[at : at + self.choose.randint(0, 1)]
        self.tokens = [token for token in self.tokens if token not in gone]
        lines[at : at + len(gone)] = [b"person %d\n" % self.choose.getrandbits(60)]
        self.tokens.append(lines[at])
        return b"".join(lines)

    def _edit_in_place(self) -> None:
        text = self._new_text()
        with self.path.open("r+b", buffering=0) as file:
            file.write(text)
            file.truncate()

    def _edit_by_rename(self) -> None:
        beside = self.path.with_name("beside")
        beside.write_bytes(self._new_text())
        if self.path.is_dir():
            raise IsADirectoryError
        os.replace(beside, self.path)

    def _append(self) -> None:
        if not self.path.is_file():
            raise FileNotFoundError
        with self.path.open("ab", buffering=0) as file:
            token = b"person %d\n" % self.choose.getrandbits(60)
            file.write(token)
        self.tokens.append(token)

    def _touch(self) -> None:
        os.utime(self.path)

    def _remove(self) -> None:
        self.tokens.clear()
        if self.path.is_dir() and not self.path.is_symlink():
            self.path.rmdir()
        else:
            self.path.unlink(missing_ok=True)

    def _delete(self) -> None:
        self._remove()

    def _folder(self) -> None:
        self._remove()
        self.path.mkdir()

    def _link(self) -> None:
        self._remove()
        self.path.symlink_to("../other.txt")

    def _pipe(self) -> None:
        self._remove()
        os.mkfifo(self.path)

    def _restore(self) -> None:
        self._remove()
        self.path.write_bytes(first_text())


def first_text() -> bytes:
    return b"".join(b"line %d\n" % i for i in range(LINES))


class Sequence:
    """One proposal of the run, from its draft to what became of it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.choose = random.Random(seed)
        self.races = seed % 2 == 0
        (root / "d").mkdir(parents=True)
        (root / "d/a.txt").write_bytes(first_text())
        (root / "other.txt").write_bytes(first_text())
        self.ws = Workspace(root)
        self.blobs = BlobsInMemory()
        self.shown: dict[str, ProposalOpened | ProposalRebased] = {}
        self.approved: list[tuple[bytes | None, bytes]] = []
        """Bytes that were shown to stand there, and bytes that the person let be written over them."""
        self.written: list[bytes] = []
        self.met: set[str] = set()
        """What the sequence went through."""
        self.clock = ManualClock()
        self.requests = PersonRequests()
        self.person = Person(root, random.Random(seed + 1_000_000))
        self.gate = Gate(
            GatedTree(workspace=self.ws, guard=GuardedPaths(), sandbox=None),
            SessionPolicy(GatePolicy()),
            blobs=self.blobs,
            views=self,
            clock=self.clock,
            requests=self.requests,
        )
        self.tools = ToolContext(
            workspace=self.ws, env={}, sandbox=Sandbox(), blobs=self.blobs, mcp=no_servers(), contents=None
        )

    def is_attended(self) -> bool:
        return True

    def record(self, event: object) -> None:
        if isinstance(event, ProposalOpened | ProposalRebased):
            self.shown[event.proposal_id] = event
        if isinstance(event, ProposalOpened):
            self.requests.apply(Stamped(0, 0.0, None, None, event))
        if isinstance(event, ProposalRebased):
            self.met.add("conflict" if event.conflict else "rebased")

    async def play(self) -> None:
        draft = draft_of(*self._call(), self.tools)
        assert isinstance(draft, FileDraft)
        await self._meddle()
        for _ in range(4):
            task = asyncio.ensure_future(self.gate.propose(draft, call_id="c", events=self))
            for _ in range(3):
                await asyncio.sleep(0)
            for _ in range(6):
                await self._meddle()
                if not self.gate.open or self._answer(self.gate.open[0]):
                    break
            self.gate.cancel_all("the person went away")
            ruling = await task
            deed = self.person.act() if self.races and self.choose.random() < 0.7 else None
            if not self.races and self.choose.random() < 0.3:
                await self._meddle()
            result: ToolResult = await carry_out(draft, ruling, self.tools)
            if deed is not None:
                await asyncio.to_thread(deed.wait)
            if result.files:
                assert ruling.after is not None
                self.written.append(ruling.after)
                self._judge_write(ruling.draft, ruling.after)
                self.met.add(f"written, {'conflict' if 'conflict' in self.met else 'no conflict'}")
            if result.stale:
                self.met.add("stale")
            if not result.stale:
                return
            draft = plan_again(ruling, self.tools)
            assert isinstance(draft, FileDraft)

    def _call(self) -> tuple[str, object]:
        lines = [b"line %d\n" % i for i in range(LINES)]
        for at in self.choose.sample(range(LINES), self.choose.randint(1, 4)):
            lines[at] = b"model %d\n" % at
        if self.choose.random() < 0.4:
            arguments = {"path": "d/a.txt", "content": b"".join(lines).decode()}
            parsed = parse_arguments("write_file", json.dumps(arguments))
            return "write_file", parsed.arguments
        edits = [
            {"old_text": f"line {at}\n", "new_text": new.decode()}
            for at, new in enumerate(lines)
            if new.startswith(b"model")
        ]
        parsed = parse_arguments("edit_file", json.dumps({"path": "d/a.txt", "edits": edits}))
        return "edit_file", parsed.arguments

    async def _meddle(self) -> None:
        for _ in range(self.choose.choice((0, 0, 1, 1, 2))):
            deed = self.person.act()
            if not self.races:
                deed.wait()
        if self.choose.random() < 0.5:
            await self.clock.advance(1.1)

    def _answer(self, proposal_id: str) -> bool:
        """A random one; whether it was taken."""
        event = self.shown[proposal_id]
        digest, verdict, more = event.digest, "approve", {}
        conflict = isinstance(event, ProposalRebased) and event.conflict
        after = b"" if event.after is None else self.blobs[event.after]
        before = None if event.before is None else self.blobs[event.before]
        match self.choose.randint(0, 9):
            case 0 if self.choose.random() < 0.3:
                verdict = self.choose.choice(["reject", "again", "mine"])
            case 1 | 2 | 3 if conflict:
                verdict = self.choose.choice(["again", "mine"])
            case _ if conflict:
                kept = [line for line in (before or b"").decode().splitlines(keepends=True) if "<<<<" not in line]
                more = {"text": "by hand\n" + "".join(kept)}
                after = more["text"].encode()
            case 1 if event.hunks > 1:
                verdict, more = "part", {"hunks": [0]}
                after = apply_hunks(split((before or b"").decode(), after.decode()), [0]).encode()
            case 2:
                more = {"text": after.decode() + "by hand\n"}
                after = more["text"].encode()
            case _:
                pass
        taken = self.gate.decide(Decide(proposal_id=proposal_id, digest=digest, verdict=verdict, **more))
        if taken is None and verdict in ("approve", "part"):
            self.approved.append((before, after))
        return taken is None

    def _judge_write(self, draft: FileDraft, after: bytes) -> None:
        """What was written is what was approved, over what was shown to stand there."""
        assert (draft.before.data if draft.before.exists else None, after) in self.approved

    def judge(self) -> None:
        """After it all: each of the person's lines is in a file, or was in a text that was approved over."""
        root = self.ws.root
        there = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file() and not path.is_fifo())
        seen = b"".join(before for before, after in self.approved if before is not None and after in self.written)
        for token in self.person.tokens:
            assert token in there or token in seen, token
        assert not list(root.rglob(".rundry-*"))
