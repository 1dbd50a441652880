"""Drives a real front end, JupyterLab or Notebook 7, in a headless browser.

```python
with Jupyter(folder, app="lab") as jupyter:
    page = jupyter.open(["%load_ext llmneutral", "%stack"])          # sources of cells, or the path of a notebook
    page.run_all()
    assert page.errors() == []
    page.output(1).get_by_text("No messages yet").hover()            # a locator of Playwright
    page.screenshot(folder / "stack.png", cell=1)
    assert page.external == []                                       # nothing was asked for outside
```

* The server listens on 127.0.0.1 with a port and a token of its own; HOME, Jupyter's and IPython's folders lie in
  `folder`: nothing of the person running the tests leaks in, and nothing of theirs is changed.
* Every request that does not go to that server is aborted, and noted in `page.external`.
* Leaving the `with` block ends exactly the processes it started, also after a failure.

What to know before writing a test: assert on the notebook's model (`outputs`, `mimes`) and on roles, because a text
selector also finds source code. A kernel that is idle does not mean that the browser has painted, nor that a widget
has answered: wait for what you look for, never sleep. Cells far from the viewport may have no elements yet: `output`
scrolls there first. A notebook that holds outputs and was not saved by this server is *untrusted*: its view is
sanitised.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Locator, Page, Route, sync_playwright

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync --disable-background-networking "
    "--disable-component-update"
).split()
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
ANNOUNCEMENTS = "@jupyterlab/apputils-extension:announcements"
"""Its toast covers the page, and calls out."""
_CELLS = "window.jupyterapp.shell.currentWidget.content.model.cells"
_KERNEL_IDLE = """() => {
    const panel = window.jupyterapp && window.jupyterapp.shell.currentWidget;
    const session = panel && panel.context && panel.context.sessionContext;
    const kernel = session && session.isReady && session.session && session.session.kernel;
    return !!kernel && kernel.status === 'idle';
}"""
_EXECUTE = """([name, args]) => {
    window.rigDone = false;
    window.jupyterapp.commands.execute(name, args || undefined).finally(() => { window.rigDone = true; });
}"""


def chromium() -> str | None:
    """The path of a Chromium to drive, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def notebook(cells: Iterable[str]) -> dict[str, Any]:
    """A notebook of code cells, as plain data."""
    empty: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    made = [{**empty, "id": f"cell-{i}", "source": source.strip()} for i, source in enumerate(cells)]
    spec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return {"cells": made, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}


class Jupyter:
    """A server and a browser, both private to one test module.

    Args:
        folder: Everything is written below it; notebooks in `folder/root`.
        app: "lab" or "notebook".
        theme: "light" or "dark"; `NotebookPage.set_theme` changes it later.
        env: Further environment of the server and its kernels.
        viewport: Size of the page in CSS pixels.
        timeout: Seconds to wait for anything.
    """

    def __init__(
        self,
        folder: Path,
        app: str = "lab",
        *,
        theme: str = "light",
        env: Mapping[str, str] | None = None,
        viewport: tuple[int, int] = (1280, 900),
        timeout: float = 60,
    ) -> None:
        self.app, self.theme, self.viewport, self.timeout = app, theme, viewport, timeout
        self.folder = folder.resolve()
        self.root = self.folder / "root"
        self.token = secrets.token_hex(16)
        self.base = ""
        self._env = dict(env or {})
        self._server: subprocess.Popen[bytes] | None = None
        self._count = 0

    def __enter__(self) -> Self:
        executable = chromium()
        if executable is None:
            raise RuntimeError("no Chromium found; install one or set $CHROMIUM")
        self._write_settings()
        self._start()
        try:
            self._playwright = sync_playwright().start()
            self._browser = self._playwright.chromium.launch(executable_path=executable, args=FLAGS)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._browser.close()
            self._playwright.stop()
        finally:
            self._stop()

    # --- the server -----------------------------------------------------------------------------

    def _write_settings(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        pages = self.folder / "config" / "labconfig"
        pages.mkdir(parents=True, exist_ok=True)
        (pages / "page_config.json").write_text(json.dumps({"disabledExtensions": {ANNOUNCEMENTS: True}}))
        themes = self.folder / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
        themes.parent.mkdir(parents=True, exist_ok=True)
        themes.write_text(json.dumps({"theme": THEMES[self.theme]}))

    def _environment(self) -> dict[str, str]:
        folders = {
            "HOME": "",
            "IPYTHONDIR": "ipython",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        }
        own = {name: str(self.folder / place) for name, place in folders.items()}
        return {**os.environ, **own, "JUPYTER_PLATFORM_DIRS": "1", **self._env}

    def _command(self) -> list[str]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        options = [
            f"--port={port}",
            f"--ServerApp.root_dir={self.root}",
            f"--IdentityProvider.token={self.token}",
            *"--no-browser --allow-root --ip=127.0.0.1 --ServerApp.port_retries=0".split(),
            *"--LabApp.expose_app_in_browser=True --JupyterNotebookApp.expose_app_in_browser=True".split(),
        ]
        return [sys.executable, "-m", "jupyter", "lab" if self.app == "lab" else "notebook", *options]

    def _start(self) -> None:
        log = self.folder / "server.log"
        with log.open("wb") as sink:
            self._server = subprocess.Popen(
                self._command(),
                env=self._environment(),
                cwd=self.root,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                with urllib.request.urlopen(f"{self.base}/api/status?token={self.token}", timeout=self.timeout):
                    return
            except (urllib.error.URLError, OSError):
                if self._server.poll() is not None or time.monotonic() > deadline:
                    self._stop()
                    raise RuntimeError(f"the server did not start:\n{log.read_text()[-3000:]}") from None
                time.sleep(0.1)

    def _stop(self) -> None:
        """Ends the server and its kernels: the process group that this object started, nothing else."""
        server, self._server = self._server, None
        if server is None or server.poll() is not None:
            return
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(10)

    # --- pages ----------------------------------------------------------------------------------

    def open(self, source: Path | Iterable[str], name: str | None = None) -> NotebookPage:
        """Opens a notebook in a page of its own and waits for its kernel.

        Args:
            source: Sources of cells, or the path of a notebook, which is copied.
            name: What to call the copy.
        """
        self._count += 1
        name = name or f"test{self._count}.ipynb"
        if isinstance(source, Path):
            shutil.copy(source, self.root / name)
        else:
            (self.root / name).write_text(json.dumps(notebook(source)), encoding="utf-8")
        width, height = self.viewport
        context = self._browser.new_context(viewport={"width": width, "height": height})
        context.set_default_timeout(self.timeout * 1000)
        page = NotebookPage(self, context.new_page(), name)
        page.reload()
        return page


class NotebookPage:
    """One open notebook. `page` is Playwright's own object, for everything that has no method here."""

    def __init__(self, jupyter: Jupyter, page: Page, name: str) -> None:
        self.jupyter, self.page, self.name = jupyter, page, name
        self.external: list[str] = []
        self._console: list[str] = []
        page.context.route("**/*", self._route)
        page.on("console", lambda message: self._console.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self._console.append(f"uncaught: {error}"))

    def _route(self, route: Route) -> None:
        url = route.request.url
        if url.startswith((self.jupyter.base, "data:", "blob:")):
            route.continue_()
        else:
            self.external.append(url)
            route.abort()

    def console_errors(self) -> list[str]:
        """What the page logged as errors, without the echo of the requests that were aborted."""
        return [text for text in self._console if "ERR_FAILED" not in text]

    def close(self) -> None:
        """Ends the kernel and closes the page."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")
        self.page.context.close()

    # --- doing ----------------------------------------------------------------------------------

    def reload(self) -> None:
        """Loads (again), as a reader of the saved file would see it; the kernel lives on."""
        # A workspace of its own: otherwise Lab restores the notebooks of earlier pages, and they hide this one.
        own = f"lab/workspaces/{self.name.removesuffix('.ipynb')}/tree"
        folder = own if self.jupyter.app == "lab" else "notebooks"
        self.page.goto(f"{self.jupyter.base}/{folder}/{self.name}?token={self.jupyter.token}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.wait_idle()

    def wait_idle(self) -> None:
        """Waits until the kernel is connected and has nothing to do."""
        self.page.wait_for_function(_KERNEL_IDLE)

    def run_all(self) -> None:
        """Runs every cell and waits for the last one. A failing cell does not raise: look at `errors`."""
        self.command("notebook:run-all-cells")
        self.wait_idle()

    def run(self, cell: int, *, wait: bool = True) -> None:
        """Runs one cell; with `wait=False` returns at once, to act while it runs."""
        self.page.evaluate("i => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = i; }", cell)
        self.command("notebook:run-cell", wait=wait)
        if wait:
            self.wait_idle()

    def interrupt(self) -> None:
        """Presses the kernel's stop button."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.interrupt()"
        )

    def command(self, name: str, args: Any = None, *, wait: bool = True) -> None:
        """Runs a command of the front end; with `wait`, until it has ended."""
        self.page.evaluate(_EXECUTE, [name, args])
        if wait:
            self.page.wait_for_function("() => window.rigDone", timeout=self.jupyter.timeout * 1000)

    def set_theme(self, theme: str) -> None:
        """Switches between "light" and "dark" in the running page."""
        flag = "true" if theme == "light" else "false"
        self.command("apputils:change-theme", {"theme": THEMES[theme]})
        self.page.wait_for_function(f"() => document.body.dataset.jpThemeLight === '{flag}'")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")  # Lab covers the page while it repaints

    def save(self) -> dict[str, Any]:
        """Saves, and reads the file back."""
        self.command("docmanager:save")
        saved: dict[str, Any] = json.loads((self.jupyter.root / self.name).read_text(encoding="utf-8"))
        return saved

    # --- looking --------------------------------------------------------------------------------

    def outputs(self, cell: int) -> list[dict[str, Any]]:
        """The outputs in the notebook's model: what will be saved."""
        found: list[dict[str, Any]] = self.page.evaluate(f"i => {_CELLS}.get(i).toJSON().outputs", cell)
        return found

    def mimes(self, cell: int) -> list[str]:
        """The MIME types the cell's outputs offer."""
        return [mime for output in self.outputs(cell) for mime in output.get("data", {})]

    def errors(self) -> list[str]:
        """Name and message of every error output, in the order of the cells."""
        cells = self.page.evaluate(
            f"() => [...Array({_CELLS}.length).keys()].map(i => {_CELLS}.get(i).toJSON().outputs || [])"
        )
        return [f"{o['ename']}: {o['evalue']}" for outputs in cells for o in outputs if o["output_type"] == "error"]

    def scroll_to(self, cell: int) -> None:
        """Scrolls a cell to the top."""
        self.page.evaluate("i => window.jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')", cell)

    def output(self, cell: int) -> Locator:
        """The cell's output area, scrolled into view."""
        self.scroll_to(cell)
        area = self.page.locator(".jp-Cell").nth(cell).locator(".jp-OutputArea").first
        area.wait_for()
        return area

    def text(self, cell: int) -> str:
        """What a reader sees below the cell."""
        return self.output(cell).inner_text()

    def wait_text(self, cell: int, text: str) -> None:
        """Waits until the cell's output area shows a text."""
        self.output(cell).get_by_text(text).first.wait_for()

    def screenshot(self, path: Path, cell: int | None = None) -> Path:
        """Writes a picture of the page, or of one cell's output area."""
        (self.page if cell is None else self.output(cell)).screenshot(path=str(path))
        return path
