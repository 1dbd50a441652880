"""Names of tools and ids of calls, as a provider takes them.

Names are never parsed back: each request has a table native name ↔ (tool, activity), and a returned
name is looked up in it. What has to be changed gets a short hash, so that nothing collides and the
same input always gives the same name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from llmneutral.ir.contents import ActionCallMessageContent, InvalidActionCallMessageContent
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.tools import ToolDefinition, native_name

if TYPE_CHECKING:
    from llmneutral.convert.job import Job

Key = tuple[str, str | None]
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CALLS = (ActionCallMessageContent, InvalidActionCallMessageContent)


def digest(text: str, length: int) -> str:
    """Returns the first hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


class ToolNames(Mapping[str, Key]):
    """Native name → (tool, activity) of one request, and the way back."""

    __slots__ = ("_keys", "_native", "answer", "renamed", "strict")

    def __init__(self) -> None:
        self._native: dict[Key, str] = {}
        self._keys: dict[str, Key] = {}
        self.renamed: dict[str, dict[str, str]] = {}
        """Property names a schema had to change, by native tool name: sent → original."""
        self.answer: dict[str, str] = {}
        """The same of the schema the answer is held to by the API's own field."""
        self.strict: dict[str, JSONObject] = {}
        """The schemas that strict mode compiled, by native tool name, as they were: there optional means optional."""

    def add(self, key: Key, native: str) -> None:
        """Puts a pair into the table."""
        self._native[key] = native
        self._keys[native] = key

    def add_alias(self, key: Key, native: str) -> None:
        """Lets a further tool of the history go by a name of the table; a returned name is still the first one's."""
        self._native[key] = native

    @property
    def by_key(self) -> Mapping[Key, str]:
        """The native name of each tool, those of the history in all their spellings."""
        return self._native

    def native(self, name: str, path: str | None = None) -> str:
        """Returns the native name of a tool; of one that is not in the table, the flat name itself."""
        found = self._native.get((name, path))
        return native_name(name, path) if found is None else found

    def restored(self, native: str, arguments: Any) -> Any:
        """Returns arguments with the original property names, and without the nulls that strict mode asked for.

        The same object comes back where nothing has to be undone.
        """
        renamed, strict = self.renamed.get(native), self.strict.get(native)
        if not renamed and strict is None:
            return arguments
        from llmneutral.convert.schema import rename_keys_back, without_added_nulls

        back = rename_keys_back(arguments, renamed or {})
        if strict is not None:
            back = without_added_nulls(back, strict)
        return arguments if back == arguments else back

    def __getitem__(self, native: str) -> Key:
        return self._keys[native]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        """Shows the table."""
        return f"ToolNames({self._keys})"


class NameRule(msgspec.Struct, frozen=True):
    """What a native tool name may be.

    Attributes:
        illegal: Matches one character that may not stand in it.
        first: Matches a first character that may stand there.
        longest: Most characters; the fact `tool_name_max` may say less or more.
    """

    illegal: str = r"[^a-zA-Z0-9_-]"
    first: str = r"[a-zA-Z0-9_-]"
    longest: int = 64

    def table(self, job: Job) -> tuple[tuple[ToolDefinition, ...], ToolNames]:
        """Returns the tools without duplicates, and the names of this request.

        Names of tools first, independent of their order; then those that occur only in history.

        Raises:
            ConversionError: If two different tools have one name.
        """
        tools = _unique(job)
        names = ToolNames()
        calls = job.look(job.messages).calls
        if not (tools or calls):
            return tools, names
        # What has parameters is a function, even if it was written in the form of one API.
        keys = [(tool.name, tool.path) for tool in tools if tool.native is None or tool.parameters is not None]
        taken = set(job.facts.reserved_tool_names)
        self._settle(keys, names, taken, job)
        flat = {native_name(*key): names.native(*key) for key in reversed(_in_order(keys))}
        named = names.by_key
        for content in calls:
            if (key := (content.name, content.path)) in named:
                continue
            wanted = native_name(*key)
            if (known := flat.get(wanted, wanted)) in names:
                names.add_alias(key, known)  # a tool of this request in another spelling
            else:
                self._settle([key], names, taken, job, content)
                flat[wanted] = names.native(*key)
        return tools, names

    def _settle(self, keys: list[Key], names: ToolNames, taken: set[str], job: Job, *blocks: Any) -> None:
        longest = job.facts.tool_name_max or self.longest
        keys = _in_order(keys)
        wanted = {key: native_name(*key) for key in keys}
        rest = []
        for key in keys:
            if self._fits(wanted[key], longest) and wanted[key] not in taken:
                names.add(key, wanted[key])
                taken.add(wanted[key])
            else:
                rest.append(key)
        proposals = {key: self._proposal(wanted[key], longest) for key in rest}
        given = list(proposals.values())
        for key in rest:
            native, again = proposals[key], 0
            if given.count(native) > 1 or native in taken:
                native = _hashed(native, wanted[key], longest)
            while native in taken:
                again += 1
                native = _hashed(native, f"{wanted[key]}:{again}", longest)
            names.add(key, native)
            taken.add(native)
            job.note("renamed", f"the tool {wanted[key]!r} goes by the name {native!r} here", *blocks)

    def _fits(self, name: str, longest: int) -> bool:
        return 0 < len(name) <= longest and not re.search(self.illegal, name) and bool(re.match(self.first, name))

    def _proposal(self, name: str, longest: int) -> str:
        native = re.sub(self.illegal, "_", name) or "unnamed_tool"
        if not re.match(self.first, native):
            native = f"_{native}"
        return native if len(native) <= longest else _hashed(native, name, longest)


def _in_order(keys: Iterable[Key]) -> list[Key]:
    """The tools in an order of their own: whose name is settled first does not depend on how they were given."""
    return sorted(keys, key=lambda key: (key[1] is not None, key[0], key[1] or ""))


def _hashed(native: str, original: str, longest: int) -> str:
    return f"{native[: longest - 9]}_{digest(original, 8)}"


def _unique(job: Job) -> tuple[ToolDefinition, ...]:
    """Drops repeated definitions; different ones under one name are refused, or the first one wins."""
    found: dict[Any, ToolDefinition] = {}
    for tool in job.tools:
        # Of a provider's own tools the name is only a kind: two servers of MCP are two tools.
        key = (tool.name, tool.path) if tool.native is None else (tool.name, dumps(tool.native))
        if key not in found:
            found[key] = tool
            continue
        first = found[key]
        same = msgspec.structs.replace(first, function=None) == msgspec.structs.replace(tool, function=None)
        if not same and job.setting("duplicate_tools") == "refuse":
            job.refuse(
                f"two different tools are called {tool.native_name!r}; rename one, or set duplicate_tools='first'",
                rule="duplicate_tools",
            )
        job.note("dropped", f"the tool {tool.native_name!r} is given twice; the first definition is sent")
    return tuple(found.values())


class IdRule(msgspec.Struct, frozen=True):
    """What the id of a call may be.

    Attributes:
        illegal: Matches one character that may not stand in it; None: any may.
        longest: Most characters.
        item_prefix: A prefix that marks another kind of id, and what stands for it.
    """

    illegal: str | None = None
    longest: int | None = None
    item_prefix: tuple[str, str] | None = None

    def valid(self, ids: Iterable[str], fact: str | None) -> bool:
        """Whether all ids may go out as they are."""
        given = list(ids)
        joined = "".join(given)
        spaced = " " in joined or not joined.isprintable()
        if not all(given) or (spaced and any([each != each.strip() for each in given])):
            return False
        if self.item_prefix is not None and any(each.startswith(self.item_prefix[0]) for each in given):
            return False
        if fact is not None:
            pattern = re.compile(fact)
            return all(map(pattern.fullmatch, given))
        if self.illegal is not None and re.search(self.illegal, joined):
            return False
        return self.longest is None or max(map(len, given), default=0) <= self.longest

    def mapped(self, original: str, place: int, used: set[str], again: int, fact: str | None) -> str:
        """Returns the id to send for an original one.

        Args:
            original: The id as the caller has it.
            place: Number of the call in the conversation, for ids that are empty.
            used: The ids already given away.
            again: How often this original was used before in earlier turns.
            fact: The profile's `tool_id`.
        """
        if fact is not None and (fixed := re.search(r"\{(\d+)\}", fact)):
            return _fixed(original, int(fixed[1]), used, again, fact)
        new = original.strip() or f"tool_{place}"
        if self.illegal is not None:
            new = re.sub(self.illegal, "_", new)
        suffix = f"_{again + 1}" if again else ""
        if self.item_prefix is not None and (new + suffix).startswith(self.item_prefix[0]):
            new, suffix = self.item_prefix[1] + (new + suffix).removeprefix(self.item_prefix[0]), ""
        if self.longest is not None and len(new) + len(suffix) > self.longest:
            new = f"call_{digest(original, 32)}"
        new += suffix
        while new in used:
            new = f"{new[: (self.longest or 10_000) - 9]}_{digest(f'{original}:{again}:{new}', 8)}"
        return new


def _fixed(original: str, length: int, used: set[str], again: int, fact: str) -> str:
    """An id of a fixed length: kept if it fits, else made of the SHA-256 of the original."""
    if not again and original not in used and re.fullmatch(fact, original):
        return original
    counter = 0
    while True:
        seed = original if not (again or counter) else f"{original}:{again}:{counter}"
        number = int(digest(seed, 64), 16)
        new = ""
        for _ in range(length):
            number, rest = divmod(number, 62)
            new += BASE62[rest]
        if new not in used:
            return new
        counter += 1
