"""Options with their origins, and trusted folders."""

from .finder_file import read_finder
from .finding import EVERY_FILE, Wanted, limited, wanted_by
from .handing import beside
from .limits import default_budget, near, read_limit
from .options import KEYS
from .remember import remember_rule
from .settings import Setting, Settings, config_file, load_settings
from .spec import to_spec
from .trust import Trust
from .values import parse_deadline, parse_duration, parse_money, parse_number, parse_price

__all__ = [
    "EVERY_FILE",
    "KEYS",
    "Setting",
    "Settings",
    "Trust",
    "Wanted",
    "beside",
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
    "read_finder",
    "read_limit",
    "remember_rule",
    "to_spec",
    "wanted_by",
]
