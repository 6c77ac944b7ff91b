"""Let the commands of a run reach a list of hosts, and nothing else of the network."""

from .hosts import HostList
from .proxy import Egress

__all__ = ["Egress", "HostList"]
