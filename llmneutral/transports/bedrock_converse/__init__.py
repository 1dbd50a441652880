"""Converse of Amazon Bedrock, one shape for the models of all vendors there.

The payload is what boto3's `converse` and `converse_stream` take as keyword arguments, with raw bytes; `to_json()` is
the REST body with base64. `blocks` and `request` write, `reading` reads a request, `answer` an answer; `turns` are the
passes of this API alone. What a model takes is told by the facts of its vendor's row.
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from urllib.parse import quote

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
from llmneutral.convert.rest import plain_json
from llmneutral.convert.surrogates import scrub_surrogates
from llmneutral.convert.thinking import lead_with_reasoning, one_reasoning_a_turn
from llmneutral.convert.transport import Transport
from llmneutral.ir.contents import AudioMessageContent, DocumentMessageContent
from llmneutral.transports.bedrock_converse.answer import FINISH, chunk, read, usage
from llmneutral.transports.bedrock_converse.blocks import BLOCKS
from llmneutral.transports.bedrock_converse.formats import API
from llmneutral.transports.bedrock_converse.reading import read_request
from llmneutral.transports.bedrock_converse.request import PARAMS, frame, into_arguments, tool, wanted_schema
from llmneutral.transports.bedrock_converse.turns import (
    citations_alone,
    document_names,
    document_texts,
    flatten_tools,
    replay_own,
)


def endpoint(target: Target) -> tuple[str, str]:
    """HTTP method and path: the model's id stands in it, and a stream has a path of its own."""
    operation = "converse-stream" if target.settings.get("stream") else "converse"
    return "POST", f"/model/{quote(target.model or '{modelId}', safe='{}')}/{operation}"


CONVERSE = Transport(
    api_mode=API,
    doc="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    passes=(
        scrub_surrogates,
        drop_generic_of_others(API),
        pair_results,
        flatten_tools,
        canonical_ids,
        replay_own,
        citations_alone,
        drop_blank_text,  # before anything is merged, so that no placeholder stands where a neighbour speaks
        lift_system,
        # Pictures may stand in turns of the assistant and in results; documents in results, sound in neither.
        move_media("move_media", (DocumentMessageContent, AudioMessageContent), (AudioMessageContent,)),
        one_reasoning_a_turn,
        merge_same_role,  # "roles must alternate"
        lead_with_user,  # "A conversation must start with a user message"
        lead_with_reasoning,
        keep_screenshots,
        marks_on_results,
        document_texts,
        last_turn,
        fill_empty,
        room_for_format(wanted_schema),
        document_names,
        limit_cache_marks,
        tell_marks("signed_texts", "signed_calls", "custom_calls"),
    ),
    blocks=BLOCKS,
    tool=tool,
    params=PARAMS,
    frame=frame,
    names=NameRule(longest=64),
    ids=IdRule(illegal=r"[^a-zA-Z0-9_.:-]", longest=64),
    endpoint=endpoint,
    read_request=read_request,
    read=read,
    chunk=chunk,
    finish=FINISH,
    usage=usage,
    wire=plain_json,
    extra=into_arguments,
)

__all__ = ["CONVERSE", "endpoint"]
