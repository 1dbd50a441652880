"""What each step of a conversion does, in one plain sentence: `Change.step` and `ConversionError.rule` name them.

The names are what code compares and reports sort by; the sentences are for people who meet a name for the first time.
A test holds that every name in use has its sentence.
"""

from __future__ import annotations


def step_summary(name: str) -> str | None:
    """Returns one plain sentence that says what a step does; None of a step that is not this library's own.

    Args:
        name: `Change.step`, or `ConversionError.rule`.
    """
    return SUMMARIES.get(name)


SUMMARIES: dict[str, str] = {
    # What is asked for beside the messages
    "frame": "Puts messages, tools and settings together into the request, with what this API demands.",
    "params": "Writes each setting (temperature, length …) the way this API spells it, if it takes it at all.",
    "settings": "Reads the settings before the conversion begins, and leaves out what cannot be meant.",
    "reasoning": "Says how much the model is to think, in this API's words.",
    "local": "Adds what the embedded model on this computer needs to do as asked: its driver does, no API demands it.",
    "history": "Hands over the conversation so far to a program that keeps one of its own.",
    "instructions": "Hands over the system text to a program that has instructions of its own.",
    "input": "Writes the last question in the form that the program takes.",
    "turn": "Checks that the conversation ends with something to answer.",
    # Tools
    "tool_names": "Gives each tool a name of the letters and the length that this API takes.",
    "duplicate_tools": "Checks that no two tools have the same name.",
    "tools": "Describes each tool, and what arguments it takes, in this API's form.",
    "tool_choice": "Says whether the model may, must, or must not call a tool.",
    "own_tools": "Keeps a provider's built-in tools where that provider is asked, and leaves them out elsewhere.",
    "chat_tools": "Settles what some models do not do together over Chat Completions: calling tools, and thinking.",
    "flatten_tools": "Writes calls and results as plain text for a model that knows no tools.",
    "react": "Explains the tools in words and reads calls from the answer's text, without the API's own tools.",
    "nudge_required": "Asks in words for the call of a tool where it cannot be demanded.",
    "schema_limit": "Checks that a JSON Schema stays within what this API can handle.",
    # Calls and their results
    "pair_results": "Puts each result right behind the call that it answers, and settles calls without a result.",
    "canonical_ids": "Gives each call an id that this API takes, and its result the same: so they find each other.",
    "open_calls": "Checks that every call has its result before the request is sent.",
    "content_with_calls": "Puts text and calls into messages of their own, for models that take them only apart.",
    "bridge_after_tool": "Puts a turn of the assistant between a result and your next words, where a server wants one.",
    # Who speaks when
    "roles": "Checks that each block may stand in a message of this speaker.",
    "lift_system": "Takes the system text out of the messages, to the place of its own that this API has for it.",
    "late_system": "Decides where system text goes that stands in the middle of the conversation.",
    "merge_system": "Joins all system texts into one at the start, for models that take no other.",
    "system": "Checks that the system text is text and nothing else.",
    "system_role": "Chooses between the two names for instructions, system and developer.",
    "merge_same_role": "Joins messages of one speaker that follow each other: user and assistant must take turns.",
    "alternate_roles": "Joins messages of one speaker that follow each other, where a server wants turns to alternate.",
    "lead_with_user": "Lets the conversation begin with the user, as this API demands.",
    "first_turn": "Lets the conversation begin with the user, where a server demands it.",
    "last_turn": "Settles what becomes of a conversation that ends with the assistant: there is nothing to answer.",
    "fill_empty": "Puts a word into a message that would be empty, or leaves the message out.",
    "drop_blank_text": "Leaves out texts of nothing but spaces, which this API refuses.",
    # Thinking
    "origin_of_reasoning": "Sends a model's thinking back only to whom it came from; others cannot check or use it.",
    "one_reasoning_a_turn": "Keeps one thought of several that would stand in one turn.",
    "lead_with_reasoning": "Puts the thinking first in its turn, before text and calls.",
    "pad_reasoning": "Adds a placeholder for thinking to a turn with calls, where a server demands some.",
    "reasoning_with_its_item": "Keeps a thought only with what it led to: alone it is refused.",
    "recover_reasoning": "Sends the request once more without earlier thinking, after the provider refused that.",
    "thought_signatures": "Adds the signature that Gemini demands on a call.",
    # Pictures, sound, documents
    "media": "Checks that this model takes pictures, sound or documents, and in which form.",
    "move_media": "Moves pictures and files to where this API takes them: a message of the user.",
    "media_of_the_assistant": "Moves pictures and files of the assistant to a message of the user.",
    "keep_screenshots": "Keeps the newest pictures in results of tools, and leaves out the older ones.",
    "spoken_answers": "Sends an earlier spoken answer by its id, or as the text that was spoken.",
    "say_audio": "Writes what was said in place of a sound that this API does not take.",
    "open_documents": "Shows what a document is made of in its place.",
    "document_names": "Gives each document a name that Bedrock takes, and no two the same.",
    "document_texts": "Adds a text to a message that holds nothing but a document.",
    "fetch": "Fetches a file from its web address.",
    "string_content_only": "Checks that there are only texts, for a model that takes nothing else.",
    # Forms of the answer
    "output_schema": "Asks for an answer that fits your JSON Schema.",
    "structured_output": "Asks for an answer that fits your JSON Schema by a tool or by words, without a field for it.",
    "response_format": "Asks for an answer in JSON, by the API's field or by words.",
    "room_for_format": "Leaves out what cannot go together with a fixed form of the answer, such as citations.",
    # The cache
    "limit_cache_marks": "Keeps as many cache marks as this API takes; a mark asks it to keep the prompt up to there.",
    "marks_on_results": "Moves a cache mark from inside a tool's result onto the result.",
    "place_marks": "Moves a cache mark to a block that can carry one.",
    "marks": "Says which marks on blocks (cache, citations) this API has no place for.",
    # What belongs to one provider only
    "drop_generic_of_others": "Leaves out blocks that only another API understands.",
    "foreign_items": "Leaves out items that only another server knows.",
    "citations_alone": "Keeps citations that came without a text in Bedrock's own form.",
    # Data that cannot be sent, or read
    "scrub_surrogates": "Replaces halves of characters, which cannot be sent as text.",
    "plain_data": "Checks that everything is plain JSON data.",
    "source": "Reads what you gave as a conversation.",
    "api": "Looks up how the API is spoken to.",
    "sdk": "Hands the request to the provider's own package, which checks it.",
    "openai_format": "Reads messages that are written in OpenAI's form.",
    "from_json": "Reads a conversation from its JSON file.",
    "read_request": "Reads a request back into a conversation.",
}
