"""Turn errors of a model call into a `ModelFault` that `step` can act on, with its kind and the provider's words."""

from .direct import HttpRefusal, fault_of_exception, fault_of_response, fault_of_stream
from .raised import fault_of_litellm
from .reported import ReportedError, read_error

__all__ = [
    "HttpRefusal",
    "ReportedError",
    "fault_of_exception",
    "fault_of_litellm",
    "fault_of_response",
    "fault_of_stream",
    "read_error",
]
