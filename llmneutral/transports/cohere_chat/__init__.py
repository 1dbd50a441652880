"""Cohere Chat v2: https://docs.cohere.com/reference/chat.

`blocks` and `frame` write, `params` are the settings, `passes` the rewrites, `request` reads a request, `answer` an
answer. `COHERE` ties them together. The payload is the keyword arguments of `ClientV2.chat` and `chat_stream`.
"""

from __future__ import annotations

from llmneutral.convert.cache import limit_cache_marks, marks_on_results
from llmneutral.convert.job import Target
from llmneutral.convert.marks import tell_marks
from llmneutral.convert.names import IdRule, NameRule
from llmneutral.convert.pairing import canonical_ids, pair_results
from llmneutral.convert.passes import (
    drop_blank_text,
    drop_generic_of_others,
    fill_empty,
    hoist_system,
    keep_screenshots,
    last_turn,
    lead_with_user,
    move_media,
    replay_reasoning,
)
from llmneutral.convert.surrogates import scrub_surrogates
from llmneutral.convert.transport import Transport
from llmneutral.ir.contents import DocumentMessageContent, ImageMessageContent
from llmneutral.transports.cohere_chat import passes
from llmneutral.transports.cohere_chat.answer import FINISH, chunk, read, usage
from llmneutral.transports.cohere_chat.blocks import API, BLOCKS
from llmneutral.transports.cohere_chat.frame import frame, into_options, tool, wire
from llmneutral.transports.cohere_chat.params import DOC, PARAMS
from llmneutral.transports.cohere_chat.request import read_request


def endpoint(target: Target) -> tuple[str, str]:
    """POST, below the base address."""
    del target
    return "POST", "/v2/chat"


COHERE = Transport(
    api_mode=API,
    doc=DOC,
    passes=(
        passes.OWN_TOOLS,
        scrub_surrogates,
        drop_generic_of_others(API),
        keep_screenshots,
        pair_results,
        canonical_ids,
        replay_reasoning(passes.keeps),
        hoist_system,
        drop_blank_text,
        move_media("move_media", (ImageMessageContent, DocumentMessageContent), (ImageMessageContent,)),
        lead_with_user,
        last_turn,
        fill_empty,
        passes.ASK_FOR_JSON,
        marks_on_results,
        limit_cache_marks,
        tell_marks("signed_texts", "signed_calls", "custom_calls"),
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
    wire=wire,
    extra=into_options,
)

__all__ = ["COHERE", "endpoint"]
