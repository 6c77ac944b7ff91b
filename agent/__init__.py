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
    from .extend.mcp.connect import log_in, log_out
    from .extend.mcp.missing_network import missing_network
    from .extend.mcp.own_servers import OwnServers
    from .extend.mcp.private_files import has_login
    from .extend.skills.find_skills import FoundSkill, find_skills, load_skill, skill_body, unused_notes
    from .extend.skills.folder_content import BadSkill
    from .extend.skills.slash_commands import SlashCommand, find_commands
    from .extend.telemetry.export_spans import otlp_lines
    from .extend.telemetry.span_target import target_of as otel_target
    from .gate.cuts import apply_cut_hunks, cut_hunks, finer_cuts
    from .gate.rule_lint import rule_problem
    from .gate.rules import rule_text
    from .gate.shown_effects import entry_diff
    from .gate.text_diff import compare_contents
    from .gate.three_way_merge import merge
    from .host.extras import mcp_sdk_missing, missing_extra
    from .host.files.file_content import text_format_of
    from .host.ignored_files import Ignore
    from .host.own_temp import temp_folder
    from .host.quick_imports import quick_imports
    from .host.real_clock import SystemClock
    from .journal.claim import holder
    from .journal.integrity.backup import backup as backup_journal
    from .journal.journal import Journal
    from .journal.redact import Redactor
    from .journal.write_watch import WriteWatch
    from .layers.fitness import Fitness, fitness_of
    from .layers.left_layer_files import LeftFiles, kept_files, left_copies, left_layers
    from .layers.left_layers import LeftUnit, left_units
    from .layers.workspace_copies import cost_of_copies
    from .models.demo.project_copy import copy_project
    from .models.discovery import discover
    from .models.found_models import KeyMissing, ModelLine, Survey
    from .models.images.attach import attach, can_be_attached, looks_like_picture
    from .models.images.image_words import no_images_message
    from .models.images.mentions import Mention, dropped_paths, mention_of, mentions
    from .models.lanes.connections import borrowed_pool
    from .models.litellm_use.credentials import refuse_missing_key
    from .models.model_choices import Candidate, candidates
    from .models.naming import find_model
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
    from .protocol.text.hook_words import hook_lines
    from .protocol.text.plan_lines import PlanStep, StepState, plan_steps, plan_summary
    from .protocol.text.plan_text import Plan, plan_text, read_plan
    from .protocol.text.shorten_text import end_cut, first_line, line_cut, middle_cut, noted_cut, title_of
    from .protocol.tools.mcp import server_of
    from .protocol.tools.traits import TOOL_TRAITS
    from .protocol.version import VERSION
    from .repo.review_diff import COMMENTS_BEGIN, WantedDiff, has_comments
    from .run.children.fix_target import check_fields, target_of
    from .run.client.run_session import Session
    from .run.client.runner_process import RunnerProcess
    from .run.client.start_request import Expected, ResumeChanges
    from .run.commands.rewind_preview import FileBack, RewindPreview, preview_rewind
    from .run.end.after_end import verify_run
    from .run.handoff.handoff_record import handoff_after_end
    from .run.process.in_process import begin_in_process, run_in_process
    from .run.process.notify_hook import start_notify_hook
    from .run.process.refused_run import refused_events
    from .run.staging.keep_undecided import KeepReview, newest_undecided, open_kept
    from .run.staging.remove_left import drop_all_left, drop_stage, newest_staged
    from .run.staging.reviewing import Applied
    from .run.staging.stage_review import StageReview, open_stage
    from .run.start.damaged_journal import admit_damage
    from .run.start.fork import fork as fork_run
    from .run.start.refresh import refresh_proposals
    from .run.start.small_window import check_context
    from .run.start.take_review import TakenReview, take_review
    from .run.start.validate_spec import validate_spec
    from .run.start.variables_of_run import variables_left_out
    from .sandbox.hidden_places import HideRules, expand_home
    from .sandbox.sandbox import Sandbox
    from .search.items.frontier_view import FrontierView
    from .search.items.item_keys import item_key
    from .search.items.item_state import ItemRow, State as ItemState
    from .settings.config_schema import config_schema
    from .settings.default_limits import read_limit
    from .settings.handoff_tiers import same_server_model
    from .settings.hook_scripts import trust_scripts
    from .settings.loop_flags import budget_is_set
    from .settings.mcp_json import JsonServer, read_json_servers
    from .settings.option_table import ABOUT, OPTIONS
    from .settings.option_values import parse_deadline, parse_duration, parse_money, parse_number
    from .settings.plan_spec import spec_of_planning
    from .settings.remembered import GATE_IS_EFFECTS, is_new_to_user, remember_model
    from .settings.scope_globs import scope_problem
    from .settings.search.executor import CLUSTER_CHECKS, CLUSTER_CONCURRENCY, read_executor
    from .settings.search.review_lenses import review_request
    from .settings.search.search_file import read_finder
    from .settings.search.search_recipes import SearchRequest, migration_concurrency, search_request, with_search_limits
    from .settings.settings import Setting, Settings, config_file, load_settings
    from .settings.spec_files.goal_file import GoalRequest, read_goal
    from .settings.spec_files.parameters import given_values
    from .settings.spec_files.read_spec import read_spec
    from .settings.spec_files.recipe_library import RecipeEntry, RecipeParameter, Recipes, is_name
    from .settings.spec_files.spec_schema import spec_schema
    from .settings.spec_of_settings import budget_of, to_spec, with_default_gate
    from .settings.trust import PROJECT_FILE, PROJECT_SERVERS, Trust
    from .settings.trusted_choices import FileTrust, file_trust, is_own_journal, require_own_journal
    from .state.common.await_facts import Await
    from .state.common.manual_facts import Background
    from .state.common.void_end import CHAT_ENDED, changed_since_words, end_word, is_ended_chat, void_words
    from .state.facts.change_log import RecordedChange
    from .state.facts.checkpoint import facts_of, last_end
    from .state.facts.reached_limit import limit_in, reached_limit
    from .state.facts.standing_changes import Changes, standing_changes
    from .state.facts.verdicts import SUSPECT_QUESTION
    from .state.reports.accepted_plan import next_spec, planned_after_chat, run_of_plan
    from .state.reports.by_group import GroupSpend
    from .state.reports.by_hook import HookCount
    from .state.reports.changed_files import RunFile, changed_files
    from .state.reports.context_costs import ContextCost, context_costs
    from .state.reports.deciding_chat import CHAT_DECIDES, deciding_chat
    from .state.reports.export_events import exported, exported_lines
    from .state.reports.find_run import find_run
    from .state.reports.handoffs import SHORT_DIGEST, decision_commands, digests_of, handoff_markdown
    from .state.reports.journal_check import check_journal
    from .state.reports.reporting import Advice, Report, Share, report
    from .state.reports.rewind_points import Point, earlier_points
    from .state.reports.run_files import delete_run, new_run_id, runs_dir
    from .state.reports.run_index import list_runs
    from .state.reports.run_line import RunLine, staged_in
    from .state.reports.run_state import RunState, run_state
    from .state.reports.run_tree import as_tree, is_left_to_parent
    from .state.reports.sent_messages import SentMessage, sent_messages
    from .state.reports.void_runs import as_of_now, newest_as_of_now
    from .state.reports.waiting_runs import Pending, PendingProposal, SuspectResult, pending, suspect_result
    from .state.search.cited_line import CitedLine, cited_line, is_address, path_in
    from .state.search.cited_place import line_of_place
    from .state.search.finder_facts import FinderFacts, pool_size
    from .state.search.finding_facts import Finding, Flight, LensFacts
    from .state.view.block import Block, BlockStatus
    from .state.view.load_entries import load_older
    from .state.view.reading_progress import reading_progress
    from .state.view.reduce import reduce, reduce_all
    from .state.view.search_progress import Bars, Progress, downsampled, failure_kind
    from .state.view.show.review_targets import diff_words, relation_words
    from .state.view.show.short_numbers import clock, held_words, money, short
    from .state.view.show.shortening import shortening_lines, trim_words
    from .state.view.show.show_answers import answer_words
    from .state.view.show.show_children import new_words
    from .state.view.show.show_confirming import confirming_words, dependency_line
    from .state.view.show.show_judging import judged_words, second_check_words
    from .state.view.show.show_search import is_paused_between_steps
    from .state.view.show.titles import (
        await_words,
        call_title,
        command_name,
        proposal_title,
        stall_kind_words,
        stall_name,
        stall_words,
        try_label,
        until_words,
        waiting_line,
    )
    from .state.view.stored_views import stored_view
    from .state.view.transcript_entries import IN_MEMORY, Blocks
    from .state.view.view_checkpoints import ViewCheckpoints
    from .state.view.view_state import RebaseResult, ViewState
    from .state.view.waits_for import SHOW_WAIT_SECONDS, waiting_for
    from .step.formats.model_trial import FormatResult, ModelTrial, Trial, open_trial


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
