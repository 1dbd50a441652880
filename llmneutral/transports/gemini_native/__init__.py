"""Gemini's generateContent, of the Developer API and of Vertex: https://ai.google.dev/api/generate-content.

`blocks`, `turns`, `reasoning` and `request` write, `wire` spells for REST what the SDK takes, `reading` and what stands
beside it read a request, `answer` an answer; the table that ties them together stands here.
"""

from __future__ import annotations

from llmneutral.convert.cache import limit_cache_marks
from llmneutral.convert.marks import tell_marks
from llmneutral.convert.names import IdRule, NameRule
from llmneutral.convert.pairing import canonical_ids, pair_results
from llmneutral.convert.passes import (
    drop_generic_of_others,
    fill_empty,
    keep_screenshots,
    last_turn,
    lead_with_user,
    lift_system,
    merge_same_role,
)
from llmneutral.convert.surrogates import scrub_surrogates
from llmneutral.convert.transport import Transport
from llmneutral.transports.gemini_native.answer import FINISH, chunk, read, usage
from llmneutral.transports.gemini_native.blocks import API, BLOCKS
from llmneutral.transports.gemini_native.reading import read_request
from llmneutral.transports.gemini_native.request import PARAMS, endpoint, frame, tool
from llmneutral.transports.gemini_native.turns import (
    drop_summaries,
    drop_unsigned_blanks,
    media_of_results,
    own_thoughts,
    sign_calls,
)
from llmneutral.transports.gemini_native.wire import extra_body, wire

GEMINI = Transport(
    api_mode=API,
    doc="https://ai.google.dev/api/generate-content",
    any_answer_root=True,
    passes=(
        scrub_surrogates,
        drop_generic_of_others(API),
        pair_results,  # as many results as calls, in the order of the calls
        canonical_ids,
        drop_summaries,
        own_thoughts,
        drop_unsigned_blanks,  # before anything is merged, so that no placeholder stands where a neighbour speaks
        lift_system,
        keep_screenshots,
        media_of_results,
        merge_same_role,
        lead_with_user,
        last_turn,
        fill_empty,
        sign_calls,  # when it is settled what a step is
        limit_cache_marks,
        tell_marks("custom_calls", "cited_documents"),
    ),
    blocks=BLOCKS,
    tool=tool,
    params=PARAMS,
    frame=frame,
    names=NameRule(illegal=r"[^a-zA-Z0-9_.:-]", first=r"[a-zA-Z_]", longest=128),
    ids=IdRule(),
    endpoint=endpoint,
    read_request=read_request,
    read=read,
    chunk=chunk,
    finish=FINISH,
    usage=usage,
    wire=wire,
    extra=extra_body,
)

__all__ = ["GEMINI", "endpoint"]
