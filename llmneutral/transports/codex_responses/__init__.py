"""OpenAI's Responses, as OpenAI, the Codex backend, xAI, Copilot, Azure and others speak it.

Docs: https://developers.openai.com/api/docs/guides/migrate-to-responses (beside it /reasoning, /function-calling,
/prompt-caching); types of openai 3 (`openai.types.responses`).

`write` renders blocks and messages, `passes` rewrites, `settings` has tools, params and routes, `frame` assembles;
`request` reads a request body, `read` an answer, `stream` its chunks. The table that ties them together stands here.
"""

from __future__ import annotations

from llmneutral.convert.cache import limit_cache_marks
from llmneutral.convert.job import Target
from llmneutral.convert.marks import tell_marks
from llmneutral.convert.names import IdRule, NameRule
from llmneutral.convert.transport import Transport
from llmneutral.transports.codex_responses.frame import frame
from llmneutral.transports.codex_responses.passes import PASSES
from llmneutral.transports.codex_responses.read import FINISH, read, settle, usage
from llmneutral.transports.codex_responses.request import read_request
from llmneutral.transports.codex_responses.settings import PARAMS, own_tools, tool
from llmneutral.transports.codex_responses.stream import chunk
from llmneutral.transports.codex_responses.write import API, BLOCKS


def endpoint(target: Target) -> tuple[str, str]:
    """Where a request goes, under the base address."""
    return "POST", "/responses"


RESPONSES = Transport(
    api_mode=API,
    doc="https://developers.openai.com/api/docs/guides/migrate-to-responses",
    passes=(
        *PASSES,
        own_tools,
        limit_cache_marks,
        tell_marks("citations", "signed_texts", "signed_calls", "cited_documents"),
    ),
    blocks=BLOCKS,
    tool=tool,
    params=PARAMS,
    frame=frame,
    names=NameRule(),
    # An item id (fc_…) that somebody used as the id of a call would be looked up as an item.
    ids=IdRule(illegal=r"[^A-Za-z0-9_-]", longest=64, item_prefix=("fc_", "call_")),
    endpoint=endpoint,
    read_request=read_request,
    read=read,
    chunk=chunk,
    finish=FINISH,
    usage=usage,
    settle=settle,
)
