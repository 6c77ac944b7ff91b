"""Plan noisy edits with the real tool and compare the bytes with what was meant."""

from __future__ import annotations

import os
import random
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fakes.blobs_in_memory import BlobsInMemory

from rundry.agent.extend.mcp.mcp_servers import no_servers
from rundry.agent.gate.draft import FileDraft
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.tools.edit_tools import plan_edit
from rundry.agent.tools.tool_arguments import Edit, EditFile
from rundry.agent.tools.tool_context import ToolContext
from rundry.agent.tools.tool_result import ToolResult

from .files import source, split
from .intents import Intent, intent
from .kinds import KINDS
from .texts import Edits, texts_of


@dataclass
class Tally:
    """What became of the edits of each kind, and the wrong ones in words."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def share(self, kind: str, outcome: str) -> float:
        """Percent of the edits of this kind."""
        return 100 * self.counts[kind][outcome] / self.counts[kind].total()

    def table(self) -> str:
        """One line for each kind: edits, right, refused, wrong."""
        total = sum(self.counts.values(), Counter[str]())
        rows = [*self.counts.items(), ("all", total)]
        return "\n".join(
            f"{kind:42} {count.total():6} {100 * count['right'] / count.total():6.1f} "
            f"{100 * count['refused'] / count.total():6.1f} {count['wrong']:5}"
            for kind, count in rows
        )


def run(root: Path, count: int, seed: int = 1) -> Tally:
    """Plan this number of edits, of all kinds in turn, in the folder `root`."""
    ctx = ToolContext(
        workspace=Workspace(root),
        env=command_env(os.environ),
        sandbox=Sandbox(),
        blobs=BlobsInMemory(),
        mcp=no_servers(),
    )
    tally = Tally({kind: Counter() for kind in KINDS})
    kinds = list(KINDS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        meant, edits = sample(random.Random(f"{seed} {number}"), kind)
        outcome, text = _outcome(ctx, root / "file.txt", meant, edits)
        tally.counts[kind][outcome] += 1
        if outcome == "wrong":
            tally.wrong.append(
                f"{kind} ({number}): {meant.name} in {meant.source.name} ({meant.source.layout})\n{edits}\n{text}"
            )
    return tally


def sample(rng: random.Random, kind: str) -> tuple[Intent, Edits]:
    """An edit that is meant, and as it is sent."""
    noise, layout = KINDS[kind]
    while True:
        file = source(rng, layout)
        meant = intent(rng, file)
        edits = None if meant is None else noise(texts_of(meant, rng), rng)
        if meant is not None and edits is not None and not _names_another(meant, edits):
            return meant, edits


def _names_another(meant: Intent, edits: Edits) -> bool:
    """Whether the text that is sent is exactly that of other rows: it is an edit of those then."""
    old = edits[0][0].replace("\r\n", "\n")
    rows = meant.source.rows
    after = old.count("\n") + 1
    return any(
        "".join(f"{row}\n" for row in rows[k : k + after]).startswith(old) for k in range(len(rows)) if k != meant.first
    )


def _outcome(ctx: ToolContext, file: Path, meant: Intent, edits: Edits) -> tuple[str, str]:
    file.write_bytes(meant.source.data())
    try:
        draft = plan_edit(EditFile("file.txt", [Edit(old, new) for old, new in edits]), ctx)
    except Exception:  # noqa: BLE001  a crash is an outcome too
        return "wrong", traceback.format_exc()
    if not isinstance(draft, FileDraft) or draft.after is None:
        return "refused", draft.text if isinstance(draft, ToolResult) else ""
    mark = meant.source.mark
    text = draft.after.removeprefix(mark).decode(meant.source.encoding)
    right = draft.after.startswith(mark) and meant.right(*split(text))
    shown = "".join(text.splitlines(keepends=True)[max(0, meant.first - 3) : meant.first + len(meant.new) + 3])
    return "right" if right else "wrong", f"{draft.notes}\n{shown!r}\nmeant {[row.text for row in meant.new]}"
