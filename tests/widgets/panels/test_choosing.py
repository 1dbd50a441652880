"""The picker and `Defaults` always agree, whoever moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

import pytest

import llmneutral
from llmneutral import Defaults
from llmneutral_widgets import panels
from llmneutral_widgets.panels import ProviderPicker
from llmneutral_widgets.providers import Providers

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of ipywidgets, when it is imported


@pytest.fixture
def picker() -> Iterator[ProviderPicker]:
    before = Defaults.drivers_config if Defaults.is_set else None
    Defaults.drivers_config = llmneutral.drivers_config("local")
    made = ProviderPicker()
    yield made
    made.close()
    Defaults.drivers_config = before


def labels(picker: ProviderPicker) -> dict[str, str]:
    return {value: label for label, value in picker.dropdown.options}


def test_a_pick_sets_the_base(picker: ProviderPicker) -> None:
    picker.dropdown.value = "local-messages"
    assert Defaults.base.name == "local-messages"
    assert Defaults.drivers_config.prompt_driver.api_mode == "anthropic_messages"
    assert picker.last_error is None


def test_it_follows_what_code_sets(picker: ProviderPicker) -> None:
    Defaults.drivers_config = llmneutral.drivers_config("anthropic")
    assert picker.dropdown.value == "anthropic"
    assert picker.model.value == "claude-sonnet-5-5"


def test_it_says_what_is_missing(picker: ProviderPicker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert labels(picker)["openai"] == "openai (no key)"
    assert labels(picker)["local"].startswith("local (embedded model")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    picker.follow(Defaults)
    assert labels(picker)["openai"] == "openai"
    assert labels(picker)["bedrock"] in ("bedrock (no AWS credentials)", "bedrock (SDK not installed)")


def test_the_longest_label_is_not_clipped(picker: ProviderPicker) -> None:
    """What stands beside the field's description and its arrow, at 0.55 em a letter; never wider than the page."""
    longest = max(map(len, labels(picker).values()))
    width = float(picker.dropdown.layout.width.removesuffix("em"))
    assert 5.5 + 2 + 0.55 * longest <= width <= 28, "the model stands beside it"
    assert picker.dropdown.layout.max_width == "100%"


def test_what_can_answer_now_comes_first_and_what_never_will_is_not_offered(
    picker: ProviderPicker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {"replay", "dummy"} & {*labels(picker)} == set()
    assert labels(picker)["server"] == "server (your own; no model)"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    picker.follow(Defaults)
    names = [*labels(picker)]
    assert labels(picker)["anthropic"] == "anthropic"
    assert names.index("anthropic") < names.index("openai")
    Defaults.drivers_config = llmneutral.drivers_config("dummy")
    assert labels(picker)["dummy"] == "dummy (answers nothing)", "what is in effect is never hidden"


def test_whoever_cannot_answer_yet_is_told_how_to(picker: ProviderPicker, monkeypatch: pytest.MonkeyPatch) -> None:
    picker.dropdown.value = "anthropic"
    assert "anthropic cannot answer yet: %provider key anthropic asks for its key" in picker.status.value
    assert picker.status.layout.display is None
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    picker.follow(Defaults)
    assert "cannot answer" not in picker.status.value
    assert picker.status.layout.display == "none"


def test_a_new_list_picks_nobody(picker: ProviderPicker, monkeypatch: pytest.MonkeyPatch) -> None:
    """ipywidgets chooses the first entry of a new list; whoever listens to `Defaults` must not hear of it."""
    heard: list[str] = []
    handle = Defaults.subscribe(lambda defaults: heard.append(defaults.base.name))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    picker.follow(Defaults)
    assert picker.dropdown.options[0] == ("openai", "openai")
    assert picker.dropdown.value == "local"
    assert heard == []
    picker.dropdown.value = "openai"
    handle.off()
    assert heard == ["openai"]


def test_a_pick_and_back_keeps_the_very_config(picker: ProviderPicker) -> None:
    """With its key and its settings."""
    mine = llmneutral.AnthropicDriversConfig(api_key="sk-ant-0123456789", model="claude-mine")
    Defaults.drivers_config = mine
    assert labels(picker)["anthropic"] == "anthropic"
    picker.dropdown.value = "local"
    picker.dropdown.value = "anthropic"
    assert Defaults.base is mine


def test_a_config_with_a_name_of_its_own_becomes_an_option(picker: ProviderPicker) -> None:
    class Mine(llmneutral.OpenAiDriversConfig):
        @property
        def name(self) -> str:
            return "mine"

    Defaults.drivers_config = Mine()
    assert picker.dropdown.value == "mine"
    picker.dropdown.value = "local"
    picker.dropdown.value = "mine"
    assert isinstance(Defaults.base, Mine)


def test_inside_a_with_block_it_shows_the_base_and_marks_what_counts(picker: ProviderPicker) -> None:
    with llmneutral.drivers_config("anthropic"):
        assert picker.dropdown.value == "local"
        assert picker.mark.value == "inside <code>with</code>: anthropic (after it: local)"
        picker.dropdown.value = "openai"
        assert Defaults.drivers_config.name == "anthropic", "a pick never changes the running block"
        assert Defaults.base.name == "openai"
    assert picker.mark.value == ""
    assert Defaults.drivers_config.name == "openai"


def test_a_pick_in_another_thread_reaches_this_one(picker: ProviderPicker) -> None:
    """As ipykernel serves widgets while a cell runs."""
    thread = threading.Thread(target=copy_context().run, args=(setattr, picker.dropdown, "value", "openai"))
    thread.start()
    thread.join()
    assert Defaults.drivers_config.name == "openai"


def elsewhere(act: Callable[[], object]) -> None:
    """Does something in another thread, as ipykernel 7.0 to 7.3 does with callbacks while a cell runs."""
    thread = threading.Thread(target=act)  # a context of its own: it knows of no `with`
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_a_pick_from_outside_a_block_leaves_the_mark_of_the_block(picker: ProviderPicker) -> None:
    with llmneutral.drivers_config("anthropic"):
        elsewhere(lambda: setattr(picker.dropdown, "value", "openai"))
        assert Defaults.drivers_config.name == "anthropic"
        assert picker.mark.value == "inside <code>with</code>: anthropic (after it: openai)"
    assert picker.mark.value == ""
    assert Defaults.drivers_config.name == picker.dropdown.value == "openai"


@pytest.mark.parametrize("moment", ["_options", "_default_model"])
def test_a_pick_while_another_thread_is_following_is_neither_lost_nor_undone(
    picker: ProviderPicker, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The block ends, and in the midst of showing that, somebody picks."""
    original = getattr(picker, moment)
    picked: list[threading.Thread] = []

    def held(*given: Any) -> Any:
        if not picked:
            picked.append(threading.Thread(target=setattr, args=(picker.dropdown, "value", "openai")))
            picked[0].start()
            picked[0].join(0.2)  # it shows only when this one has shown
        return original(*given)

    monkeypatch.setattr(picker, moment, held)
    with llmneutral.drivers_config("anthropic"):
        pass
    picked[0].join(10)
    assert (Defaults.base.name, Defaults.base.model) == ("openai", llmneutral.drivers_config("openai").model)
    assert (picker.dropdown.value, picker.model.value) == ("openai", Defaults.base.model)
    assert picker.mark.value == ""


def test_the_model_is_another_field_that_takes_any_value(picker: ProviderPicker) -> None:
    Defaults.drivers_config = llmneutral.drivers_config("openai")
    picker.model.value = "gpt-of-mine"
    assert Defaults.base.model == "gpt-of-mine"
    assert Defaults.base.name == "openai"
    assert "gpt-6-luna" in picker.model.options, "the way back is suggested"
    picker.model.value = " "
    assert Defaults.base.model == "gpt-of-mine", "an empty field means nothing"


def test_two_pickers_agree(picker: ProviderPicker) -> None:
    other = ProviderPicker()
    other.dropdown.value = "anthropic"
    assert picker.dropdown.value == "anthropic"
    other.close()
    picker.dropdown.value = "local"
    assert other.dropdown.value == "anthropic", "one that is closed follows no more"


def test_what_fails_is_told_in_the_widget_and_nowhere_else(
    picker: ProviderPicker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no <list> for sk-0123456789abcdef")

    monkeypatch.setattr(Providers, "rows", fails)
    Defaults.drivers_config = llmneutral.drivers_config("openai")
    assert isinstance(picker.last_error, RuntimeError)
    told = '<div class="llmn-said bad" role="status" aria-live="polite">RuntimeError: no &lt;list&gt; for •••</div>'
    assert picker.status.value == told
    assert capsys.readouterr() == ("", "")
    monkeypatch.undo()
    Defaults.drivers_config = llmneutral.drivers_config("local")
    assert picker.last_error is None
    assert "RuntimeError" not in picker.status.value


def test_controls_have_names(picker: ProviderPicker) -> None:
    assert picker.dropdown.description == "Provider"
    assert picker.model.description == "Model"


def test_where_there_are_no_widgets_it_is_a_table(picker: ProviderPicker) -> None:
    bundle = picker._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert "no key needed" in bundle["text/html"]
    assert bundle["text/plain"] == "Provider: local"


def test_the_picker_of_a_kernel_is_one() -> None:
    providers = Providers()
    try:
        Defaults.drivers_config = llmneutral.drivers_config("local")
        first = panels.picker(providers)
        assert panels.picker(providers) is first
        panels.close()
        assert panels.picker(providers) is not first
    finally:
        panels.close()
        providers.close()
        Defaults.drivers_config = None
