"""What a model of 135 million parameters must be told to call tools: its chat template, and a grammar for JSON.

The template is ChatML, what SmolLM2 was trained on, with the tool markers of Hermes and Qwen 2.5 and `<think>` blocks.
The model was trained on neither, so worked examples stand in front of the conversation while tools are offered or
thinking is asked for. llama.cpp reads the markers out of the template and makes a grammar of them: from `<tool_call>`
on, the name and the arguments are forced to the tool's schema.

This file knows no process and no network. Requests steer the template by `chat_template_kwargs`:

* `enable_thinking: true` makes the answer begin with a `<think>` block (ignored while tools are offered);
* `force_tool: true` makes it begin with a call; only together with tool_choice `required` (Messages: `any`).
"""

from __future__ import annotations

from llmneutral.convert.grammar import json_grammar as json_grammar

DEFAULT_SYSTEM = "You are a helpful assistant. Give short answers."

#: (question, tool name, arguments as JSON)
TOOL_EXAMPLES = (
    ("What time is it in Oslo?", "get_time", '{"place": "Oslo"}'),
    ("What is 5 times 6?", "multiply", '{"x": 5, "y": 6}'),
    ("Look up quantum physics", "lookup", '{"text": "quantum physics"}'),
    ("Remind me on 2031-05-06 to buy milk", "create_reminder", '{"when": "2031-05-06", "text": "buy milk"}'),
)

#: (question, thoughts, answer)
THINKING_EXAMPLES = (
    (
        "Which is bigger, a cat or a horse?",
        "- I compare a cat and a horse. A cat weighs 4 kg and a horse weighs 500 kg.\n- Now I can answer.",
        "A horse is much bigger than a cat.",
    ),
    (
        "Give me a word that rhymes with sun.",
        "- I need a word that ends like sun. Fun and run both rhyme.\n- Now I can answer.",
        "A word that rhymes with sun is fun.",
    ),
    ("What is 9 minus 4?", "- I take 4 away from 9. That leaves 5.\n- Now I can answer.", "9 minus 4 is 5."),
    (
        "Who wrote Hamlet?",
        "- Hamlet is a play. Its author is William Shakespeare.\n- Now I can answer.",
        "William Shakespeare wrote Hamlet.",
    ),
)

# Texts are printed by expressions with both edges trimmed: the layout of this source is not part of the prompt.
_TEMPLATE = r"""
{%- if messages and messages[0].role in ['system', 'developer'] -%}
    {%- set system = messages[0].content -%}
    {%- set rest = messages[1:] -%}
{%- else -%}
    {%- set system = DEFAULT_SYSTEM -%}
    {%- set rest = messages -%}
{%- endif -%}
{%- set thinking = enable_thinking is defined and enable_thinking -%}
{%- set forced = force_tool is defined and force_tool -%}
{%- set calling = tools and (forced or not (rest and rest[-1].role == 'tool')) -%}
{{- '<|im_start|>system\n' + system }}
{%- if calling -%}
    {{- '\n\nYou answer by calling one of these tools:\n<tools>' }}
    {%- for tool in tools -%}
        {{- '\n' + (tool.function | tojson) }}
    {%- endfor -%}
    {{- '\n</tools>' }}
{%- endif -%}
{{- '<|im_end|>\n' }}
{%- if calling -%}
    {{- TOOL_EXAMPLES }}
{%- elif thinking -%}
    {{- THINKING_EXAMPLES }}
{%- endif -%}
{%- for message in rest -%}
    {%- if message.role == 'assistant' -%}
        {{- '<|im_start|>assistant\n' }}
        {%- if message.reasoning_content -%}
            {{- '<think>\n' + message.reasoning_content + '\n</think>\n\n' }}
        {%- endif -%}
        {%- if message.content -%}
            {{- message.content }}
        {%- endif -%}
        {%- for call in message.tool_calls or [] -%}
            {%- if message.content or not loop.first -%}
                {{- '\n' }}
            {%- endif -%}
            {{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
            {{- (call.function.arguments | tojson) + '}\n</tool_call>' }}
        {%- endfor -%}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == 'tool' -%}
        {%- if loop.first or rest[loop.index0 - 1].role != 'tool' -%}
            {{- '<|im_start|>user' }}
        {%- endif -%}
        {{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
        {%- if loop.last or rest[loop.index0 + 1].role != 'tool' -%}
            {{- '<|im_end|>\n' }}
        {%- endif -%}
    {%- else -%}
        {{- '<|im_start|>' + ('system' if message.role == 'developer' else message.role) }}
        {{- '\n' + message.content + '<|im_end|>\n' }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\n' }}
    {%- if calling and forced -%}
        {{- '<think>\n\n</think>\n\n<tool_call>\n' }}
    {%- elif thinking and not calling -%}
        {{- '<think>\n' }}
    {%- endif -%}
{%- endif -%}
"""


def chat_template() -> str:
    """Returns the Jinja chat template that the embedded model is started with."""
    calls = [
        (question, f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>')
        for question, name, arguments in TOOL_EXAMPLES
    ]
    thoughts = [(question, f"<think>\n{text}\n</think>\n\n{answer}") for question, text, answer in THINKING_EXAMPLES]
    return (
        _TEMPLATE.strip()
        .replace("DEFAULT_SYSTEM", _literal(DEFAULT_SYSTEM))
        .replace("TOOL_EXAMPLES", _literal(_turns(calls)))
        .replace("THINKING_EXAMPLES", _literal(_turns(thoughts)))
    )


def _turns(pairs: list[tuple[str, str]]) -> str:
    return "".join(
        f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"
        for question, answer in pairs
    )


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"
