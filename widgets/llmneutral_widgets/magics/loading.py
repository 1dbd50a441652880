"""What `%load_ext llmneutral` puts into a shell, and what unloading takes out again: all of it.

Loading is quick, says nothing, and changes nothing but the shell: what is heavy is imported when it is first used, and
the formatters are told our classes by name.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from llmneutral_widgets import limits
from llmneutral_widgets.cells import RUNS, number_of, shell
from llmneutral_widgets.magics.completion import matcher_of
from llmneutral_widgets.magics.magics import limits_of, magics_class, question_class

BUNDLED = {
    "Conversion": "llmneutral.convert.transport",
    "DriversConfig": "llmneutral.configs.base",
    "LLMNeutralError": "llmneutral.errors",
    "Message": "llmneutral.ir.messages",
    "NormalizedResponse": "llmneutral.ir.responses",
    "PromptStack": "llmneutral.ir.stack",
}
"""Classes of the face that show themselves in a notebook -> the module they say they are of."""
EXCHANGES = ("Exchange", "Exchanges")


class _Loaded:
    """What was put into a shell."""

    def __init__(self, ip: Any) -> None:
        self.ip = ip
        self.magics = magics_class()(shell=ip)
        self.limits = partial(limits_of, self.magics)
        self.matcher = matcher_of(ip)
        self.events = {"pre_run_cell": _begin, "post_run_cell": _end}


_LOADED: dict[int, _Loaded] = {}


def load(ip: Any) -> None:
    """Registers magics, formatters, a completer, events, and the reader of `%prompt …?`, once."""
    if id(ip) in _LOADED:
        return
    found = _LOADED[id(ip)] = _Loaded(ip)
    ip.register_magics(found.magics)
    limits.follow(found.limits)
    _register_formatters(ip)
    ip.Completer.custom_matchers.append(found.matcher)
    for event, callback in found.events.items():
        ip.events.register(event, callback)
    ip.input_transformer_manager.token_transformers.append(question_class())


def unload(ip: Any) -> None:
    """Takes all of it out, and ends the session."""
    found = _LOADED.pop(id(ip), None)
    if found is None:
        return
    ip.input_transformer_manager.token_transformers.remove(question_class())
    for event, callback in found.events.items():
        ip.events.unregister(event, callback)
    ip.Completer.custom_matchers.remove(found.matcher)
    matcher_of.cache_clear()
    _unregister_formatters(ip)
    limits.leave(found.limits)
    for kind, magics in found.magics.magics.items():
        for name in magics:
            ip.magics_manager.magics[kind].pop(name, None)
    ip.magics_manager.registry.pop(type(found.magics).__name__, None)
    ip.configurables.remove(found.magics)
    RUNS.clear()
    for name in ("notes", "failures"):
        if (module := sys.modules.get(f"llmneutral_widgets.{name}")) is not None:
            module.deafen()
    for name in ("panels", "session"):
        if (module := sys.modules.get(f"llmneutral_widgets.{name}")) is not None:
            module.close()


# ----------------------------------------------------------------------------------------------------------------------
# Formatters


def _register_formatters(ip: Any) -> None:
    formatters = ip.display_formatter
    for name, module in BUNDLED.items():
        formatters.mimebundle_formatter.for_type_by_name(module, name, _bundle)
    # IPython prints exceptions in a way of its own, which would win over the text of our bundle.
    formatters.formatters["text/plain"].for_type_by_name(BUNDLED["LLMNeutralError"], "LLMNeutralError", _printed)
    for name in EXCHANGES:
        formatters.ipython_display_formatter.for_type_by_name("llmneutral_widgets.exchange", name, _show_elsewhere)


def _unregister_formatters(ip: Any) -> None:
    formatters = ip.display_formatter
    for formatter, places in (
        (formatters.mimebundle_formatter, [(module, name) for name, module in BUNDLED.items()]),
        (formatters.ipython_display_formatter, [("llmneutral_widgets.exchange", name) for name in EXCHANGES]),
        (formatters.formatters["text/plain"], [(BUNDLED["LLMNeutralError"], "LLMNeutralError")]),
    ):
        for place in places:
            formatter.deferred_printers.pop(place, None)
        ours = [
            kind for kind, shown in formatter.type_printers.items() if shown in (_bundle, _show_elsewhere, _printed)
        ]
        for kind in ours:
            del formatter.type_printers[kind]


def _bundle(value: Any, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """How the library's values show themselves."""
    from llmneutral_widgets import display
    from llmneutral_widgets.bundles import bundle_of

    bundle = bundle_of(value)
    return display.shown_here(bundle), dict(bundle.metadata)


def _printed(value: Any, printer: Any, is_cycle: bool) -> None:
    """How an error of the library's prints itself as a value."""
    del is_cycle
    printer.text(_bundle(value)[0]["text/plain"])


def _show_elsewhere(value: Any) -> None:
    """An exchange is shown by the cell that makes it, while it is made; only other cells show it as their value."""
    from llmneutral_widgets import display
    from llmneutral_widgets.bundles import bundle_of

    exchanges = value if isinstance(value, list) else [value]
    now = number_of(shell())
    if not exchanges or any([each.execution_count is None or each.execution_count != now for each in exchanges]):
        display.publish(bundle_of(value))


# ----------------------------------------------------------------------------------------------------------------------
# Events


def _begin(info: Any) -> None:
    RUNS.begin(getattr(info, "cell_id", None))
    # Not when the extension is loaded: what is listened to is heavy, and is imported by the cells that use it anyway.
    if "llmneutral.configs.defaults" in sys.modules or "llmneutral" in (getattr(info, "raw_cell", None) or ""):
        from llmneutral_widgets import display, failures, notes

        failures.listen()
        if display.has_kernel() and not notes.is_listening():
            notes.listen()


def _end(result: Any) -> None:
    """A cell that ran to its end has asked all it asks now; one that failed keeps what it had asked before.

    Either way it may have changed a conversation that a panel shows.
    """
    run = RUNS.end()
    module = sys.modules.get("llmneutral_widgets.session")
    found = None if module is None else module.begun()
    if found is None:
        return
    if run is not None and result is not None and result.success:
        found.end_cell(run)
    found.tell()
