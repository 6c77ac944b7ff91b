"""Read options from flags, environment and config files, build run specs, and check whether a folder is trusted."""

from .finder.executor import CLUSTER_CHECKS, CLUSTER_CONCURRENCY, read_executor
from .finder.recipes import EVERY_FILE, SearchRequest, migration_concurrency, search_request, with_search_limits
from .finder.spec_file import read_finder
from .handoff_tiers import same_server_model
from .hooks.hook_scripts import script_is_trusted, trust_scripts
from .last_model import remember_model, remembered_model
from .limits import default_budget, did_you_mean, read_limit
from .loop_flags import budget_is_set
from .options import KEYS, OPTIONS
from .remember import remember_rule
from .settings import Setting, Settings, config_file, load_settings
from .skills.find_skills import FoundSkill, find_skills, load_skill, skill_body
from .skills.folder_content import BadSkill
from .skills.skill_notes import unused_notes
from .skills.slash_commands import SlashCommand, find_commands
from .spec import budget_of, to_spec
from .specs.command_lines import quoted_at
from .specs.goal_file import GoalRequest, read_goal
from .specs.library import RecipeEntry, RecipeParameter, Recipes, is_name
from .specs.parameters import given_values
from .specs.published import spec_schema
from .trust import Trust
from .values import is_address, parse_deadline, parse_duration, parse_money, parse_number, parse_price

__all__ = [
    "CLUSTER_CHECKS",
    "CLUSTER_CONCURRENCY",
    "EVERY_FILE",
    "KEYS",
    "OPTIONS",
    "BadSkill",
    "FoundSkill",
    "GoalRequest",
    "RecipeEntry",
    "RecipeParameter",
    "Recipes",
    "SearchRequest",
    "Setting",
    "Settings",
    "SlashCommand",
    "Trust",
    "budget_is_set",
    "budget_of",
    "config_file",
    "default_budget",
    "did_you_mean",
    "find_commands",
    "find_skills",
    "given_values",
    "is_address",
    "is_name",
    "load_settings",
    "load_skill",
    "migration_concurrency",
    "parse_deadline",
    "parse_duration",
    "parse_money",
    "parse_number",
    "parse_price",
    "quoted_at",
    "read_executor",
    "read_finder",
    "read_goal",
    "read_limit",
    "remember_model",
    "remember_rule",
    "remembered_model",
    "same_server_model",
    "script_is_trusted",
    "search_request",
    "skill_body",
    "spec_schema",
    "to_spec",
    "trust_scripts",
    "unused_notes",
    "with_search_limits",
]
