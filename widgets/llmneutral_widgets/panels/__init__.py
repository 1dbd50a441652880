"""The widgets, thin: each binds a pure view, and shows its static form where there are no widgets.

Callbacks are short, write to the widget's own text and never print: they may run in another thread. What goes wrong in
one is told in the widget, not in some cell's output.
"""

from __future__ import annotations

from llmneutral_widgets.panels.base import WIDGET, Panel
from llmneutral_widgets.panels.choosing import ProviderPicker, close, picker
from llmneutral_widgets.panels.conversation import Conversation
from llmneutral_widgets.panels.payloads import PayloadView
from llmneutral_widgets.panels.spending import UsageView
from llmneutral_widgets.panels.stacks import StackView
from llmneutral_widgets.panels.streams import DeltaView

__all__ = [
    "WIDGET",
    "Conversation",
    "DeltaView",
    "Panel",
    "PayloadView",
    "ProviderPicker",
    "StackView",
    "UsageView",
    "close",
    "picker",
]
