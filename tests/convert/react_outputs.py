"""What models write in the form of ReAct, well and badly, and how it is read.

Each row: what it is about, the text, what is read of it, and the remarks. `T` is a thought, `A` an answer, `C` a call
(tag, name, input), `X` an invalid call (tag, name, raw).
"""

from __future__ import annotations

from typing import Any

from llmneutral.convert.react import parser

IGNORED, INVENTED, SECOND = parser.IGNORED, parser.INVENTED, parser.SECOND
UNASKED, WITHOUT = parser.UNASKED, parser.WITHOUT

Row = tuple[str, str, list[tuple[Any, ...]], set[str]]
GET = '{"tag": "a1", "name": "get", "input": {"q": 1}}'
CALL = ("C", "a1", "get", {"q": 1})

ROWS: list[Row] = [
    ("a call", f"Thought: look\nActions: [{GET}]", [("T", "look"), CALL], set()),
    ("an answer", "Thought: known\nAnswer: 42", [("T", "known"), ("A", "42")], set()),
    ("no heading", "It is 42.", [("A", "It is 42.")], set()),
    ("empty", "", [], set()),
    ("white space", " \n\t\n", [], set()),
    ("only a thought", "Thought: hm, let me see", [("T", "hm, let me see")], set()),
    ("an empty thought", "Thought:\nAnswer: 42", [("A", "42")], set()),
    ("a thought of several lines", "Thought: a\n\n- b\n  c\nAnswer: d", [("T", "a\n\n- b\n  c"), ("A", "d")], set()),
    ("two thoughts", "Thought: a\nThought: b\nAnswer: c", [("T", "a\nb"), ("A", "c")], set()),
    (
        "brackets in a thought",
        f"Thought: see [1] and [x, y]\nActions: [{GET}]",
        [("T", "see [1] and [x, y]"), CALL],
        set(),
    ),
    (
        "a heading inside a line",
        "Thought: the Answer: is near\nAnswer: x",
        [("T", "the Answer: is near"), ("A", "x")],
        set(),
    ),
    ("lower case", f"thought: a\nactions: [{GET}]", [("T", "a"), CALL], set()),
    ("upper case", "THOUGHT: a\nANSWER: b", [("T", "a"), ("A", "b")], set()),
    ("bold, colon inside", "**Thought:** a\n**Answer:** b", [("T", "a"), ("A", "b")], set()),
    ("bold, colon outside", "**Thought**: a\n**Answer**: b", [("T", "a"), ("A", "b")], set()),
    ("bold that goes on", "**Answer: b** c", [("A", "b** c")], set()),
    ("bold in the answer", "Answer: **b**", [("A", "**b**")], set()),
    ("bold lines that are no headings", "**Note:** a\n**Thoughts:** b", [("A", "**Note:** a\n**Thoughts:** b")], set()),
    ("indented headings", "  Thought: a\n   Answer: b", [("T", "a"), ("A", "b")], set()),
    ("too far in", "Thought: a\n    Answer: b", [("T", "a\n    Answer: b")], set()),
    ("CRLF", f"Thought: a\r\nActions: [{GET}]\r\n", [("T", "a"), CALL], set()),
    ("a space before the colon", "Thought : a\nAnswer : b", [("T", "a"), ("A", "b")], set()),
    ("a byte order mark", "\ufeffThought: a\nAnswer: b", [("T", "a"), ("A", "b")], set()),
    ("Chinese", "Thought\uff1a我需要查一下\nAnswer\uff1a四十二", [("T", "我需要查一下"), ("A", "四十二")], set()),
    (
        "German",
        "Thought: Größe prüfen\nAnswer: Straße „zwölf“",
        [("T", "Größe prüfen"), ("A", "Straße „zwölf“")],
        set(),
    ),
    ("Arabic", "Thought: سأبحث\nAnswer: ثلاثة وأربعون", [("T", "سأبحث"), ("A", "ثلاثة وأربعون")], set()),
    ("words before the headings", "Sure!\n\nThought: a\nAnswer: b", [("A", "Sure!"), ("T", "a"), ("A", "\nb")], set()),
    ("words before the actions", f"I look it up.\nActions: [{GET}]", [("A", "I look it up."), CALL], set()),
    ("a single object", f"Actions: {GET}", [CALL], set()),
    ("on the next line", f"Actions:\n\n[{GET}]", [CALL], set()),
    ("on several lines", 'Actions: [\n  {"name": "get",\n   "input": {\n"q": 1}}\n]', [CALL], set()),
    ("a fence", f"Actions:\n```json\n[{GET}]\n```", [CALL], set()),
    ("a fence without a word", f"Actions: ```\n[{GET}]\n```\n", [CALL], set()),
    ("a fence on one line", f"Actions: `[{GET}]`", [CALL], set()),
    (
        "several calls",
        f'Actions: [{GET}, {{"tag": "b", "name": "put", "input": {{}}}}]',
        [CALL, ("C", "b", "put", {})],
        set(),
    ),
    ("no tags", 'Actions: [{"name": "x"}, {"name": "y"}]', [("C", "a1", "x", {}), ("C", "a2", "y", {})], set()),
    (
        "tags given twice",
        'Actions: [{"tag": "t", "name": "x"}, {"tag": "t", "name": "y"}, {"tag": "t", "name": "z"}]',
        [("C", "t", "x", {}), ("C", "t_2", "y", {}), ("C", "t_3", "z", {})],
        set(),
    ),
    (
        "a missing tag beside its like",
        'Actions: [{"name": "x"}, {"tag": "a1", "name": "y"}]',
        [("C", "a1", "x", {}), ("C", "a2", "y", {})],
        set(),
    ),
    ("numbers as tags", 'Actions: [{"tag": 7, "name": "x"}]', [("C", "7", "x", {})], set()),
    ("parameters", 'Actions: [{"tool": "x", "parameters": {"q": 1}}]', [("C", "a1", "x", {"q": 1})], set()),
    (
        "synonyms",
        'Actions: [{"tool": "x", "arguments": {"q": 1}}, {"action": "y", "action_input": {}}, {"name": "z"}]',
        [("C", "a1", "x", {"q": 1}), ("C", "a2", "y", {}), ("C", "a3", "z", {})],
        set(),
    ),
    ("numbers as names", 'Actions: [{"name": 5, "input": {}}]', [("X", "a1", "", '{"name": 5, "input": {}}')], set()),
    (
        "no name",
        f'Actions: [{{"input": {{}}}}, {GET}]',
        [("X", "a1", "", '{"input": {}}'), ("C", "a2", "get", {"q": 1})],
        set(),
    ),
    ("an input that is a list", 'Actions: [{"name": "x", "input": [1, 2]}]', [("X", "a1", "x", "[1, 2]")], set()),
    (
        "an input that is text",
        'Actions: [{"name": "x", "input": "{\\"q\\": 1}"}]',
        [("X", "a1", "x", '"{\\"q\\": 1}"')],
        set(),
    ),
    ("an input that is null", 'Actions: [{"name": "x", "input": null}]', [("X", "a1", "x", "null")], set()),
    ("entries that are no objects", 'Actions: ["get", 1]', [("X", "a1", "", '"get"'), ("X", "a2", "", "1")], set()),
    ("nested arrays", f"Actions: [[{GET}]]", [("X", "a1", "", f"[{GET}]")], set()),
    (
        "brackets in strings",
        'Actions: [{"name": "x", "input": {"code": "a[0] = {\\"]\\": \\"}\\"}\\\\"}}] done',
        [("C", "a1", "x", {"code": 'a[0] = {"]": "}"}\\'})],
        {IGNORED},
    ),
    (
        "headings in strings",
        'Actions: [{"name": "x", "input": {"t": "Answer: 1\\nObservations: 2"}}]',
        [("C", "a1", "x", {"t": "Answer: 1\nObservations: 2"})],
        set(),
    ),
    ("text after the array", f"Actions: [{GET}] and I wait\nfor it", [CALL], {IGNORED}),
    ("a second array behind it", f"Actions: [{GET}]\n[{GET}]", [CALL], {IGNORED}),
    ("several Actions", f'Actions: [{GET}]\nActions: [{{"name": "put"}}]', [CALL], {SECOND}),
    (
        "results made up",
        f'Actions: [{GET}]\nObservations:\n{{"tag": "a1", "output": 5}}\nThought: ok\nAnswer: 5',
        [CALL],
        {UNASKED},
    ),
    ("an answer made up", f"Actions: [{GET}]\nAnswer: 5", [CALL], {INVENTED}),
    ("a thought behind the actions", f"Actions: [{GET}]\nThought: now\nAnswer: 5", [CALL], {INVENTED}),
    ("results before anything", "Observations: x\nAnswer: y", [], {UNASKED}),
    ("results after a thought", "Thought: a\nObservations: x\nAnswer: y", [("T", "a")], {UNASKED}),
    ("an answer before the actions", f"Answer: b\nActions: [{GET}]", [("A", f"b\nActions: [{GET}]")], set()),
    ("headings in the answer", "Answer:\nThought: x\nObservations: y", [("A", "Thought: x\nObservations: y")], set()),
    ("an answer with code", "Answer:\n    x = [1]\n    y\n\n", [("A", "    x = [1]\n    y")], set()),
    ("an answer that is JSON", 'Answer: {"n": [1]}\n', [("A", '{"n": [1]}')], set()),
    ("actions: none", "Thought: a\nActions: none\nAnswer: b", [("T", "a"), ("A", "b")], {WITHOUT}),
    ("actions: nothing", "Actions:\nAnswer: b", [("A", "b")], {WITHOUT}),
    ("an empty array", "Thought: a\nActions: []\nAnswer: b", [("T", "a"), ("A", "b")], set()),
    ("actions that are prose", "Actions: I call get(1).", [("X", "a1", "Actions", "I call get(1).")], set()),
    ("prose, then an array", f"Actions: see below\nActions: [{GET}]", [CALL], set()),
    ("nothing after Actions", "Thought: a\nActions:", [("T", "a"), ("X", "a1", "Actions", "")], set()),
    ("a cut array", f'Actions: [{GET}, {{"name": "pu', [("X", "a1", "Actions", f'[{GET}, {{"name": "pu')], set()),
    ("an array cut in a string", 'Actions: [{"name": "a\\', [("X", "a1", "Actions", '[{"name": "a\\')], set()),
    ("a trailing comma", f"Actions: [{GET},]", [("X", "a1", "Actions", f"[{GET},]")], set()),
    ("single quotes", "Actions: [{'name': 'x'}]", [("X", "a1", "Actions", "[{'name': 'x'}]")], set()),
    ("a missing bracket", f"Actions: [{GET}\nAnswer: 5", [("X", "a1", "Actions", f"[{GET}")], {INVENTED}),
    ("a missing brace", 'Actions: [{"name": "x"]\nmore', [("X", "a1", "Actions", '[{"name": "x"]\nmore')], set()),
    (
        "a line break in a string",
        'Actions: [{"name": "x", "input": {"t": "a\nb"}}]\nObservations: 1',
        [("X", "a1", "Actions", '[{"name": "x", "input": {"t": "a\nb"}}]')],
        {UNASKED},
    ),
    (
        "numbers no JSON has",
        'Actions: [{"name": "x", "input": {"n": NaN}}]',
        [("X", "a1", "Actions", '[{"name": "x", "input": {"n": NaN}}]')],
        set(),
    ),
    ("a name with white space", 'Actions: [{"name": " x "}]', [("C", "a1", "x", {})], set()),
    (
        "an unpaired surrogate",
        'Actions: [{"name": "x", "input": {"t": "\\ud83d"}}]',
        [("C", "a1", "x", {"t": "\ud83d"})],
        set(),
    ),
    (
        "a number too long for a float",
        'Actions: [{"name": "x", "input": {"n": 123456789012345678901234567890}}]',
        [("C", "a1", "x", {"n": 123456789012345678901234567890})],
        set(),
    ),
]
