"""Tools as text (ReAct): for models that call no tools, and wherever `use_native_tools=False` is set.

`as_text` gives the pass that takes the tools from a request, tells the model of them, and writes calls and results of
the history as Actions and Observations. A conversion that was made so has a `Form` (`Conversion.react`), by which
`normalize`, `normalize_stream`, `aggregate` and every driver read the answer: Thought is thinking, Answer is text, each
entry of Actions is a call.

What a loop that runs tools sees in a response, beside ordinary calls:

* Actions that is no JSON (or is cut): one call in `invalid_tool_calls`, for which `feedback.is_unread(call)` is true.
  Its `raw` is the text after the heading. It is answered like every invalid call: with a result of its `tag`, the text
  `feedback.invalid_call(call)`, and the error flag; what the model wrote goes back as it was.
* An entry without a name, or with an input that is no object: an invalid call of its own beside the valid ones,
  answered in the same way.
* Neither Actions nor Answer: `lacks_answer(response)`. The model is told `feedback.NO_ACTION` in a message of the user,
  once; if it happens again, `thought_of(response)` is the answer.
* `finish_reason` is `tool_calls` where a valid call was read; `length` stays, with a cut array as an invalid call.
* Tags are unique in a conversation: a tag the model used before comes as another.
"""

from __future__ import annotations

from llmneutral.convert.react.reading import Form as Form
from llmneutral.convert.react.reading import lacks_answer as lacks_answer
from llmneutral.convert.react.reading import thought_of as thought_of
from llmneutral.convert.react.writing import AsText as AsText
from llmneutral.convert.react.writing import as_text as as_text
from llmneutral.convert.react.writing import stack_as_text as stack_as_text
