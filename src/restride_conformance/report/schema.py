"""Hold a value from a JSON file to a JSON Schema, of the few keywords that ours use.

https://json-schema.org/draft/2020-12/json-schema-validation. A number of type integer is written without a point here.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from restride.errors import DescriptorError

Schema = Mapping[str, Any]

TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
KEYWORDS = frozenset(
    """$schema $id $defs $ref title description type const enum properties required additionalProperties items
    minimum maximum maxLength maxItems pattern""".split()  # noqa: SIM905 - a list of words
)
"""What a schema may say."""

_HALF = re.compile("[\ud800-\udfff]")


def require(value: Any, schema: Schema, definitions: Mapping[str, Schema], place: str = "") -> None:
    """Raise ``DescriptorError``, beginning with the place in the file, unless ``value`` fits the schema.

    Args:
        value: as ``json.loads`` gives it.
        schema: with keywords of ``KEYWORDS``.
        definitions: the schemas that ``{"$ref": "#/$defs/NAME"}`` means, by name.
        place: where the value stands, such as ``outcomes[3].seconds``.
    """
    if "$ref" in schema:
        schema = definitions[schema["$ref"].removeprefix("#/$defs/")]
    wanted = schema.get("type", list(TYPES))
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not any(TYPES[name](value) for name in wanted):
        _refuse(place, f"must be {' or '.join(wanted)}", value)
    if "const" in schema and value != schema["const"]:
        _refuse(place, f"must be {schema['const']!r}", value)
    if "enum" in schema and value not in schema["enum"]:
        _refuse(place, f"must be one of {', '.join(map(str, schema['enum']))}", value)
    if isinstance(value, str):
        _require_text(value, schema, place)
    elif isinstance(value, dict):
        _require_object(value, schema, definitions, place)
    elif isinstance(value, list):
        _require_array(value, schema, definitions, place)
    elif TYPES["number"](value) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        _refuse(place, f"must be in [{schema.get('minimum', '')}, {schema.get('maximum', '')}]", value)


def _require_text(value: str, schema: Schema, place: str) -> None:
    # Half of a surrogate pair passes as an escape of JSON, and then nothing can print it.
    if _HALF.search(value):
        _refuse(place, "must have no half of a surrogate pair", value)
    if len(value) > schema.get("maxLength", len(value)):
        _refuse(place, f"must have at most {schema['maxLength']} characters", value)
    if "pattern" in schema and not re.search(schema["pattern"], value):
        _refuse(place, f"must match {schema['pattern']}", value)


def _require_array(value: list[Any], schema: Schema, definitions: Mapping[str, Schema], place: str) -> None:
    if len(value) > schema.get("maxItems", len(value)):
        _refuse(place, f"must have at most {schema['maxItems']:,} members", value)
    for index, item in enumerate(value):
        require(item, schema.get("items", {}), definitions, f"{place}[{index}]")


def _require_object(value: dict[str, Any], schema: Schema, definitions: Mapping[str, Schema], place: str) -> None:
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        _refuse(place, f"lacks {', '.join(missing)}", value)
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in known:
            require(item, known[name], definitions, f"{place}.{name}".lstrip("."))
        elif others is False or _HALF.search(name):
            _refuse(place, f"has the unknown member {name[:80]!r}", value)
        elif isinstance(others, Mapping):
            require(item, others, definitions, f"{place}.{name[:80]}".lstrip("."))


def _refuse(place: str, rule: str, value: Any) -> None:
    raise DescriptorError(f"{place or 'the file'} {rule}, is {reprlib.repr(value)}")
