"""Options with where each came from, and which folders are trusted."""

from .limits import default_budget
from .options import KEYS
from .remember import remember_rule
from .settings import Setting, Settings, config_file, load_settings
from .spec import to_spec
from .trust import Trust
from .values import parse_deadline, parse_duration, parse_money, parse_number, parse_price

__all__ = [
    "KEYS",
    "Setting",
    "Settings",
    "Trust",
    "config_file",
    "default_budget",
    "load_settings",
    "parse_deadline",
    "parse_duration",
    "parse_money",
    "parse_number",
    "parse_price",
    "remember_rule",
    "to_spec",
]
