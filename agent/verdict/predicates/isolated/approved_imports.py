"""Import only approved content into the predicate's process. Other workspace modules run in the worker's process."""

# Paths are compared as texts, as the import system and audit events give them.
# ruff: noqa: PTH100, PTH123

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from types import ModuleType

from .remote_objects import CannotJudge, Channel, RemoteModule


class Approved:
    """The workspace files whose content is approved, with their digests."""

    def __init__(self, root: str, digests: dict[str, str]) -> None:
        """`digests`: SHA-256 by path relative to `root`."""
        self._roots = tuple({os.path.abspath(root), os.path.realpath(root)})
        self._digests = digests

    def is_inside(self, path: str) -> bool:
        """Return whether the path, or the target of its links, is in the workspace, where the model can write."""
        names = {os.path.abspath(path), os.path.realpath(path)}
        return any(name == root or name.startswith(root + os.sep) for name in names for root in self._roots)

    def is_approved(self, path: str) -> bool:
        """Return whether the path was approved. Only `read` checks that its content has not changed since."""
        return self._digest(path) is not None

    def read(self, path: str) -> bytes:
        """Read the file. Raises CannotJudge if the content is not the approved one."""
        with open(path, "rb") as file:
            data = file.read()
        if self._digest(path) not in (None, hashlib.sha256(data).hexdigest()):
            raise CannotJudge(f"{path} changed since it was approved")
        return data

    def _digest(self, path: str) -> str | None:
        whole = os.path.realpath(path)
        names = [os.path.relpath(whole, root).replace(os.sep, "/") for root in self._roots]
        return next((self._digests[name] for name in names if name in self._digests), None)


class Imports(MetaPathFinder):
    """Loads approved files from their source, never from a `.pyc`, and other workspace files as remote modules.

    A file that is not approved never replaces an installed module.
    """

    def __init__(self, approved: Approved, channel: Channel) -> None:
        self._approved, self._channel = approved, channel
        self.remote: set[str] = set()
        """Modules that the worker imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module (see `importlib.abc.MetaPathFinder`)."""
        if fullname.rpartition(".")[0] in self.remote:
            return ModuleSpec(fullname, _RemoteLoader(self, self._channel))
        places = list(sys.path if path is None else path)
        inside = PathFinder.find_spec(fullname, [place for place in places if self._approved.is_inside(place or ".")])
        if inside is not None and inside.origin and self._approved.is_approved(inside.origin):
            return self._local(fullname, inside)
        outside = PathFinder.find_spec(
            fullname, [place for place in places if not self._approved.is_inside(place or ".")]
        )
        is_in_worker = outside is not None and not (outside.origin and self._approved.is_inside(outside.origin))
        if outside is not None and is_in_worker and (outside.origin or inside is None):
            return outside
        if inside is None or (inside.origin is None and inside.submodule_search_locations is not None):
            return inside  # a namespace package does not have code
        return ModuleSpec(fullname, _RemoteLoader(self, self._channel))

    def _local(self, name: str, found: ModuleSpec) -> ModuleSpec | None:
        if isinstance(found.loader, ExtensionFileLoader):
            self._approved.read(str(found.origin))
            return found
        loader = _ApprovedLoader(self._approved, str(found.origin))
        places = found.submodule_search_locations
        return spec_from_file_location(name, found.origin, loader=loader, submodule_search_locations=places)


class _ApprovedLoader(Loader):
    def __init__(self, approved: Approved, path: str) -> None:
        self._approved, self._path = approved, path

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        code = compile(self._approved.read(self._path), self._path, "exec", dont_inherit=True)
        exec(code, module.__dict__)


class _RemoteLoader(Loader):
    def __init__(self, imports: Imports, channel: Channel) -> None:
        self._imports, self._channel = imports, channel

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return RemoteModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        remote, is_package, names = self._channel.ask("import", module.__name__, list(sys.path))
        module.__dict__["_remote"] = remote
        module.__dict__["__all__"] = names
        if is_package:
            module.__path__ = []
        self._imports.remote.add(module.__name__)
