"""Decide whether a draft is allowed, waits for a person or is refused (docs/requirements.md 6.2, 6.9)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ..host.file_errors import PathRefused
from ..host.files.quick_spec import QuickSpec
from ..host.real_paths import real_path
from ..host.workspace_paths import Workspace
from ..layers.surroundings import why_edit_asks
from ..protocol import IN_PLACE, GateMode, Rule
from ..protocol.effects import EXECUTABLE
from ..protocol.text.shorten_text import end_cut
from ..shell.command_line import ParsedLine, PlainCommand
from ..shell.flags import base, hides, risk, script_of, unknown_word
from ..shell.grammar import HIDDEN
from ..shell.line_parser import parse_line
from ..shell.only_reads import only_reads
from ..shell.program_names import NEUTRAL, WHOLE, WRITERS
from ..shell.rule_matches import Hit, named_paths
from ..shell.unwrap import unwrapped
from .draft import CommandDraft, FileDraft
from .guarded_paths import GuardedPaths
from .rules import (
    NO_RULES,
    RuleOffer,
    allows_part,
    applies_to_file,
    exact_file_rule,
    match_command,
    offer_for_commands,
    rule_text,
)
from .untrusted_repository import runs_code

_MOST_SHOWN = 52
"""Characters of a command that a reason shows."""
GUARDED = "guarded with --guard"
"""The reason for asking about a file that the user guards."""
NOT_STARTED = "this sandbox gives too few guarantees for commands that nobody approved: --gate stage starts them here"
"""Why the stage of a headless run, which nobody chose, starts no command."""
_MAY_RUN = 0o111


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The policy's decision on a draft."""

    action: Literal["allow", "ask", "deny"]
    why: list[str]
    """Reasons for the person, one line each."""
    needs: list[str] = []
    """What needs approval: names of commands, or `edits`."""
    danger: bool = False
    """Whether the person must decide in every mode; `always` is then not possible."""
    offer: RuleOffer = NO_RULES
    """The rules that would allow this from now on."""


class PolicyContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict depends on, apart from the draft."""

    workspace: Workspace
    mode: GateMode
    rules: Sequence[Rule]
    guard: GuardedPaths
    sandbox: str | None
    layers: bool = False
    """Whether a command writes into a layer, whose effects are judged."""
    why_no_layers: str = ""
    """Why it does not."""
    starts: bool = True
    """Whether commands start in a stage: the sandbox is known to hold, or the user chose the stage."""
    unsandboxed_ok: bool = False
    scope: Sequence[str] = ()
    """The globs of `--scope`."""


def is_named(path: str, scope: Sequence[str]) -> bool:
    """Return whether the user named a path with `--scope`."""
    return bool(scope) and QuickSpec(scope).match_file(path)


def judge(draft: FileDraft | CommandDraft, context: PolicyContext) -> Verdict:
    """Return the verdict for a draft. Never raises because of what a model sent."""
    if isinstance(draft, CommandDraft):
        runs_in_layer = context.layers and draft.tool != "start_command" and not draft.unsandboxed
        verdict = _judge_command(draft, context, in_layer=runs_in_layer)
        return verdict if draft.beyond is None or verdict.action == "deny" else _beyond(draft.beyond)
    return _judge_file(draft, context)


def _beyond(what: str) -> Verdict:
    """Return the verdict for a command that needs more than the sandbox allows: the person decides on each run."""
    return Verdict(action="ask", why=[f"the sandbox refused: {what}"], danger=True)


def _judge_file(draft: FileDraft, context: PolicyContext) -> Verdict:
    given = os.path.normpath(draft.before.path)
    paths = list(dict.fromkeys([draft.path, given.replace(os.sep, "/")]))
    spoken = [rule for rule in context.rules if applies_to_file(rule, draft.tool, paths)]
    denied = next((rule for rule in spoken if rule.verdict == "deny"), None)
    if denied is not None:
        return Verdict(action="deny", why=[f"a rule refuses it: {rule_text(denied)}"])
    if context.mode is GateMode.READ:
        return Verdict(action="deny", why=["the gate is set to `read`: nothing may change"])
    if context.mode is GateMode.STAGE:
        return _judge_staged(draft, context)
    dangers = _dangers(draft, context)
    if dangers:
        return Verdict(action="ask", why=dangers, danger=True)
    asked = next((rule for rule in spoken if rule.verdict == "ask"), None)
    if asked is not None:
        return Verdict(action="ask", why=[f"a rule asks: {rule_text(asked)}"])
    allowed = next((rule for rule in spoken if rule.verdict == "allow"), None)
    if allowed is not None:
        return Verdict(action="allow", why=[f"a rule allows it: {rule_text(allowed)}"])
    if context.mode in (GateMode.EDITS, GateMode.AUTO):
        return Verdict(action="allow", why=[f"the gate is set to `{context.mode}`"])
    return Verdict(
        action="ask",
        why=[f"the gate is set to `{context.mode}`: changes wait"],
        needs=["edits"],
        offer=RuleOffer(rules=[exact_file_rule(draft.tool, draft.path)]),
    )


def _judge_staged(draft: FileDraft, context: PolicyContext) -> Verdict:
    """Judge an edit in a stage. Only guarded files ask now; all else asks when it is applied."""
    if context.guard.matches(draft.path):
        return Verdict(action="ask", why=[f"{draft.path} is {GUARDED}"], danger=True)
    return Verdict(action="allow", why=["the gate is set to `stage`: the change waits until it is applied"])


def _dangers(draft: FileDraft, context: PolicyContext) -> list[str]:
    why: list[str] = []
    if context.guard.matches(draft.path):
        why.append(f"{draft.path} is {GUARDED}")
    ws = context.workspace
    cautions = [ws.caution(draft.before.path)]
    if not draft.written_by:
        cautions.append(ws.caution(draft.before.real))
    cautions += _file_cautions(draft, ws, is_named=is_named(draft.path, context.scope))
    why += [f"{draft.path}: {caution}" for caution in cautions if caution]
    if draft.written_by:
        why.append(f"a command changed it: {draft.written_by}")
    if draft.from_text:
        why.append("it was made of code in an answer: such a change waits in every mode")
    if not why:
        before = draft.before
        found = why_edit_asks(ws, draft.path, os.environ, is_new=not before.exists, is_deleted=draft.after is None)
        why += [f"{draft.path}: {found}"] if found else []
    return list(dict.fromkeys(why))


def _file_cautions(draft: FileDraft, ws: Workspace, *, is_named: bool) -> list[str]:
    """Return effects that the path does not show (docs/attacks.md (e)): hard links, an executable file, links to it.

    `is_named`: the user let the run change this file with `--scope`, and knows that it is executable.
    """
    if draft.written_by is not None:
        return []  # the command already changed it: the person decides on its content only
    before = draft.before
    why: list[str] = []
    if before.links > 1:
        why.append(f"it is a hard link: the change also reaches its {_others(before.links)} elsewhere")
    if before.exists and before.mode & _MAY_RUN and not is_named:
        why.append(EXECUTABLE)
    link = _link_in_path(before.path, ws)
    if link is not None:
        why.append(f"the link {link} leads to it")
    return why


def _others(links: int) -> str:
    return "other name" if links == 2 else f"{links - 1} other names"


def _link_in_path(given: Path, ws: Workspace) -> str | None:
    """Return the first link in the path to the file below the workspace, as the model spelled it."""
    whole = ws.at(given)
    inside = next((above for above in reversed(whole.parents) if real_path(above) == ws.root), None)
    if inside is None:
        return str(given)  # a link outside the workspace leads into one of its folders
    at = inside
    for part in whole.relative_to(inside).parts:
        at = at.parent if part == ".." else at / part
        if at.is_symlink():
            return at.relative_to(inside).as_posix() if at.is_relative_to(inside) else str(at)
    return None


def _judge_command(draft: CommandDraft, context: PolicyContext, *, in_layer: bool) -> Verdict:
    command = draft.command
    line = unwrapped(parse_line(command))
    named = named_paths(line, context.workspace.seen)
    hits = {r: match_command(r, command, line.parts, named) for r in context.rules if r.verdict != "allow"}
    denied = next((rule for rule, hit in hits.items() if rule.verdict == "deny" and hit is Hit.SURE), None)
    if denied is not None:
        return Verdict(action="deny", why=[f"a rule refuses it: {rule_text(denied)}"])
    if why := _why_never(context):
        return Verdict(action="deny", why=[why])
    if line.parse_error is not None:
        return Verdict(action="ask", why=[f"the command could not be parsed, so no rule applies: {line.parse_error}"])
    dangers = [] if in_layer or context.mode is GateMode.STAGE else _touched(line, context.workspace)
    if dangers:
        return Verdict(action="ask", why=dangers, danger=True)
    asked = next((rule for rule, hit in hits.items() if hit is not Hit.NO), None)
    if asked is not None:
        return Verdict(action="ask", why=[_why_asked(asked, hits[asked])])
    unseen = _unnamed(line) if any(_restricts(rule) and rule.path is not None for rule in context.rules) else []
    if unseen:
        return Verdict(action="ask", why=unseen)
    unruled, doubts = _by_rules(line, context)
    if not unruled and not doubts:
        return Verdict(action="allow", why=["rules allow every part of it"])
    starts = context.mode in (GateMode.AUTO, GateMode.STAGE) or (context.mode is GateMode.EFFECTS and in_layer)
    if starts and (verdict := _judge_auto(line, context)) is not None:
        return verdict
    why = [*doubts, *dict.fromkeys(f"no rule allows `{_in_short(part)}`" for part in unruled)]
    if context.mode is GateMode.AUTO:
        why = ["there is no sandbox here, and you have not allowed commands without one", *doubts]
    elif context.mode is GateMode.EFFECTS:
        why.insert(0, f"commands ask here although the gate is set to `effects`: {_why_not_in_layer(draft, context)}")
    if context.why_no_layers and not context.layers and not only_reads(line):
        why.append(IN_PLACE)
    needs = _needs(line, unruled, context)
    return Verdict(action="ask", why=why, needs=needs, offer=NO_RULES if doubts else offer_for_commands(unruled))


def _why_never(context: PolicyContext) -> str:
    """Return why no command starts in this mode, whatever it is, or empty if some do."""
    if context.mode is GateMode.READ:
        return "the gate is set to `read`: no command may run"
    return NOT_STARTED if context.mode is GateMode.STAGE and not context.starts else ""


def _why_not_in_layer(draft: CommandDraft, context: PolicyContext) -> str:
    if context.sandbox is None:
        return "there is no sandbox"
    if context.layers:
        return "this one writes to the workspace itself"
    return f"commands write to the workspace itself: {context.why_no_layers or 'it is a worktree of rundry'}"


def _needs(line: ParsedLine, unruled: Sequence[PlainCommand], context: PolicyContext) -> list[str]:
    """Return the names of the commands that no rule allows; if rules cannot decide, of all that are not harmless."""
    doubtful = [part for part in line.parts if not any(allows_part(rule, part) for rule in context.rules)]
    names = [base(part.name) for part in unruled or doubtful if part.texts not in ([name] for name in NEUTRAL)]
    return list(dict.fromkeys(name for name in names if name and name != "cd"))


def _why_asked(rule: Rule, hit: Hit) -> str:
    if hit is Hit.SURE:
        return f"a rule asks: {rule_text(rule)}"
    if hit is Hit.ARGUMENT:
        return f"the command could run an argument to which this rule applies: {rule_text(rule)}"
    return f"a word of the command is unknown and could make this rule apply: {rule_text(rule)}"


def _in_short(part: PlainCommand) -> str:
    """Shorten a command. The gate shows the whole line below, and the model has it in its call."""
    return end_cut(" ".join(part.texts), _MOST_SHOWN)


def _judge_auto(line: ParsedLine, context: PolicyContext) -> Verdict | None:
    """Judge a command that starts by itself: ask only if it could evade a rule that restricts.

    In `auto` the sandbox limits it; in `effects` and in a stage, what it changes waits. Returns None if there is no
    sandbox, so the other reasons decide.
    """
    hidden = [*line.doubts, *(why for part in line.parts if (why := hides(part)))]
    if hidden and any(_restricts(rule) and rule.command for rule in context.rules):
        return Verdict(action="ask", why=[*dict.fromkeys(hidden), "so a rule that asks or refuses could be missed"])
    if context.sandbox is not None:
        return Verdict(
            action="allow", why=[f"the gate is set to `{context.mode}`; {context.sandbox} limits the command"]
        )
    if context.unsandboxed_ok and context.mode is GateMode.AUTO:
        return Verdict(action="allow", why=["the gate is set to `auto`, and you allowed commands without a sandbox"])
    return None


def _restricts(rule: Rule) -> bool:
    return rule.verdict != "allow" and rule.tool in (None, "run_command")


def _unnamed(line: ParsedLine) -> list[str]:
    """Return doubts about words that name unknown files, because a rule for paths may apply to these."""
    if hidden := _hidden_characters(line):
        return hidden
    words = [word for part in line.parts for word in part.words[1:] if word.pattern or not word.known]
    return [f"the files of `{word.text}` are unknown, and a rule names files" for word in words]


def _hidden_characters(line: ParsedLine) -> list[str]:
    """Return the doubt about invisible characters. The words are not shown then, because they differ from the line."""
    return [doubt for doubt in line.doubts if doubt.startswith(HIDDEN)]


def _by_rules(line: ParsedLine, context: PolicyContext) -> tuple[list[PlainCommand], list[str]]:
    """Return the parts that no rule allows, and why rules cannot decide at all."""
    doubts, unruled, ruled = list(line.doubts), list[PlainCommand](), 0
    root = context.workspace.seen
    here = root
    for i, part in enumerate(line.parts):
        if i == 0 and part.then and part.name == "cd" and len(line.parts) > 1:
            moved = _moved(part, root)
            if isinstance(moved, str):
                doubts.append(moved)
            else:
                here = moved
            continue
        if part.texts in ([name] for name in NEUTRAL):
            continue
        unknown = unknown_word(part)
        why = unknown or risk(part) or _out_of_place(part, here, root)
        if why is not None:
            doubts += [] if unknown and _hidden_characters(line) else [why]
        elif any(allows_part(rule, part) for rule in context.rules):
            ruled += 1
        else:
            unruled.append(part)
    if not ruled and not unruled and not doubts:
        doubts.append("it has no command that a rule could allow")
    return unruled, list(dict.fromkeys(doubts))


def _moved(part: PlainCommand, root: Path) -> Path | str:
    """Return the folder that `cd` leads to, or why it is unknown."""
    if len(part.words) != 2 or not part.words[1].known or part.words[1].pattern or part.words[1].text.startswith("-"):
        return "the target of `cd` is unknown"
    there = real_path(root / part.words[1].text)
    if not there.is_relative_to(root):
        return f"it leaves the workspace: cd {part.words[1].text}"
    return there


def _out_of_place(part: PlainCommand, here: Path, root: Path) -> str | None:
    """Return why the part does something else in this folder than its rule intends."""
    name = part.name
    if name == "cd":
        return "it changes the folder in the middle of the line"
    if "/" in name and not name.startswith("/") and here != root:
        return f"`{name}` is another file after `cd`"
    script = script_of(part)
    if script is not None and not script.startswith("/") and here != root:
        return f"`{name} {script}` runs another file after `cd`"
    if base(name) in WRITERS:
        outside = next((word for word in part.texts[1:] if not _is_below(word, here, root)), None)
        if outside is not None:
            return f"`{name}` would change {outside}, outside of the workspace"
    if base(name) == "git":
        return runs_code(here)
    return None


def _is_below(word: str, here: Path, root: Path) -> bool:
    target = word.partition("=")[2] or word
    if word.startswith("-") and "/" not in target:
        return True
    if word.startswith("-") and "=" not in word:
        return False
    return real_path(here / target).is_relative_to(root)


def _touched(line: ParsedLine, ws: Workspace) -> list[str]:
    """Return a reason for each protected file in the workspace that the line certainly writes to."""
    here = ws.seen
    targets: list[tuple[Path, str]] = [(here, target) for target in line.writes]
    for part in line.parts:
        if part.name == "cd" and len(part.words) == 2:
            here = real_path(here / part.words[1].text)
            targets += [(here, target) for target in line.writes]
        elif base(part.name) in WRITERS or _edits_in_place(part):
            names = [word.partition("=")[2] or word for word in part.texts[1:]]
            targets += [(here, name) for name in names if not name.startswith("-")]
            if base(part.name) in WHOLE and any(_real(here, name) == ws.seen for name in names):
                return [f"`{part.name}` affects the whole workspace, including its repository"]
    return list(dict.fromkeys(why for place, target in targets if (why := _protected(ws, place, target))))


def _edits_in_place(part: PlainCommand) -> bool:
    return base(part.name) in ("sed", "perl") and any(re.match(r"-(-in-place|\w*i)", word) for word in part.texts[1:])


def _real(here: Path, name: str) -> Path | None:
    return None if "\0" in name else real_path(here / name)


def _protected(ws: Workspace, here: Path, target: str) -> str | None:
    try:
        lexical, real = Path(os.path.normpath(here / target)), real_path(here / target)
        if not real.is_relative_to(ws.seen) and not lexical.is_relative_to(ws.seen):
            return None  # outside the workspace: the sandbox and the doubts cover it
        ws.resolve(str(lexical))
        why = ws.caution(lexical)
    except PathRefused as refused:
        return f"it writes to {target}, where no tool may write: {str(refused).rpartition(': refused, ')[2]}"
    except ValueError:
        return f"it writes to an impossible name: {target!r}"
    return None if why is None else f"it writes to {target}: {why}"
