"""OpenAI Chat Completions, and the servers that imitate it.

Docs: https://developers.openai.com/api/docs/guides/function-calling, /structured-outputs, /prompt-caching; types of
openai 3. Imitators are targets of the same transport with other facts, never subclasses. OpenAI itself should be
called by Responses; Chat is for compatible endpoints.

`blocks` and `frame` write, `params` are the settings, `passes` the rewrites, `request` reads a request, `answer`
an answer. `CHAT_COMPLETIONS` ties them together.
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
from llmneutral.transports.chat_completions import passes
from llmneutral.transports.chat_completions.answer import FINISH, chunk, read, usage
from llmneutral.transports.chat_completions.blocks import BLOCKS
from llmneutral.transports.chat_completions.frame import frame, tool
from llmneutral.transports.chat_completions.params import PARAMS
from llmneutral.transports.chat_completions.request import read_request


def endpoint(target: Target) -> tuple[str, str]:
    """POST, relative to a base_url that ends in /v1."""
    del target
    return "POST", "/chat/completions"


CHAT_COMPLETIONS = Transport(
    api_mode="chat_completions",
    doc="https://developers.openai.com/api/docs/api-reference/chat/create",
    passes=(
        passes.TOOLS_AND_REASONING,
        passes.OWN_TOOLS,
        scrub_surrogates,
        drop_generic_of_others("chat_completions"),
        keep_screenshots,
        pair_results,
        canonical_ids,
        replay_reasoning(passes.keeps),
        hoist_system,
        passes.SYSTEM_ROLE,
        passes.MERGE_SYSTEM,
        passes.SPOKEN_ANSWERS,
        move_media("move_media", passes.MOVED, passes.MOVED),
        passes.NO_EMPTY,
        passes.FIRST_TURN,
        passes.ASK_FOR_JSON,
        passes.NUDGE,
        passes.ALTERNATE_ROLES,
        passes.BRIDGE_AFTER_TOOL,
        passes.LAST_TURN,
        passes.PAD_REASONING,
        passes.SIGN_CALLS,
        marks_on_results,
        passes.MARKS,
        tell_marks("citations", "signed_texts", "cited_documents", "categories"),
    ),
    blocks=BLOCKS,
    tool=tool,
    params=PARAMS,
    frame=frame,
    names=NameRule(),
    ids=IdRule(longest=64),
    endpoint=endpoint,
    read_request=read_request,
    read=read,
    chunk=chunk,
    finish=FINISH,
    usage=usage,
)

__all__ = ["CHAT_COMPLETIONS", "endpoint"]
