"""Who answers: a dropdown that is bound to `Defaults`."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from html import escape
from typing import Any

from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.notes import calm
from llmneutral_widgets.panels.base import Panel
from llmneutral_widgets.providers import Providers, with_model
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.views.configs import label, offered, picked_page, remedy


class ProviderPicker(Panel):
    """A dropdown that is bound to `Defaults`: a pick sets the base, and it follows what is set in code.

    Attributes:
        dropdown: The configs by name.
        model: The model of the chosen one; any value may be typed.
        mark: What counts while a `with` is active.

    Args:
        providers: The configs by name; those of the library unless given.
    """

    def __init__(self, providers: Providers | None = None) -> None:
        import ipywidgets

        import llmneutral

        super().__init__()
        self._lock = threading.RLock()
        self._following = threading.local()
        self._base: Any = None
        self._inside: Any = None
        self._owned = None if providers is not None else Providers()
        self.providers = providers or self._owned or Providers()
        wide = {"width": _width(()), "max_width": "100%"}
        self.dropdown = ipywidgets.Dropdown(description="Provider", layout=wide, style={"description_width": "5.5em"})
        self.model = ipywidgets.Combobox(
            description="Model",
            layout=wide,
            style={"description_width": "5.5em"},
            continuous_update=False,
            ensure_option=False,
            placeholder="a model's name, then Enter",
        )
        self.mark = ipywidgets.HTML()
        self.status.layout.display = "none"
        both = ipywidgets.HBox([self.dropdown, self.model], layout={"flex_flow": "row wrap"})
        self.children = [self._style, both, self.mark, self.status]
        self._handle = llmneutral.Defaults.subscribe(self.guarded(self.follow))
        with calm():
            self.follow(llmneutral.Defaults)
        self.dropdown.observe(self.guarded(self._pick), "value")
        self.model.observe(self.guarded(self._pick_model), "value")

    def close(self) -> None:
        """Ends the binding, and takes the widget off the page."""
        self._handle.off()
        if self._owned is not None:
            self._owned.close()
        super().close()

    def follow(self, defaults: Any) -> None:
        """Shows what is in effect: called on every change of the base, and when a `with` is entered or left."""
        with self._lock:  # a pick may come in another thread: who comes last has read what is true last
            outer, self._following.here = self._is_following(), True
            try:
                self._mark(defaults.base, defaults.drivers_config)
                self._set(defaults.base)
            finally:
                self._following.here = outer

    def _set(self, base: Any) -> None:
        """Sets lists and values. A new list makes ipywidgets choose its first entry: that is nobody's pick."""
        options = self._options(base.name)
        if base.name not in [name for _, name in options]:
            options.append((base.name, base.name))
        # Guarded against echo by comparing, too: what is set to the value it has sends nothing.
        if [*self.dropdown.options] != options:
            self.dropdown.options = options
            self.dropdown.layout.width = _width([said for said, _ in options])
        if self.dropdown.value != base.name:
            self.dropdown.value = base.name
        models = [model for model in dict.fromkeys([base.model, self._default_model(base.name)]) if model]
        if [*self.model.options] != models:
            self.model.options = models
        if self.model.value != (base.model or ""):
            self.model.value = base.model or ""
        self.say(self._advice(base.name) or "")

    def _advice(self, name: str) -> str | None:
        """What the chosen one lacks, and how it gets it."""
        return next((remedy(row) for row in self.providers.rows() if row["name"] == name), None)

    def _mark(self, base: Any, now: Any) -> None:
        """Says what counts in a block. A pick from outside it (another thread, another task) does not end it."""
        if now is not base or base is self._base:
            self._inside = None if now is base else now
        self._base = base
        names = [escape(each.name) for each in (self._inside, base) if each is not None]
        self.mark.value = "inside <code>with</code>: {} (after it: {})".format(*names) if len(names) > 1 else ""

    def _is_following(self) -> bool:
        """Whether what changes here is what this thread shows, and nobody's pick."""
        return getattr(self._following, "here", False)

    def _options(self, current: str) -> list[tuple[str, str]]:
        return [(label(row), row["name"]) for row in offered(self.providers.rows(), current)]

    def _default_model(self, name: str) -> str | None:
        import llmneutral

        try:
            return llmneutral.drivers_config(name).model
        except llmneutral.ConfigurationError:  # a config or preset of the user's
            return None

    def _pick(self, change: Any) -> None:
        import llmneutral

        base = llmneutral.Defaults.base
        if self._is_following():
            return
        if change["new"] is not None and change["new"] != base.name:
            llmneutral.Defaults.drivers_config = self.providers.config(change["new"])

    def _pick_model(self, change: Any) -> None:
        import llmneutral

        base, model = llmneutral.Defaults.base, str(change["new"]).strip()
        if model and model != base.model and not self._is_following():
            llmneutral.Defaults.drivers_config = with_model(base, model)

    def say(self, text: str, *, is_bad: bool = False) -> None:
        """Tells something below the dropdown; without anything to tell, there is no empty line."""
        super().say(text, is_bad=is_bad)
        self.status.layout.display = None if text else "none"

    def static(self) -> Bundle:
        """Returns who answers, with the table of configs folded below."""
        import llmneutral

        config = llmneutral.Defaults.drivers_config
        rows = offered(plain(self.providers.rows()), config.name)
        said = " · ".join([plain(str(each)) for each in (config.name, config.model) if each])
        data = {"text/html": str(picked_page(rows, config.name, said)), "text/plain": f"Provider: {config.name}"}
        return Bundle(data)

    def show(self) -> None:
        """Shows it, as things are now."""
        import llmneutral

        self.follow(llmneutral.Defaults)
        super().show()


def _width(labels: Iterable[str]) -> str:
    """The width of a field in which the longest of some labels is not clipped, beside its description and its arrow."""
    return f"{8 + 0.55 * max([24, *map(len, labels)]):.0f}em"


class _Kernel:
    """The picker of this kernel: shown again, it is the same one."""

    def __init__(self) -> None:
        self.picker: ProviderPicker | None = None


_KERNEL = _Kernel()


def picker(providers: Providers) -> ProviderPicker:
    """Returns the picker of this kernel, made when it is first asked for."""
    if _KERNEL.picker is None or _KERNEL.picker.providers is not providers:
        close()
        _KERNEL.picker = ProviderPicker(providers)
    return _KERNEL.picker


def close() -> None:
    """Takes the picker of this kernel away."""
    found, _KERNEL.picker = _KERNEL.picker, None
    if found is not None:
        found.close()
