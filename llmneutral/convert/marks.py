"""What a block carries beside its content, where an API has no place for it: it is left out, and that is told.

What stands for nothing that a reader or a model would see is no such mark: the item ids of Responses and whatever else
lies in `native` (only the API it came from needs it back), the name in a result (it stands with its call), and the
transcript beside the sound itself.
"""

from __future__ import annotations

from typing import Any, Literal

from llmneutral.convert.citations import is_cited
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.names import CALLS
from llmneutral.convert.report import ChangeKind
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    DocumentMessageContent,
    RefusalMessageContent,
    TextMessageContent,
)

Mark = Literal["citations", "signed_texts", "signed_calls", "custom_calls", "cited_documents", "categories"]
WHY: dict[Mark, tuple[ChangeKind, str]] = {
    "citations": ("coerced", "the citations of a text do not go back: this API takes none"),
    "signed_texts": ("coerced", "the thought signature of a text does not go back: this API has no place for it"),
    "signed_calls": ("coerced", "the thought signature of a call means nothing to this API; it is not sent"),
    "custom_calls": ("rewritten", "this API knows no custom tools; the call goes as one of a function"),
    "cited_documents": ("coerced", "that a document is to be cited cannot be said here"),
    "categories": ("coerced", "the category of a refusal does not go back: this API has no place for it"),
}
INSIDE = "texts of a result carry no citations or signatures here"
KINDS = frozenset(
    {TextMessageContent, *CALLS, ActionResultMessageContent, DocumentMessageContent, RefusalMessageContent}
)


def tell_marks(*untaken: Mark) -> Pass:
    """A pass that changes nothing, and tells which marks of the blocks do not go out.

    Texts in results carry none at any API. It stands last, so that no block is told of that is gone already; an API
    that takes some marks of a kind, such as its own citations, tells of the others where it writes them.

    Args:
        untaken: The marks that the API has no place for.
    """
    untold = frozenset(untaken)

    def run(messages: Messages, job: Job) -> Messages:
        look = job.look(messages)
        blocks = look.dressed if untold else []
        if "categories" in untold and RefusalMessageContent in look.kinds:
            blocks = [*blocks, *[block for block in look.blocks if type(block) is RefusalMessageContent]]
        for block in blocks:
            for mark in _marks_of(block):
                if mark in untold:
                    job.note(WHY[mark][0], WHY[mark][1], block)
        for result in look.results:
            if result.parts and any([type(part) is TextMessageContent and _marks_of(part) for part in result.parts]):
                job.note("rewritten", INSIDE, result)
        return messages

    return Pass("marks", run, KINDS)


def _marks_of(block: Any) -> list[Mark]:
    """The marks a block carries."""
    kind = type(block)
    if kind is TextMessageContent:
        found: dict[Mark, Any] = {"citations": block.citations, "signed_texts": block.thought_signature}
    elif kind in CALLS:
        custom = block.native is not None and block.native.get("custom")
        found = {"custom_calls": custom, "signed_calls": getattr(block, "thought_signature", None)}
    elif kind is DocumentMessageContent:
        found = {"cited_documents": is_cited(block)}
    else:
        found = {"categories": kind is RefusalMessageContent and block.category}
    return [mark for mark, value in found.items() if value]
