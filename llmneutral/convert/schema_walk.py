"""Walking a JSON Schema: positions, not names.

A schema holds schemas at known positions: under some keywords directly, under others in a list, under others by name.
Only these are visited. A key inside `properties`, `$defs`, `definitions`, `patternProperties` or `dependentSchemas` is
a name, whatever it is spelled like, and what stands in `default`, `const`, `enum` or `examples` is a value and no
schema. Source: https://json-schema.org/draft/2020-12/json-schema-core

What must live here: the positions, references, and the way a rule for one node is applied to all. This file knows no
dialect. Nothing here changes its input; what a rule leaves alone is the same object in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from urllib.parse import unquote

from llmneutral.errors import ConversionError

__all__ = [
    "Reduction",
    "Rule",
    "Schema",
    "Step",
    "check_references",
    "children",
    "definition_name",
    "downward",
    "everywhere",
    "find_recursion",
    "hoist_refs",
    "inline_refs",
    "join",
    "nodes",
    "refuse",
    "resolve",
    "with_children",
]

Schema = dict[str, Any]

IN_PLACE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords whose value is a schema (`items` of older drafts may be a list of schemas)."""

IN_LIST = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""

BY_NAME = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value is an object of schemas by name."""

DEFINITIONS = ("$defs", "definitions")

MAX_NODES = 2_000
MAX_DEPTH = 32
MAX_BYTES = 64 * 1024


class Reduction:
    """What the steps of one reduction share: the dialect's options, and what is to be reported of it.

    Attributes:
        drops: Keywords that this endpoint rejects beside what its dialect says.
        numeric_enum: Numbers may be enumerated.
        enum_slash: Enumerated strings may hold a slash.
        lost: Keywords whose meaning did not survive, in the order they were met.
        notes: Sentences on what was rewritten without loss.
        renamed: Property keys as they are sent, and what they were.
    """

    __slots__ = ("drops", "enum_slash", "lost", "notes", "numeric_enum", "renamed")

    def __init__(self, drops: tuple[str, ...] = (), numeric_enum: bool = True, enum_slash: bool = True) -> None:
        self.drops = drops
        self.numeric_enum = numeric_enum
        self.enum_slash = enum_slash
        self.lost: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        self.renamed: dict[str, str] = {}

    def lose(self, *keywords: str) -> None:
        """Report keywords whose meaning is not in the result."""
        self.lost.update(dict.fromkeys(keywords))

    def note(self, sentence: str) -> None:
        """Report what was said in another way."""
        self.notes[sentence] = None


Rule = Callable[[Schema, Reduction], Schema]
"""What becomes of one node."""

Step = Callable[[Schema, Reduction], Schema]
"""What becomes of a whole schema."""


LIMIT = "schema_limit"
"""The rule of the error for a sound schema that is more than a target can be told."""


def refuse(message: str, hint: str | None = None, *, rule: str = "schema") -> NoReturn:
    """Raise the error of a schema that cannot be sent; the caller adds the tool and the API."""
    raise ConversionError(message, rule=rule, hint=hint)


# --- positions --------------------------------------------------------------------------------------------------------


def with_children(node: Schema, change: Callable[[Any], Any]) -> Schema:
    """Return the node with every schema in it changed; the same object where nothing did."""
    changed: Schema | None = None
    for key, value in node.items():
        new = value
        if isinstance(value, dict):
            if key in BY_NAME:
                new = _changed_values(value, change)
            elif key in IN_PLACE:
                new = change(value)
        elif isinstance(value, list) and key in IN_LIST:
            new = _changed_entries(value, change)
        if new is not value:
            changed = dict(node) if changed is None else changed
            changed[key] = new
    return node if changed is None else changed


def _changed_values(named: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    new = {name: change(value) if isinstance(value, dict) else value for name, value in named.items()}
    return named if all(new[name] is value for name, value in named.items()) else new


def _changed_entries(listed: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    new = [change(value) if isinstance(value, dict) else value for value in listed]
    return listed if all(a is b for a, b in zip(new, listed, strict=True)) else new


def children(node: Schema) -> Iterator[Schema]:
    """Yield every schema that stands directly in the node."""
    for key, value in node.items():
        if isinstance(value, dict):
            if key in BY_NAME:
                yield from (entry for entry in value.values() if isinstance(entry, dict))
            elif key in IN_PLACE:
                yield value
        elif isinstance(value, list) and key in IN_LIST:
            yield from (entry for entry in value if isinstance(entry, dict))


def nodes(schema: Schema) -> Iterator[Schema]:
    """Yield the schema and every schema in it, from the top down."""
    yield schema
    for child in children(schema):
        yield from nodes(child)


def everywhere(rule: Rule) -> Step:
    """Apply a rule to every node, the inner ones first."""

    def step(schema: Schema, reduction: Reduction) -> Schema:
        def visit(node: Schema) -> Schema:
            return rule(with_children(node, visit), reduction)

        return visit(schema)

    return step


def downward(rule: Rule) -> Step:
    """Apply a rule to every node, the outer ones first; what the rule gives is visited in turn."""

    def step(schema: Schema, reduction: Reduction) -> Schema:
        def visit(node: Schema) -> Schema:
            return with_children(rule(node, reduction), visit)

        return visit(schema)

    return step


def join(*steps: Step) -> Step:
    """One step after the other."""

    def step(schema: Schema, reduction: Reduction) -> Schema:
        for one in steps:
            schema = one(schema, reduction)
        return schema

    return step


# --- references -------------------------------------------------------------------------------------------------------


def definition_name(ref: str) -> str:
    """The name that a reference goes by in a message: its last part."""
    return _unescaped(ref.rpartition("/")[2]) or ref


def resolve(root: Schema, ref: str) -> Any:
    """Return what a reference inside the schema stands for.

    Raises:
        ConversionError: If it leads out of the schema or nowhere.
    """
    if ref == "#":
        return root
    if ref.startswith("#/"):
        found: Any = root
        for part in ref[2:].split("/"):
            found = _step_into(found, _unescaped(part), ref)
        return found
    if ref.startswith("#"):
        anchor = ref[1:]
        for node in nodes(root):
            if anchor in (node.get("$anchor"), node.get("$dynamicAnchor")):
                return node
    return refuse(
        f"the schema refers to {ref!r}, which is not in it", hint="Put the definition into the schema, under $defs."
    )


def check_references(schema: Schema) -> None:
    """Follows every reference that an answer may come upon: an answer is read by what they stand for.

    Raises:
        ConversionError: If one leads out of the schema or nowhere.
    """
    done: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):
            continue
        for inner in nodes({key: value for key, value in node.items() if key not in DEFINITIONS}):
            ref = inner.get("$ref")
            if isinstance(ref, str) and ref not in done:
                done.add(ref)
                waiting.append(resolve(schema, ref))


def _step_into(node: Any, part: str, ref: str) -> Any:
    if isinstance(node, dict) and part in node:
        return node[part]
    if isinstance(node, list) and part.isdigit() and int(part) < len(node):
        return node[int(part)]
    return refuse(f"the schema refers to {ref!r}, which is not in it", hint="Add the definition, or correct the $ref.")


def _unescaped(part: str) -> str:
    return unquote(part).replace("~1", "/").replace("~0", "~")


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def inline_refs(schema: Schema, reduction: Reduction, merge: Callable[[Schema, Schema, Reduction], Schema]) -> Schema:
    """Put what references stand for in their places, and drop the definitions.

    Args:
        schema: The whole schema.
        reduction: Where losses are reported.
        merge: Makes one schema of a definition and of what stands beside the reference to it.

    Raises:
        ConversionError: If a definition refers to itself, or the result would be too large.
    """
    size = [0, 0]

    def count(node: Schema) -> None:
        size[0] += 1
        size[1] += sum(len(key) + (len(value) if isinstance(value, str) else 4) for key, value in node.items())
        if size[0] > MAX_NODES or size[1] > MAX_BYTES:
            refuse(
                f"the schema is too large without references (more than {MAX_NODES} nodes or {MAX_BYTES // 1024} KiB)",
                hint="This target takes no $ref; share fewer definitions, or nest them less.",
                rule=LIMIT,
            )

    def visit(node: Schema, trail: tuple[str, ...]) -> Any:
        if trail:
            count(node)
        own = {key: value for key, value in node.items() if key not in DEFINITIONS}
        ref = own.pop("$ref", None)
        own = with_children(own, lambda child: visit(child, trail))
        if not isinstance(ref, str):
            return own
        if ref in trail:
            refuse(
                f"the schema is recursive: the definition {definition_name(ref)!r} refers to itself, and this target "
                "takes no references",
                hint="Limit the depth, or take a model that reads JSON Schema.",
                rule=LIMIT,
            )
        if len(trail) >= MAX_DEPTH:
            refuse(f"the schema nests more than {MAX_DEPTH} references", rule=LIMIT)
        target = resolve(schema, ref)
        found = visit(target, (*trail, ref)) if isinstance(target, dict) else target
        if not isinstance(found, dict):
            return own or found
        return merge(found, own, reduction) if own else found

    inlined: Schema = visit(schema, ())
    return inlined


def find_recursion(schema: Schema) -> str | None:
    """Return a reference that leads back to itself, or None."""
    done: set[str] = set()

    def search(node: Schema, trail: tuple[str, ...]) -> str | None:
        for inner in nodes(node):
            ref = inner.get("$ref")
            if not isinstance(ref, str) or ref in done:
                continue
            if ref in trail:
                return ref
            target = resolve(schema, ref)
            found = search(target, (*trail, ref)) if isinstance(target, dict) else None
            if found is not None:
                return found
            done.add(ref)
        return None

    return search({key: value for key, value in schema.items() if key not in DEFINITIONS}, ("#",))


def hoist_refs(schema: Schema, also_root: bool = False) -> Schema:
    """Let references point only at `$defs` and `definitions`, so that everything else may move.

    Generators of schemas write `#/properties/a` where the same object occurs twice.

    Args:
        schema: The whole schema.
        also_root: A reference to the whole (`#`) is made a definition as well.
    """
    definitions: dict[str, Any] = {}
    taken = set(schema.get("$defs", ())) | set(schema.get("definitions", ()))
    moved: dict[str, str] = {}

    def is_fixed(ref: str) -> bool:
        parts = ref.split("/")
        return len(parts) == 3 and parts[1] in DEFINITIONS if "/" in ref else ref == "#" and not also_root

    def new_ref(ref: str) -> str:
        if ref not in moved:
            target = resolve(schema, ref)
            name = base = definition_name(ref).strip("#") or "Root"
            number = 1
            while name in taken:
                number += 1
                name = f"{base}_{number}"
            taken.add(name)
            moved[ref] = f"#/$defs/{_escaped(name)}"
            if target is schema:
                target = {key: value for key, value in schema.items() if key not in DEFINITIONS}
            definitions[name] = visit(target) if isinstance(target, dict) else target
        return moved[ref]

    def visit(node: Schema) -> Schema:
        node = with_children(node, visit)
        ref = node.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#") or is_fixed(ref):
            return node
        return {**node, "$ref": new_ref(ref)}

    changed = visit(schema)
    if not definitions:
        return changed
    return {**changed, "$defs": {**changed.get("$defs", {}), **definitions}}
