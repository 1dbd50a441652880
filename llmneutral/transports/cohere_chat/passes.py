"""Rewrites of the messages that only Cohere needs, and which reasoning goes back.

Sources: https://docs.cohere.com/reference/chat, /docs/structured-outputs, /docs/reasoning.
"""

from __future__ import annotations

from llmneutral.convert.instructions import RULE, SAY_JSON, instructed, says_json
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.passes import same_origin
from llmneutral.convert.tool_schemas import known_tools
from llmneutral.ir import contents as c
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.messages import Message
from llmneutral.transports.cohere_chat.params import asked_schema, takes_format


def keeps(block: c.ThinkingMessageContent, message: Message, job: Job) -> str | None:
    """Says why a block of reasoning does not go back, or None: only its own, which has no seal."""
    del message
    if not job.setting("replay_reasoning"):
        return "replay_reasoning is off"
    own = same_origin(block, job)
    if own is False:
        return "this reasoning was written by another model, or at another endpoint"
    if block.seal or block.is_redacted:
        return "this reasoning is signed or encrypted, and only the API that gave it can read it"
    if own is None:
        return "it is not known who made this reasoning"
    return None if block.text else "the reasoning has no text that could go back"


def _own_tools(messages: Messages, job: Job) -> Messages:
    """Functions only, and none at all where the model calls none."""
    if any([tool.native is not None for tool in job.tools]):
        known_tools(job, _never)
    if job.tools and not job.facts.tools:
        names = ", ".join([tool.native_name for tool in job.tools])
        job.note("dropped", f"tools: {job.target.model or 'this model'} calls no tools, so {names} are not sent")
        job.tools = ()
        if job.settings.get("tool_choice") is not None:
            job.note("dropped", "tool_choice: no tools are sent")
            job.settings = {key: value for key, value in job.settings.items() if key != "tool_choice"}
    return messages


def _never(native: JSONObject) -> bool:
    del native
    return False


def _ask_for_json(messages: Messages, job: Job) -> Messages:
    """What the field for a format cannot hold, or holds only if it is said as well, stands in the instructions.

    "Your message should always explicitly instruct the model to generate a JSON"; and the field is not supported
    beside documents or tools.
    """
    schema = asked_schema(job)
    if schema is not None:
        if takes_format(job):
            return messages
        return instructed(messages, RULE + dumps(schema), "the form of the answer stands in the instructions", job)
    wanted = job.settings.get("response_format")
    if wanted is None or wanted.get("type") != "json_object" or says_json(messages):
        return messages
    return instructed(messages, SAY_JSON, "with response_format json_object some message has to say JSON", job)


OWN_TOOLS = Pass("own_tools", _own_tools)
ASK_FOR_JSON = Pass("response_format", _ask_for_json)
