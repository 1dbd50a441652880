"""Anthropic Messages, and the servers that imitate it: https://platform.claude.com/docs/en/api/messages.

`blocks` and `request` write, `reading` reads a request, `answer` an answer; the table that ties them
together stands here. Imitators differ by facts of their profiles only.
"""

from __future__ import annotations

from llmneutral.convert.cache import limit_cache_marks, marks_on_results
from llmneutral.convert.citations import room_for_format
from llmneutral.convert.job import Target
from llmneutral.convert.marks import tell_marks
from llmneutral.convert.names import IdRule, NameRule
from llmneutral.convert.pairing import canonical_ids, pair_results
from llmneutral.convert.passes import (
    drop_blank_text,
    drop_generic_of_others,
    fill_empty,
    keep_screenshots,
    last_turn,
    lead_with_user,
    lift_system,
    merge_same_role,
    move_media,
)
from llmneutral.convert.surrogates import scrub_surrogates
from llmneutral.convert.thinking import lead_with_reasoning, one_reasoning_a_turn, pad_reasoning, replay_by_fact
from llmneutral.convert.transport import Transport
from llmneutral.ir.contents import DocumentMessageContent, ImageMessageContent
from llmneutral.transports.anthropic_messages.answer import FINISH, chunk, read, settle, usage
from llmneutral.transports.anthropic_messages.blocks import API, BLOCKS
from llmneutral.transports.anthropic_messages.reading import read_request
from llmneutral.transports.anthropic_messages.request import PARAMS, frame, tool, wanted_schema


def endpoint(target: Target) -> tuple[str, str]:
    """HTTP method and path below the base address, whose trailing `/v1` does not count."""
    del target
    return "POST", "/v1/messages"


MESSAGES = Transport(
    api_mode=API,
    doc="https://platform.claude.com/docs/en/api/messages",
    passes=(
        scrub_surrogates,
        drop_generic_of_others(API),
        pair_results,  # 1. no call without its result behind it, no result without its call before it
        canonical_ids,
        replay_by_fact,
        drop_blank_text,  # 6. before anything is merged, so that no placeholder stands where a neighbour speaks
        lift_system,
        move_media("move_media", (ImageMessageContent, DocumentMessageContent), ()),
        one_reasoning_a_turn,
        merge_same_role,  # 2.
        lead_with_user,  # 3.
        lead_with_reasoning,  # 4. thinking and its signatures
        pad_reasoning,
        keep_screenshots,  # 5.
        marks_on_results,
        last_turn,
        fill_empty,  # 6. what is left empty
        room_for_format(wanted_schema),
        limit_cache_marks,
        tell_marks("signed_texts", "signed_calls", "custom_calls"),
    ),
    blocks=BLOCKS,
    tool=tool,
    params=PARAMS,
    frame=frame,
    names=NameRule(longest=128),
    ids=IdRule(illegal=r"[^a-zA-Z0-9_-]"),
    endpoint=endpoint,
    read_request=read_request,
    read=read,
    chunk=chunk,
    finish=FINISH,
    usage=usage,
    settle=settle,
)

__all__ = ["MESSAGES", "endpoint"]
