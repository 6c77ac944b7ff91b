"""The core's public names: all that a screen may import of it. Each is loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "IN_MEMORY",
    "TOOLS",
    "Advice",
    "Background",
    "Bars",
    "Block",
    "Blocks",
    "Changes",
    "FinderFacts",
    "Finding",
    "Flight",
    "FrontierView",
    "Ignore",
    "ItemRow",
    "ItemState",
    "Journal",
    "KeyMissing",
    "Landed",
    "LensFacts",
    "Mention",
    "ModelLine",
    "PendingProposal",
    "Point",
    "Progress",
    "Rebasing",
    "Redactor",
    "Report",
    "ResumeChanges",
    "Sandbox",
    "Session",
    "Setting",
    "Settings",
    "Share",
    "Survey",
    "SuspectResult",
    "Trust",
    "ViewState",
    "Waits",
    "Wanted",
    "WriteWatch",
    "admit_damage",
    "as_mention",
    "attach",
    "backup_journal",
    "begin_here",
    "beside",
    "call_hook",
    "call_title",
    "can_be_attached",
    "check_context",
    "check_journal",
    "check_usable",
    "clock",
    "compare_contents",
    "config_file",
    "confirming_words",
    "copy_project",
    "deciding_commands",
    "dependency_line",
    "digests_of",
    "discover",
    "dropped",
    "earlier_points",
    "exported",
    "exported_lines",
    "facts_of",
    "find_run",
    "fork_run",
    "form_of",
    "handoff_markdown",
    "holder",
    "item_key",
    "last_end",
    "limited",
    "list_runs",
    "load_older",
    "load_settings",
    "looks_like_picture",
    "mentions",
    "money",
    "new_run_id",
    "no_images",
    "parse_deadline",
    "parse_duration",
    "parse_money",
    "parse_number",
    "pending",
    "plural",
    "quick_imports",
    "read_finder",
    "read_limit",
    "reading_told",
    "reduce",
    "reduce_all",
    "refresh_proposals",
    "refuse_missing_key",
    "refused_events",
    "report",
    "rests",
    "run_here",
    "runs_dir",
    "short",
    "shortening_lines",
    "squeezed",
    "stall_words",
    "standing",
    "standing_changes",
    "stored_view",
    "suspect_result",
    "temp_folder",
    "to_spec",
    "trim_words",
    "try_label",
    "variables_left_out",
    "verify_run",
    "wanted_by",
    "what_waits",
]

if TYPE_CHECKING:
    from .config import (
        Setting,
        Settings,
        Trust,
        Wanted,
        beside,
        config_file,
        limited,
        load_settings,
        parse_deadline,
        parse_duration,
        parse_money,
        parse_number,
        read_finder,
        read_limit,
        to_spec,
        wanted_by,
    )
    from .facts.changes import Changes, Landed, standing_changes
    from .facts.checkpoint import facts_of, last_end
    from .facts.common.manual import Background
    from .facts.search.finder_facts import FinderFacts
    from .facts.search.finding import Finding, Flight, LensFacts
    from .finder.items.item_state import Row as ItemRow
    from .finder.items.item_state import State as ItemState
    from .finder.items.keys import item_key
    from .finder.items.view import FrontierView
    from .gate import compare_contents
    from .images import (
        Mention,
        as_mention,
        attach,
        can_be_attached,
        dropped,
        looks_like_picture,
        mentions,
        no_images,
    )
    from .imports import quick_imports
    from .journal import Journal, Redactor, holder
    from .journal.integrity.backup import backup as backup_journal
    from .journal.write_watch import WriteWatch
    from .model import KeyMissing, ModelLine, Survey, discover, refuse_missing_key
    from .model.demo import copy_project
    from .protocol import *  # noqa: F403
    from .reports import find_run, list_runs, new_run_id, runs_dir
    from .reports.check import check_journal
    from .reports.export import exported, exported_lines
    from .reports.handoffs import deciding_commands, digests_of, handoff_markdown
    from .reports.pending import PendingProposal, SuspectResult, pending, suspect_result
    from .reports.points import Point, earlier_points
    from .reports.reporting import Advice, Report, Share, report
    from .reports.waiting import Waits, what_waits
    from .run.client.session import Session
    from .run.client.start_request import ResumeChanges
    from .run.confirming.later import verify_run
    from .run.damaged.admission import admit_damage
    from .run.fork import fork as fork_run
    from .run.handoff.handoff import standing
    from .run.process.calling import call_hook
    from .run.process.in_process import begin_here, run_here
    from .run.proposals.refresh import refresh_proposals
    from .run.setup.preflight import refused_events
    from .run.setup.small_window import check_context
    from .run.setup.surroundings import variables_left_out
    from .run.setup.validate_spec import check_usable
    from .tools import TOOLS
    from .view.block import Block
    from .view.loading import load_older
    from .view.progress import Bars, Progress, squeezed
    from .view.reading import reading_told
    from .view.reducer import reduce, reduce_all
    from .view.reducer.confirming import confirming_words, dependency_line
    from .view.reducer.finder import rests
    from .view.reducer.numbers import clock, money, plural, short
    from .view.reducer.shortening import shortening_lines, trim_words
    from .view.reducer.titles import call_title, stall_words
    from .view.reducer.tries import try_label
    from .view.state import Rebasing, ViewState
    from .view.stored import stored_view
    from .view.transcript import IN_MEMORY, Blocks
    from .workspace import Ignore, Sandbox, form_of
    from .workspace.own_temp import temp_folder

_HOMES: dict[str, str] = {
    "quick_imports": "imports",
    "Background": "facts.common.manual",
    "Bars": "view.progress",
    "Block": "view.block",
    "Blocks": "view.transcript",
    "IN_MEMORY": "view.transcript",
    "reading_told": "view.reading",
    "stored_view": "view.stored",
    "Progress": "view.progress",
    "Rebasing": "view.state",
    "ViewState": "view.state",
    "call_title": "view.reducer.titles",
    "clock": "view.reducer.numbers",
    "confirming_words": "view.reducer.confirming",
    "dependency_line": "view.reducer.confirming",
    "money": "view.reducer.numbers",
    "plural": "view.reducer.numbers",
    "load_older": "view.loading",
    "reduce": "view.reducer",
    "reduce_all": "view.reducer",
    "rests": "view.reducer.finder",
    "short": "view.reducer.numbers",
    "shortening_lines": "view.reducer.shortening",
    "squeezed": "view.progress",
    "stall_words": "view.reducer.titles",
    "trim_words": "view.reducer.shortening",
    "try_label": "view.reducer.tries",
    "Advice": "reports.reporting",
    "verify_run": "run.confirming.later",
    "mentions": "images",
    "no_images": "images",
    "looks_like_picture": "images",
    "dropped": "images",
    "can_be_attached": "images",
    "attach": "images",
    "Mention": "images",
    "as_mention": "images",
    "PendingProposal": "reports.pending",
    "SuspectResult": "reports.pending",
    "suspect_result": "reports.pending",
    "Report": "reports.reporting",
    "Share": "reports.reporting",
    "facts_of": "facts.checkpoint",
    "last_end": "facts.checkpoint",
    "exported": "reports.export",
    "exported_lines": "reports.export",
    "pending": "reports.pending",
    "refresh_proposals": "run.proposals.refresh",
    "report": "reports.reporting",
    "beside": "config",
    "backup_journal": "journal.integrity.backup:backup",
    "check_journal": "reports.check",
    "admit_damage": "run.damaged.admission",
    "call_hook": "run.process.calling",
    "handoff_markdown": "reports.handoffs",
    "deciding_commands": "reports.handoffs",
    "digests_of": "reports.handoffs",
    "standing": "run.handoff.handoff",
    "FinderFacts": "facts.search.finder_facts",
    "Finding": "facts.search.finding",
    "Flight": "facts.search.finding",
    "FrontierView": "finder.items.view",
    "LensFacts": "facts.search.finding",
    "wanted_by": "config",
    "read_finder": "config",
    "Wanted": "config",
    "Changes": "facts.changes",
    "Ignore": "workspace",
    "ItemRow": "finder.items.item_state:Row",
    "ItemState": "finder.items.item_state:State",
    "Landed": "facts.changes",
    "Journal": "journal",
    "KeyMissing": "model",
    "ModelLine": "model",
    "Redactor": "journal",
    "Point": "reports.points",
    "earlier_points": "reports.points",
    "ResumeChanges": "run.client.start_request",
    "Sandbox": "workspace",
    "variables_left_out": "run.setup.surroundings",
    "Session": "run.client.session",
    "Settings": "config",
    "Survey": "model",
    "Trust": "config",
    "check_context": "run.setup.small_window",
    "check_usable": "run.setup.validate_spec",
    "compare_contents": "gate",
    "config_file": "config",
    "discover": "model",
    "find_run": "reports",
    "fork_run": "run.fork:fork",
    "form_of": "workspace",
    "holder": "journal",
    "item_key": "finder.items.keys",
    "copy_project": "model.demo",
    "list_runs": "reports",
    "load_settings": "config",
    "new_run_id": "reports",
    "limited": "config",
    "Setting": "config",
    "read_limit": "config",
    "TOOLS": "tools",
    "parse_deadline": "config",
    "parse_duration": "config",
    "parse_money": "config",
    "parse_number": "config",
    "begin_here": "run.process.in_process",
    "refuse_missing_key": "model",
    "refused_events": "run.setup.preflight",
    "run_here": "run.process.in_process",
    "runs_dir": "reports",
    "standing_changes": "facts.changes",
    "temp_folder": "workspace.own_temp",
    "to_spec": "config",
    "Waits": "reports.waiting",
    "what_waits": "reports.waiting",
    "WriteWatch": "journal.write_watch",
}
"""Name to module, and to its name there where that is another one, for what is not a word of the protocol."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute, of any kind
    if name.startswith("__"):
        raise AttributeError(name)
    home, _, there = _HOMES.get(name, "protocol").partition(":")
    value = getattr(import_module(f".{home}", __name__), there or name)
    globals()[name] = value
    return value
