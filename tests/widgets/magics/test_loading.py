"""Loading is quick, silent and complete; unloading leaves nothing behind."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import llmneutral
from llmneutral_widgets.exchange import MIME, Exchange, Exchanges
from llmneutral_widgets.magics import loading
from tests.widgets.kernel import Kernel
from tests.widgets.samples import response, stack

SIX = {"prompt", "provider", "stack", "payload", "deltas", "usage"}


@pytest.fixture
def shell() -> Iterator[Any]:
    made: Any = InteractiveShell.instance()
    try:
        yield made
    finally:
        made.extension_manager.unload_extension("llmneutral")
        made.history_manager.end_session()
        InteractiveShell.clear_instance()


def state(shell: Any) -> dict[str, Any]:
    """Everything of a shell that an extension may change."""
    hooks = shell.strdispatchers.get("complete_command")
    formatters = {
        kind: (sorted(map(str, formatter.type_printers)), sorted(map(str, formatter.deferred_printers)))
        for kind, formatter in {
            **shell.display_formatter.formatters,
            "mimebundle": shell.display_formatter.mimebundle_formatter,
            "display": shell.display_formatter.ipython_display_formatter,
        }.items()
    }
    return {
        "magics": {kind: sorted(found) for kind, found in shell.magics_manager.magics.items()},
        "registry": sorted(shell.magics_manager.registry),
        "configurables": sorted([type(each).__name__ for each in shell.configurables]),
        "hooks": {str(key): len(list(chain)) for table in (hooks.strs, hooks.regexs) for key, chain in table.items()},
        "matchers": len(shell.Completer.custom_matchers),
        "formatters": formatters,
        "events": {name: len(callbacks) for name, callbacks in shell.events.callbacks.items()},
        "transformers": len(shell.input_transformer_manager.token_transformers),
        "cleanup": len(shell.input_transformer_manager.cleanup_transforms),
        "names": sorted(
            set(shell.user_ns) - {"_", "__", "___"} - {f"_i{n}" for n in range(50)} - {"_i", "_ii", "_iii"}
        ),
    }


def test_load_reload_unload_load_leaves_one_of_each_and_then_none(shell: Any) -> None:
    before = state(shell)
    manager = shell.extension_manager
    manager.load_extension("llmneutral")
    loaded = state(shell)
    assert loaded != before
    assert set(loaded["magics"]["line"]) - set(before["magics"]["line"]) == SIX
    assert set(loaded["magics"]["cell"]) - set(before["magics"]["cell"]) == {"prompt"}
    assert loaded["configurables"].count("PromptMagics") == 1
    assert loaded["names"] == before["names"]
    assert manager.load_extension("llmneutral") == "already loaded"
    manager.reload_extension("llmneutral")
    assert state(shell) == loaded
    manager.unload_extension("llmneutral")
    assert state(shell) == before
    manager.load_extension("llmneutral")
    assert state(shell) == loaded
    manager.unload_extension("llmneutral")
    assert state(shell) == before


def test_unloading_what_was_used_leaves_nothing_either(shell: Any) -> None:
    before = state(shell)
    shell.extension_manager.load_extension("llmneutral")
    for value in (stack(), response(), llmneutral.RateLimitError("x"), llmneutral.drivers_config("local")):
        assert "text/html" in shell.display_formatter.format(value)[0], type(value).__name__
    with capture_output():
        shell.run_cell("%stack list")
    shell.extension_manager.unload_extension("llmneutral")
    after = state(shell)
    assert after["formatters"] == before["formatters"]
    assert after["magics"] == before["magics"]
    assert "text/html" not in shell.display_formatter.format(stack())[0]


def test_unloading_what_is_not_loaded_does_nothing(shell: Any) -> None:
    before = state(shell)
    loading.unload(shell)
    assert state(shell) == before


def test_the_classes_that_show_themselves_are_where_they_are_said_to_be() -> None:
    """They are told to IPython by name, so that loading imports none of them."""
    real = {name: getattr(llmneutral, name).__module__ for name in loading.BUNDLED}
    assert real == loading.BUNDLED
    assert {Exchange.__module__, Exchanges.__module__} == {"llmneutral_widgets.exchange"}


def test_a_value_shows_itself_as_its_view(shell: Any) -> None:
    shell.extension_manager.load_extension("llmneutral")

    def shown(value: Any) -> str:
        return str(shell.display_formatter.format(value)[0]["text/html"])

    assert "7 messages" in shown(stack())
    assert "sunny" in shown(response())
    assert "RateLimitError" in shown(llmneutral.RateLimitError("x"))
    assert "chat_completions" in shown(llmneutral.convert("Hi", "chat"))
    assert "no key needed" in shown(llmneutral.drivers_config("local"))


def test_an_exchange_is_not_shown_twice_by_the_cell_that_made_it(shell: Any) -> None:
    shell.extension_manager.load_extension("llmneutral")
    shell.push({"Exchange": Exchange, "Exchanges": Exchanges, "shell": shell})
    made = "x = Exchange(id='x-1', status='complete', execution_count=shell.displayhook.prompt_count); {}"
    for value in ("x", "several"):
        with capture_output() as first:
            shell.run_cell(made.format("several = Exchanges([x, x]); " + value), store_history=True)
        assert first.outputs == []
        with capture_output() as second:
            shell.run_cell(value, store_history=True)
        (shown,) = second.outputs
        assert shown.data[MIME]["id"] == "x-1"


def test_loading_is_quick_silent_and_light(tmp_path: Path, record_property: Any) -> None:
    """In a kernel of its own: less than 150 ms of work, no output, and nothing heavy imported."""
    with Kernel(tmp_path) as kernel:
        kernel.run("import sys, time, json; modules = set(sys.modules); names = set(globals())")
        ran = kernel.run("began = time.process_time()\n%load_ext llmneutral\nspent = time.process_time() - began")
        told = kernel.run(
            "print(json.dumps([spent, sorted(set(sys.modules) - modules), sorted(set(globals()) - names)]))"
        )
        again = kernel.run("%reload_ext llmneutral\n%unload_ext llmneutral\n%load_ext llmneutral\n%stack list")
    assert ran.outputs == []
    seconds, modules, names = json.loads(told.printed)
    record_property("load_seconds", round(seconds, 3))
    assert seconds < 0.15
    heavy = {"pandas", "nbformat", "ipywidgets", "openai", "anthropic", "pydantic", "xllamacpp", "tenacity"}
    assert heavy & {*modules} == set()
    assert "llmneutral.configs" not in modules
    assert {name for name in names if not name.startswith("_")} == {"names", "began", "spent"}
    assert again.error is None
    assert len(again.outputs) == 1


def test_it_lives_in_the_kernel_alone() -> None:
    """No part of it is installed into a server or a front end, so their versions do not matter to it."""
    found = importlib.metadata.distribution("llmneutral")
    assert {entry.group for entry in found.entry_points} <= {"console_scripts"}
    root = Path(loading.__file__).parent
    assert {path.suffix for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts} <= {
        ".py",
        ".css",
        ".typed",
        "",
    }
    sources = "\n".join([path.read_text("utf-8") for path in root.rglob("*.py")])
    for server in ("jupyter_server", "jupyterlab", "notebook.", "tornado", "jupyter_client", "google.colab"):
        assert f"import {server}" not in sources
        assert f"from {server}" not in sources


def test_a_config_file_names_presets_and_defaults(shell: Any) -> None:
    """What `c.PromptMagics.presets = …` in `ipython_config.py` makes of a shell that is begun with it."""
    shell.config.PromptMagics.presets = {"warm": "openai-chat/gpt-x"}
    shell.config.PromptMagics.provider = "warm"
    shell.extension_manager.load_extension("llmneutral")
    try:
        with capture_output() as captured:
            shell.run_cell("%prompt --dry-run Hi")
    finally:
        del shell.config["PromptMagics"]
    assert captured.outputs[0].data[MIME]["model"] == "gpt-x"


def test_a_bad_preset_in_a_config_file_is_told_by_the_magics(shell: Any) -> None:
    """It must not keep the extension from loading: the magics would then be unknown, and nobody knew why."""
    shell.config.PromptMagics.presets = {"x/y": "openai"}
    shell.extension_manager.load_extension("llmneutral")
    try:
        with capture_output() as captured:
            shell.run_cell("%stack list")
    finally:
        del shell.config["PromptMagics"]
    assert "%config PromptMagics.presets: x/y is no name of a preset" in captured.stderr
