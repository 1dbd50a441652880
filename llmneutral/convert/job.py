"""One conversion in progress: where it goes, what it may do, and what it has noted so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from llmneutral.convert.look import Look
from llmneutral.convert.names import ToolNames
from llmneutral.convert.report import Change, ChangeKind, Notes, Ref
from llmneutral.convert.settings import SETTINGS
from llmneutral.convert.trace import Trace
from llmneutral.errors import ConversionError
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message
from llmneutral.ir.tools import ToolDefinition
from llmneutral.profiles import Profile

if TYPE_CHECKING:
    from llmneutral.convert.react.reading import Form
    from llmneutral.convert.transport import Transport

Messages = list[Message]
BlockWriter = Callable[[Any, "Job"], Any]
CONTENT_LOSS: frozenset[ChangeKind] = frozenset({"dropped", "coerced", "added"})
"""What `strict_conversion` refuses."""


class Target(msgspec.Struct, frozen=True):
    """Where a conversion goes.

    Attributes:
        api: API mode.
        facts: The profile of model and endpoint.
        model: Model as the caller names it.
        provider: Provider, where it is known.
        base_url: Address of the endpoint, where one was given.
        host: Host of the endpoint in lower case, where it is known (a vendor's official one too).
        settings: Neutral settings in canonical form.
        output_schema: JSON Schema of the answer where the API's own field shall hold it.
        schema_name: Its name.
    """

    api: str
    facts: Profile
    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    host: str | None = None
    settings: Mapping[str, Any] = msgspec.field(default_factory=dict)
    output_schema: JSONObject | None = None
    schema_name: str = "answer"


class Job:
    """What the passes, block functions, params and frames of a transport share.

    Attributes:
        transport: Whose conversion it is.
        target: Where it goes.
        facts: The target's profile.
        settings: The target's settings, in canonical form.
        note: The report; call it to record a change.
        tools: The tools to be offered; a pass may replace it.
        names: Native names of this request.
        messages: The messages as they are after the passes.
        headers: Request headers the payload needs.
        open_calls: Ids of calls at the end that still wait for their results.
        react: How the answer is read, where a pass wrote the tools as text; `names` are then those of this form.
        trace: Marks on the nodes, or None.
        write: The transport's function for each kind of block, `(block, job) -> node`; where there is a trace, each
            marks what it makes. For loops over many blocks; elsewhere `render` does the same.
    """

    def __init__(
        self, transport: Transport, messages: Messages, tools: tuple[ToolDefinition, ...], target: Target, trace: bool
    ) -> None:
        self.transport = transport
        self.target = target
        self.facts = target.facts
        self.settings = target.settings
        self.note = Notes(messages)
        self.tools = tools
        self.names = ToolNames()
        self.messages = messages
        self.headers: dict[str, str] = {}
        self.open_calls: tuple[str, ...] = ()
        self.react: Form | None = None
        self.trace = Trace() if trace else None
        self.write: Mapping[type, BlockWriter] = (
            dict.fromkeys(transport.blocks, _rendered) if trace else transport.blocks
        )
        self._look = self._given = Look(messages)

    @cached_property
    def may_have_nan(self) -> bool:
        """Whether the arguments of a call may hold a number that is no JSON; False is certain."""
        return bool(self._given.calls) and self._given.may_have_nan

    @cached_property
    def calls_by_id(self) -> dict[str | None, Any]:
        """The calls by their ids, once the passes have made those unique."""
        return {call.tag: call for call in self.look(self.messages).calls}

    def setting(self, name: str) -> Any:
        """Returns a setting, or its default."""
        value = self.settings.get(name)
        return SETTINGS[name].default if value is None else value

    def look(self, messages: Messages) -> Look:
        """Returns what stands in some messages; asked again about the same list it costs nothing."""
        if self._look.messages is not messages:
            self._look = Look(messages)
        return self._look

    def render(self, content: Any) -> Any:
        """Renders one block by the transport's table, and marks the node with its origin."""
        node = self.transport.blocks[type(content)](content, self)
        if self.trace is not None:
            self.trace.mark(node, self.note.refs(content))
        return node

    def mark(self, node: Any, *contents: Any, key: str | None = None) -> None:
        """Marks a node (or the value under one of its keys) as made from some blocks."""
        if self.trace is not None:
            self.trace.mark(node, self.note.refs(*contents), key)

    def mark_each(self, nodes: Sequence[Any], contents: Sequence[Any], *, key: str | None = None) -> None:
        """Marks many new nodes (or the value under a key of each), each made from one block."""
        if self.trace is not None:
            self.trace.mark_each(nodes, self.note.refs_of_each(contents), key)

    def refuse(self, why: str, *contents: Any, rule: str | None = None, doc: str | None = None) -> NoReturn:
        """Raises the ConversionError that says what cannot be sent, where it stands, and to which API."""
        refs = self.note.refs(*contents)
        step = rule or self.note.step
        changes = (*self.note.changes, Change(step, "refused", refs, why, doc))
        raise ConversionError(why, refs=refs, rule=step, api=self.target.api, model=self.target.model, changes=changes)

    def refs_of(self, *contents: Any) -> tuple[Ref, ...]:
        """Returns the addresses of blocks."""
        return self.note.refs(*contents)

    def check_strict(self) -> None:
        """Raises where `strict_conversion` is set and content was dropped, coerced or added."""
        if not self.setting("strict_conversion"):
            return
        for change in self.note.changes:
            if _of_content(change):
                raise ConversionError(
                    f"strict_conversion: {change.step} would have {change.kind} something: {change.why}",
                    refs=change.refs, rule=change.step, api=self.target.api, changes=self.note.changes,
                )  # fmt: skip


def _of_content(change: Change) -> bool:
    """Whether content was lost, changed or invented: blocks have addresses, settings and tools have names."""
    if change.kind not in CONTENT_LOSS:
        return False
    name = change.why.partition(":")[0]
    return bool(change.refs) or (change.kind == "added" and name not in SETTINGS and not name.startswith("the tool "))


def _rendered(content: Any, job: Job) -> Any:
    return job.render(content)


class Pass(msgspec.Struct, frozen=True):
    """A named rewrite of the message list; the same list object back means nothing was changed.

    Attributes:
        name: The step's name in the report.
        run: `(messages, job) -> messages`.
        when: Kinds of content it is about; skipped when none occurs. None: always run.
    """

    name: str
    run: Callable[[Messages, Job], Messages]
    when: frozenset[type] | None = None
