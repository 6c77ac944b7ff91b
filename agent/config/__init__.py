"""Options with their origins, and trusted folders."""

from .finder.executor import ON_CLUSTER, read_executor
from .finder.recipes import EVERY_FILE, Wanted, limited, wanted_by, works_at_once
from .finder.spec_file import read_finder
from .handing import beside
from .last_model import remember_model, remembered_model
from .limits import default_budget, near, read_limit
from .loop_flags import budget_is_set
from .options import KEYS
from .remember import remember_rule
from .settings import Setting, Settings, config_file, load_settings
from .spec import budget_of, to_spec
from .trust import Trust
from .values import parse_deadline, parse_duration, parse_money, parse_number, parse_price

__all__ = [
    "EVERY_FILE",
    "KEYS",
    "ON_CLUSTER",
    "Setting",
    "Settings",
    "Trust",
    "Wanted",
    "beside",
    "budget_is_set",
    "budget_of",
    "config_file",
    "default_budget",
    "limited",
    "load_settings",
    "near",
    "parse_deadline",
    "parse_duration",
    "parse_money",
    "parse_number",
    "parse_price",
    "read_executor",
    "read_finder",
    "read_limit",
    "remember_model",
    "remember_rule",
    "remembered_model",
    "to_spec",
    "wanted_by",
    "works_at_once",
]
