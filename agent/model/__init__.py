"""Models behind `protocol.Model`: lanes to servers, prices, context windows, token counts, discovery, and the demo.

Importing this package imports only msgspec from third parties; litellm is imported with the first model that needs it.
"""

from .candidates import Candidate, candidates
from .counting import Counter
from .demo import DemoRun, copy_project
from .discovery import KeyFound, KeyMissing, ModelLine, ServerFound, Survey, discover
from .endpoint import KEY_NAMES, is_local_server
from .lanes import StallTimeouts, close_connections
from .litellm_use.credentials import refuse_missing_key, secret_names
from .naming import is_direct
from .no_model import NO_MODEL, NoModel
from .opening import ASSUMED_WINDOW, OUTPUT_CAP, open_model
from .pricing.prices import price_of
from .remote import RemoteModel

__all__ = [
    "ASSUMED_WINDOW",
    "KEY_NAMES",
    "NO_MODEL",
    "OUTPUT_CAP",
    "Candidate",
    "Counter",
    "DemoRun",
    "KeyFound",
    "KeyMissing",
    "ModelLine",
    "NoModel",
    "RemoteModel",
    "ServerFound",
    "StallTimeouts",
    "Survey",
    "candidates",
    "close_connections",
    "copy_project",
    "discover",
    "is_direct",
    "is_local_server",
    "open_model",
    "price_of",
    "refuse_missing_key",
    "secret_names",
]
