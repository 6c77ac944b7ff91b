"""The arguments of the tools. Clients read these descriptions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Run = Annotated[
    str, Meta(pattern=r"^[0-9a-z][0-9a-z-]{3,39}$", description="Id of the run, from start_run or list_runs.")
]
Seconds = Annotated[float, Meta(ge=0, le=300, description="Longest wait in seconds, at most 300.")]
Reason = Annotated[str, Meta(max_length=2_000, description="The model of the run reads it.")]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="The whole digest of the proposal, from read_run.")]
Offset = Annotated[int, Meta(ge=0, description="Number of entries, or characters of a diff, to skip.")]


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ListRuns(_Arguments, frozen=True, kw_only=True):
    """Which runs `list_runs` returns: newest first, at most `limit`."""

    state: Literal["any", "running", "ended", "interrupted"] = "any"
    folder: Annotated[str, Meta(max_length=1_000, description="Only runs in this folder or below it.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class StartRun(_Arguments, frozen=True, kw_only=True):
    """The task, workspace, checks and limits of the run that `start_run` begins."""

    task: Annotated[str, Meta(min_length=1, max_length=20_000, description="What the run has to do.")]
    folder: (
        Annotated[str, Meta(max_length=1_000, description="The workspace, one of the allowed folders or below one.")]
        | None
    ) = None
    until: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=2_000)]],
        Meta(
            max_length=5,
            description="Checks: command lines that exit with 0 when the run is done. Which ones is up to the user.",
        ),
    ] = []
    gate: (
        Annotated[
            Literal["read", "ask", "edits", "auto"],
            Meta(description="What needs no approval. Never wider than the server allows."),
        ]
        | None
    ) = None
    steps: Annotated[int, Meta(ge=1, description="Limit of steps.")] | None = None
    tokens: Annotated[int, Meta(ge=1, description="Limit of billed tokens.")] | None = None
    usd: Annotated[float, Meta(gt=0, description="Limit of the cost in USD.")] | None = None
    minutes: Annotated[float, Meta(gt=0, description="Limit of the working time.")] | None = None


class ReadRun(_Arguments, frozen=True, kw_only=True):
    """Which run `read_run` describes, and with how many entries of its transcript."""

    run: Run
    messages: Annotated[int, Meta(ge=0, le=30, description="Number of newest entries of the transcript.")] = 8


class ReadProposal(_Arguments, frozen=True, kw_only=True):
    """Which proposal `read_proposal` shows, from which character of its diff on."""

    run: Run
    digest: Digest
    offset: Offset = 0


class WaitForRun(_Arguments, frozen=True, kw_only=True):
    """What `wait_for_run` waits for, and for how many seconds at most."""

    run: Run
    seconds: Seconds = 30.0
    until: Annotated[
        Literal["attention", "change"],
        Meta(description="attention: it ends, or waits for somebody. change: also after each step."),
    ] = "attention"
    seen: (
        Annotated[int, Meta(ge=0, description="The `seq` that you read last: do not wait if the run is further.")]
        | None
    ) = None


class SendMessage(_Arguments, frozen=True, kw_only=True):
    """The text that `send_message` puts into the queue of a run."""

    run: Run
    text: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="A message, or the answer to the model's question.")
    ]


class StopRun(_Arguments, frozen=True, kw_only=True):
    """Which run `stop_run` ends, with or without a last model call."""

    run: Run
    now: Annotated[bool, Meta(description="Without a last summary of the model.")] = False


class PauseRun(_Arguments, frozen=True, kw_only=True):
    """Which run `pause_run` pauses after its present step."""

    run: Run


class ResumeRun(_Arguments, frozen=True, kw_only=True):
    """Which run `resume_run` continues, with a message and new limits."""

    run: Run
    message: Annotated[str, Meta(max_length=20_000, description="A first message for the model.")] | None = None
    steps: Annotated[int, Meta(ge=1, description="New limit of all steps of the run.")] | None = None
    tokens: Annotated[int, Meta(ge=1, description="New limit of all billed tokens of the run.")] | None = None
    usd: Annotated[float, Meta(gt=0, description="New limit of the whole cost in USD.")] | None = None
    minutes: Annotated[float, Meta(gt=0, description="New limit of the whole working time.")] | None = None


class ReadFindings(_Arguments, frozen=True, kw_only=True):
    """Which findings of a search `read_findings` returns, a page at a time."""

    run: Run
    state: Literal["any", "confirmed", "unverified", "open", "refuted", "duplicate"] = "any"
    offset: Offset = 0
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class ReadHandoff(_Arguments, frozen=True, kw_only=True):
    """The run whose hand-off document `read_handoff` returns."""

    run: Run


class Approve(_Arguments, frozen=True, kw_only=True):
    """The proposal that `approve` accepts, by the digest of what was read."""

    run: Run
    digest: Digest


class Reject(_Arguments, frozen=True, kw_only=True):
    """The proposal that `reject` refuses, and the reason for the model."""

    run: Run
    digest: Digest
    reason: Reason = ""
