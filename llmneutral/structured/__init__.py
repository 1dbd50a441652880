"""An answer in a form: how it is asked for, how it is read, and what is said where it does not fit.

`plan` chooses a strategy and says what it changes; nothing of the caller's is touched. `parse` reads the answer by the
same plan, `repair_messages` says to the model what was wrong with it, and `PartialAnswer` shows it while it comes.
"""

from __future__ import annotations

from llmneutral.structured.partial import PartialAnswer as PartialAnswer
from llmneutral.structured.planning import ANSWER_TOOL as ANSWER_TOOL
from llmneutral.structured.planning import JSON_RULE as JSON_RULE
from llmneutral.structured.planning import Plan as Plan
from llmneutral.structured.planning import answer_tool as answer_tool
from llmneutral.structured.planning import plan as plan
from llmneutral.structured.planning import plans as plans
from llmneutral.structured.reading import Verdict as Verdict
from llmneutral.structured.reading import attempt as attempt
from llmneutral.structured.reading import failed as failed
from llmneutral.structured.reading import find_json as find_json
from llmneutral.structured.reading import judged as judged
from llmneutral.structured.reading import parse as parse
from llmneutral.structured.reading import said as said
from llmneutral.structured.reading import told as told
from llmneutral.structured.reading import wants_parsing as wants_parsing
from llmneutral.structured.repairing import repair_messages as repair_messages
