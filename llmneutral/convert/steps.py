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
    "frame": "Writes messages, tools and settings into the request, each in the form this API takes and demands.",
    "params": "Writes each setting (temperature, length …) the way this API spells it, if it takes it at all.",
    "settings": "Reads the settings before the conversion begins; what cannot be meant is changed, or left out.",
    "reasoning": "Says how much the model is to think, as far as this model can be told.",
    "local": "Fits the request to the embedded model on this computer: its driver does that, no API demands it.",
    "history": "Hands over the conversation so far, in words, to a program that keeps one of its own.",
    "instructions": "Hands over the system text to a program that has instructions of its own.",
    "input": "Writes the last question in the form that the program takes, as far as it takes it.",
    "turn": "Checks that the conversation ends with something to answer.",
    # Tools
    "tool_names": "Gives each tool a name of the letters and the length that this API takes, and sends no name twice.",
    "duplicate_tools": "Checks that no two tools have the same name.",
    "tools": "Describes each tool as this API takes it, also those that only the history calls, where it demands that.",
    "tool_choice": "Says whether the model may, must, or must not call a tool, as far as this model can be told.",
    "own_tools": "Keeps a provider's own tools where that provider is asked; elsewhere they are fitted, or left out.",
    "chat_tools": "Settles what some models do not do together over Chat Completions: calling tools, and thinking.",
    "flatten_tools": "Writes calls and results as text where no tools are known; what needs them is left out.",
    "react": "Explains the tools in words, with calls as text, in the history too, and without the API's own tools.",
    "nudge_required": "Asks in words for the call of a tool where it cannot be demanded.",
    "schema_limit": "Checks that a JSON Schema stays within what this API can handle.",
    # Calls and their results
    "pair_results": "Puts each result right behind its call, under one id, and settles what has no partner.",
    "canonical_ids": "Gives each call an id that this API takes, and its result the same: so they find each other.",
    "open_calls": "Checks that every call has its result before the request is sent.",
    "content_with_calls": "Puts text and calls into messages of their own, for models that take them only apart.",
    "bridge_after_tool": "Puts a turn of the assistant between a result and your next words, where a server wants one.",
    # Who speaks when
    "roles": "Checks who speaks, and that each block may stand in a message of this speaker.",
    "lift_system": "Moves system text to this API's place for it, or leaves a later one where it is, as user text.",
    "late_system": "Decides where system text goes that stands in the middle of the conversation.",
    "merge_system": "Joins all system texts into one at the start, for models that take no other.",
    "system": "Checks that the system text is text and nothing else.",
    "system_role": "Chooses between the two names for instructions, system and developer.",
    "merge_same_role": "Joins messages of one speaker that follow each other: user and assistant must take turns.",
    "alternate_roles": "Joins messages of one speaker that follow each other, where a server wants turns to alternate.",
    "lead_with_user": "Lets the conversation begin with the user, as this API demands.",
    "first_turn": "Lets the conversation begin with the user, where a server demands it.",
    "last_turn": "Settles how a conversation ends whose last message is no question: an answer begun, or instructions.",
    "fill_empty": "Puts a word into a message that would be empty, or leaves the message out.",
    "drop_blank_text": "Leaves out blank texts, which this API refuses; a cache mark goes to the block before.",
    # Thinking
    "origin_of_reasoning": "Sends earlier thinking back as it is where this API takes it, else as text, or not at all.",
    "one_reasoning_a_turn": "Keeps one thought of several that would stand in one turn.",
    "lead_with_reasoning": "Puts the thinking first in its turn, before text and calls.",
    "pad_reasoning": "Adds a placeholder for thought to a turn with calls where one is demanded, or thinking is off.",
    "reasoning_with_its_item": "Keeps a thought once, and only with what it led to: alone it is refused.",
    "recover_reasoning": "Sends the request once more without earlier thinking, after the provider refused that.",
    "thought_signatures": "Adds the signature that Gemini demands on a call.",
    # Pictures, sound, documents
    "media": "Checks that this model takes pictures, sound or documents, and in which form.",
    "move_media": "Moves pictures and files to where this API takes them: a message of the user.",
    "media_of_the_assistant": "Moves pictures and files of the assistant to a message of the user.",
    "keep_screenshots": "Keeps the newest pictures in results of tools; older ones, and thought bound to them, go.",
    "spoken_answers": "Sends an earlier spoken answer by its id, or as the text that was spoken.",
    "say_audio": "Writes what was said, or a note, in place of a sound that this API does not take.",
    "open_documents": "Shows what a document is made of in its place.",
    "document_names": "Gives each document one name, which Bedrock takes, and no two the same.",
    "document_texts": "Adds a text to a message that holds nothing but a document.",
    "fetch": "Fetches a file from its web address.",
    "string_content_only": "Checks that there are only texts, for a model that takes nothing else.",
    # Forms of the answer
    "output_schema": "Asks for an answer that fits your JSON Schema, written as far and as this API takes it.",
    "structured_output": "Asks for an answer that fits your JSON Schema by a tool or by words, without a field for it.",
    "response_format": "Asks for an answer in JSON, by the API's field or by words.",
    "room_for_format": "Settles what cannot go together with a fixed form of the answer, such as citations.",
    # The cache
    "limit_cache_marks": "Keeps as many cache marks as this API takes, where it takes them: prompts are kept so far.",
    "marks_on_results": "Moves a cache mark from inside a tool's result onto the result.",
    "place_marks": "Moves a cache mark to a block before it that can carry one, or leaves it out where there is none.",
    "marks": "Fits what this API does not know of a block, such as citations and signatures, or leaves it out.",
    # What belongs to one provider only
    "drop_generic_of_others": "Leaves out blocks that only another API knows; a cache mark goes to the block before.",
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
