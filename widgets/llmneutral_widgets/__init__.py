"""The notebook layer of llmneutral: magics, views, widgets. `%load_ext llmneutral` loads it; importing it is cheap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmneutral_widgets import session as session
    from llmneutral_widgets.display import show as show
    from llmneutral_widgets.exchange import Exchange as Exchange
    from llmneutral_widgets.exchange import Exchanges as Exchanges
    from llmneutral_widgets.ipynb.exports import conversation_to_notebook as conversation_to_notebook
    from llmneutral_widgets.ipynb.extraction import extract_exchanges as extract_exchanges
    from llmneutral_widgets.ipynb.notebook_file import NotebookError as NotebookError
    from llmneutral_widgets.ipynb.notebook_file import write_notebook as write_notebook
    from llmneutral_widgets.ipynb.runs import diff_runs as diff_runs
    from llmneutral_widgets.ipynb.transcribing import stack_from_notebook as stack_from_notebook
    from llmneutral_widgets.panels import Conversation as Conversation
    from llmneutral_widgets.panels import DeltaView as DeltaView
    from llmneutral_widgets.panels import PayloadView as PayloadView
    from llmneutral_widgets.panels import ProviderPicker as ProviderPicker
    from llmneutral_widgets.panels import StackView as StackView
    from llmneutral_widgets.panels import UsageView as UsageView

__all__ = [
    "Conversation",
    "DeltaView",
    "Exchange",
    "Exchanges",
    "NotebookError",
    "PayloadView",
    "ProviderPicker",
    "StackView",
    "UsageView",
    "conversation_to_notebook",
    "diff_runs",
    "extract_exchanges",
    "load_ipython_extension",
    "session",
    "show",
    "stack_from_notebook",
    "write_notebook",
]

_PANELS = ("Conversation", "DeltaView", "PayloadView", "ProviderPicker", "StackView", "UsageView")
_NOTEBOOKS = (
    "NotebookError",
    "conversation_to_notebook",
    "diff_runs",
    "extract_exchanges",
    "stack_from_notebook",
    "write_notebook",
)
_PLACES = {
    "Exchange": "exchange",
    "Exchanges": "exchange",
    "show": "display",
    **dict.fromkeys(_PANELS, "panels"),
    **dict.fromkeys(_NOTEBOOKS, "ipynb.conversations"),
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        value = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
        return value
    if name == "session":
        return import_module(f"{__name__}.session")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "unload_ipython_extension"]


def load_ipython_extension(ipython: Any) -> None:
    """Loads the magics: `%load_ext llmneutral`."""
    import_module(f"{__name__}.magics.loading").load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Unloads them; nothing of them is left in the shell."""
    import_module(f"{__name__}.magics.loading").unload(ipython)
