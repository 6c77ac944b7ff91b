"""The core's public names: all that a screen may import of it. Each is loaded when it is first asked for.

Each name is stated once, in the imports below. A type checker follows them; `__getattr__` reads them as text, because
importing them all would delay each start.
"""
# ruff: noqa: F401, F403
# pyright: reportUnusedImport=false

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config.choices import FileTrust, file_trust, is_own_journal, require_own_journal
    from .config.finder.executor import CLUSTER_CHECKS, CLUSTER_CONCURRENCY, read_executor
    from .config.finder.recipes import SearchRequest, migration_concurrency, search_request, with_search_limits
    from .config.finder.spec_file import read_finder
    from .config.handoff_tiers import same_server_model
    from .config.hooks.hook_scripts import trust_scripts
    from .config.limits import read_limit
    from .config.loop_flags import budget_is_set
    from .config.options import OPTIONS
    from .config.remember import GATE_IS_EFFECTS, is_new_to_user, remember_model
    from .config.settings import Setting, Settings, config_file, load_settings
    from .config.skills.find_skills import FoundSkill, find_skills, load_skill, skill_body, unused_notes
    from .config.skills.folder_content import BadSkill
    from .config.skills.slash_commands import SlashCommand, find_commands
    from .config.spec import budget_of, to_spec, with_default_gate
    from .config.specs.command_lines import quoted_at
    from .config.specs.goal_file import GoalRequest, read_goal
    from .config.specs.library import RecipeEntry, RecipeParameter, Recipes, is_name
    from .config.specs.parameters import given_values
    from .config.specs.reading import read_spec
    from .config.specs.schema import spec_schema
    from .config.trust import Trust
    from .config.values import parse_deadline, parse_duration, parse_money, parse_number
    from .facts.changes import Changes, standing_changes
    from .facts.checkpoint import facts_of, last_end
    from .facts.common.manual import Background
    from .facts.common.void import changed_words, end_word, void_words
    from .facts.logs.change_log import RecordedChange
    from .facts.reached_limit import limit_in, reached_limit
    from .facts.search.cited_line import CitedLine, cited_line, is_address
    from .facts.search.cited_place import line_of_place
    from .facts.search.finder_facts import FinderFacts, pool_size
    from .facts.search.finding import Finding, Flight, LensFacts
    from .facts.verdicts import SUSPECT_QUESTION
    from .finder.items.item_state import Row as ItemRow, State as ItemState
    from .finder.items.keys import item_key
    from .finder.items.view import FrontierView
    from .gate.change.cuts import apply_cut_hunks, cut_hunks, finer_cuts
    from .gate.change.diff import compare_contents
    from .gate.change.merge import merge
    from .gate.effects.shown import entry_diff
    from .images.attach import attach, can_be_attached, looks_like_picture
    from .images.mentions import Mention, dropped_paths, mention_of, mentions
    from .images.words import no_images_message
    from .imports import quick_imports
    from .journal.claim import holder
    from .journal.integrity.backup import backup as backup_journal
    from .journal.journal import Journal
    from .journal.redact import Redactor
    from .journal.write_watch import WriteWatch
    from .layers.copies import cost_of_copies
    from .layers.fitness import Fitness, fitness_of
    from .layers.left import LeftUnit, left_units
    from .layers.left_files import LeftFiles, kept_files, left_copies, left_layers
    from .model.candidates import Candidate, candidates
    from .model.demo.project_copy import copy_project
    from .model.discovery import KeyMissing, ModelLine, Survey, discover
    from .model.lanes.connections import borrowed_pool
    from .model.litellm_use.credentials import refuse_missing_key
    from .model.naming import find_model
    from .protocol import *
    from .protocol.text.counts import noun_for, plural
    from .protocol.text.effect_words import (
        along_lines,
        effect_lines,
        effects_title,
        entry_change,
        entry_counts,
        entry_facts,
        entry_name,
        entry_notes,
        size_words,
    )
    from .protocol.tools.traits import TOOL_TRAITS
    from .reports.by_group import GroupSpend
    from .reports.by_hook import HookCount
    from .reports.changed_files import RunFile, changed_files
    from .reports.check import check_journal
    from .reports.context_costs import ContextCost, context_costs
    from .reports.export import exported, exported_lines
    from .reports.find_run import find_run
    from .reports.handoffs import SHORT_DIGEST, decision_commands, digests_of, handoff_markdown
    from .reports.listing.index import list_runs
    from .reports.listing.line import RunLine, staged_in
    from .reports.listing.tree import as_tree, is_left_to_parent
    from .reports.pending import PendingProposal, SuspectResult, pending, suspect_result
    from .reports.points import Point, earlier_points
    from .reports.reporting import Advice, Report, Share, report
    from .reports.run_state import RunState, run_state
    from .reports.runs import delete_run, new_run_id, runs_dir
    from .reports.void import as_of_now, newest_as_of_now
    from .run.client.session import Session
    from .run.client.start_request import ResumeChanges
    from .run.confirming.after_end import verify_run
    from .run.damaged.admission import admit_damage
    from .run.fork import fork as fork_run
    from .run.handoff.handoff import handoff_after_end
    from .run.process.in_process import begin_in_process, run_in_process
    from .run.process.notify_hook import start_notify_hook
    from .run.process.refused import refused_events
    from .run.proposals.refresh import refresh_proposals
    from .run.setup.small_window import check_context
    from .run.setup.surroundings.variables import variables_left_out
    from .run.setup.validate_spec import validate_spec
    from .run.staging.keep import KeepReview, newest_undecided, open_kept
    from .run.staging.left import drop_all_left, drop_stage, newest_staged
    from .run.staging.review import StageReview, open_stage
    from .run.staging.reviewing import Applied
    from .step.model_trial import FormatResult, ModelTrial, Trial, open_trial
    from .system.extras import mcp_sdk_missing, missing_extra
    from .telemetry.export import otlp_lines
    from .telemetry.target import target_of as otel_target
    from .verdict.run_scope import scope_problem
    from .version import VERSION
    from .view.block import Block, BlockStatus
    from .view.checkpoints import ViewCheckpoints
    from .view.loading import load_older
    from .view.progress import Bars, Progress, downsampled, failure_kind
    from .view.reading import reading_progress
    from .view.reduce import reduce, reduce_all
    from .view.reducer.answers import answer_words
    from .view.reducer.children import new_words
    from .view.reducer.confirming import confirming_words, dependency_line
    from .view.reducer.finder import is_paused_between_steps
    from .view.reducer.judging import judged_words, second_check_words
    from .view.reducer.numbers import clock, held_words, money, short
    from .view.reducer.shortening import shortening_lines, trim_words
    from .view.reducer.titles import (
        call_title,
        command_name,
        proposal_title,
        stall_kind_words,
        stall_name,
        stall_words,
        try_label,
    )
    from .view.state import RebaseResult, ViewState
    from .view.stored import stored_view
    from .view.transcript import IN_MEMORY, Blocks
    from .view.waiting import SHOW_WAIT_SECONDS, waiting_for
    from .workspace.files.content import text_format_of
    from .workspace.ignore import Ignore
    from .workspace.own_temp import temp_folder
    from .workspace.sandbox.confined.hidden_places import HideRules, expand_home
    from .workspace.sandbox.sandbox import Sandbox


@cache
def _homes() -> dict[str, tuple[str, str]]:
    """Return each name with its module and its name there. Names of the protocol, imported by `*`, are missing."""
    from pathlib import Path  # costs 5 ms

    text = Path(__file__).read_text(encoding="utf-8")
    imports = text.partition("\nif TYPE_CHECKING:\n")[2].partition("\n\n\n")[0]
    found: dict[str, tuple[str, str]] = {}
    for statement in imports.split("    from ")[1:]:
        home, _, names = statement.partition(" import ")
        for each in names.strip("(,) \n").split(","):
            there, _, name = each.strip().partition(" as ")
            found[name or there] = (home, there)
    return found


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute, of any kind
    if name.startswith("__"):
        raise AttributeError(name)
    home, there = _homes().get(name, (".protocol", name))
    value = getattr(import_module(home, __name__), there)
    globals()[name] = value
    return value
