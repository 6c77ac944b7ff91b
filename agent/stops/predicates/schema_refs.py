"""Refuse a JSON Schema with references outside its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...protocol import UserError

if TYPE_CHECKING:
    from referencing import Specification
    from referencing._core import Resolver  # the package does not export this class

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    *(f"http://json-schema.org/draft-0{number}/schema" for number in (7, 6, 4, 3)),
)
_FIX = "copy what it needs into its $defs and refer to it with #/$defs/..."


def require_local(schema: dict[str, Any], option: str) -> None:
    """Raise UserError for a reference that the file cannot resolve, or for an unknown dialect.

    Nothing is fetched, and references to the dialects' own schemas are refused. `option`: the option for the message.
    """
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    default = cast("Specification[Any]", DRAFT202012)
    whole: Resource[Any] = Resource.from_contents(schema, default_specification=default)
    empty: Registry[Any] = Registry()
    registry = empty.with_resource(whole.id() or "", whole)
    todo: list[tuple[Resource[Any], Resolver[Any]]] = [(whole, registry.resolver_with_root(whole))]
    visited: set[tuple[int, str]] = set()
    while todo:
        resource, resolver = todo.pop()
        contents = resource.contents
        place = (id(contents), str(resolver._base_uri))  # pyright: ignore[reportPrivateUsage]
        if place in visited or not isinstance(contents, dict):
            continue
        visited.add(place)
        one = cast("dict[str, Any]", contents)
        require_known_dialect(one, option)
        for keyword in _REFERENCES:
            reference = one.get(keyword)
            if not isinstance(reference, str):
                continue
            try:
                found = resolver.lookup(reference)
            except (Unresolvable, ValueError) as error:
                what = f'"{keyword}": "{reference}" is not in the file'
                raise UserError(f"{option}: {what}, and rundry fetches no schema; {_FIX}") from error
            target = _resource(found.contents, whole)
            if target is not None:
                todo.append((target, found.resolver))
        below = [*resource.subresources(), *(_resource(sub, whole) for sub in _draft3(schema, one))]
        todo += [(sub, resolver.in_subresource(sub)) for sub in below if isinstance(sub.contents, dict)]


def _resource(contents: object, whole: Any) -> Any:  # noqa: ANN401 - generic in the specification's own type
    """Wrap the contents. References also work to places without a keyword (`#/definitions/x` in 2020-12)."""
    specification = whole._specification
    return specification.create_resource(contents) if isinstance(contents, dict) else None


def _draft3(whole: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas below keywords of draft 3 that `referencing` does not know."""
    if "draft-03" not in str(whole.get("$schema")):
        return []
    values: list[Any] = [schema.get("extends")]
    for keyword in ("type", "disallow"):
        found = schema.get(keyword)
        values += cast("list[Any]", found) if isinstance(found, list) else []
    return [value for value in values if isinstance(value, dict)]


def require_known_dialect(schema: dict[str, Any], option: str) -> None:
    """Raise UserError if `$schema` names a dialect that rundry cannot validate."""
    dialect = schema.get("$schema")
    if dialect is None:
        return
    if not isinstance(dialect, str) or dialect.removesuffix("#") not in _DIALECTS:
        raise UserError(f'{option}: "$schema": "{dialect}" is not a dialect that rundry knows; write "{_DIALECTS[0]}"')
