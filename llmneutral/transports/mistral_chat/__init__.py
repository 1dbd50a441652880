"""Mistral Chat, a dialect of Chat Completions: https://docs.mistral.ai/api.

Only what differs from Chat stands here: reasoning among the content, chunks of its own for documents and sound, ids
of nine characters for older tokenizers, a prefix instead of a prefill. All else is Chat's, and imported from there:
the one exception to the rule that transports do not know each other. The payload is the keyword arguments of
`client.chat.complete` and `client.chat.stream`.
"""

from __future__ import annotations

from llmneutral.convert.cache import marks_on_results
from llmneutral.convert.job import Target
from llmneutral.convert.marks import tell_marks
from llmneutral.convert.names import IdRule, NameRule
from llmneutral.convert.pairing import canonical_ids, pair_results
from llmneutral.convert.passes import (
    drop_generic_of_others,
    hoist_system,
    keep_screenshots,
    move_media,
    replay_reasoning,
)
from llmneutral.convert.surrogates import scrub_surrogates
from llmneutral.convert.transport import Transport
from llmneutral.transports.chat_completions import passes as chat
from llmneutral.transports.mistral_chat import passes
from llmneutral.transports.mistral_chat.answer import FINISH, chunk, read, usage
from llmneutral.transports.mistral_chat.blocks import API, BLOCKS
from llmneutral.transports.mistral_chat.frame import frame, tool
from llmneutral.transports.mistral_chat.params import DOC, PARAMS, into_arguments
from llmneutral.transports.mistral_chat.request import read_request


def endpoint(target: Target) -> tuple[str, str]:
    """POST, below the base address, whose trailing `/v1` does not count."""
    del target
    return "POST", "/v1/chat/completions"


MISTRAL = Transport(
    api_mode=API,
    doc=DOC,
    passes=(
        passes.OWN_TOOLS_ONLY,
        scrub_surrogates,
        drop_generic_of_others(API),
        keep_screenshots,
        pair_results,
        canonical_ids,
        replay_reasoning(passes.keeps),
        hoist_system,
        chat.SYSTEM_ROLE,
        chat.MERGE_SYSTEM,
        passes.SPOKEN_ANSWERS,
        move_media("move_media", chat.MOVED, chat.MOVED),
        passes.NO_SILENT_ANSWER,
        chat.NO_EMPTY,
        chat.FIRST_TURN,
        chat.ASK_FOR_JSON,
        chat.NUDGE,
        chat.ALTERNATE_ROLES,
        chat.BRIDGE_AFTER_TOOL,
        passes.CALLS_APART,
        chat.LAST_TURN,
        passes.SYSTEM_NOT_LAST,
        marks_on_results,
        chat.MARKS,
        tell_marks("signed_texts", "signed_calls", "custom_calls", "cited_documents"),
    ),
    blocks=BLOCKS,
    tool=tool,
    params=PARAMS,
    frame=frame,
    names=NameRule(),
    ids=IdRule(),
    endpoint=endpoint,
    read_request=read_request,
    read=read,
    chunk=chunk,
    finish=FINISH,
    usage=usage,
    extra=into_arguments,
)

__all__ = ["MISTRAL", "endpoint"]
