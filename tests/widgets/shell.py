"""An IPython shell in this process, with or without the looks of a kernel's, and a driver that answers by script."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import llmneutral
from llmneutral_widgets import session


class Echo(llmneutral.BasePromptDriver):
    """Answers with the question in capitals; it fails at the word `fail`, and is interrupted at `stop`."""

    needs_key = False

    def __init__(self, model: str = "echo-1") -> None:
        super().__init__(model, api_mode="chat_completions")
        self.stacks: list[llmneutral.PromptStack] = []

    def try_stream(self, prompt_stack: llmneutral.PromptStack) -> Iterator[llmneutral.DeltaMessage]:
        self.stacks.append(prompt_stack)
        yield llmneutral.DeltaMessage("start", id="e", model=self.model)
        question = prompt_stack.messages[-1].to_text()
        for word in question.upper().split():
            yield llmneutral.DeltaMessage("text", llmneutral.TextDeltaMessageContent(f"{word} "))
            if word == "STOP":
                raise KeyboardInterrupt
            if word == "FAIL":
                raise llmneutral.InvalidRequestError("it failed", status=400, hint="Ask something else.")
        usage = llmneutral.Usage(input_total=10, output_total=len(question.split()))
        yield llmneutral.DeltaMessage("usage", usage=usage)
        yield llmneutral.DeltaMessage("finish", finish_reason="stop")

    def texts(self, number: int = -1) -> list[str]:
        """The messages of a request, as text."""
        return [f"{message.role}: {message.to_text()}" for message in self.stacks[number].messages]


class Cells:
    """Runs cells in a shell.

    Args:
        shell: The shell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell: Any = shell

    def run(self, code: str, cell_id: str | None = None) -> SimpleNamespace:
        """Runs a cell: `outputs` (bundles), `html`, `printed`, `error` (the exception, or None), `value`."""
        with capture_output() as captured:
            result = self.shell.run_cell(code, store_history=True, cell_id=cell_id)
        bundles = _kept(captured.outputs)
        return SimpleNamespace(
            outputs=bundles,
            html="\n".join([bundle.get("text/html", "") for bundle in bundles]),
            plain="\n".join([bundle.get("text/plain", "") for bundle in bundles]),
            printed=captured.stdout + captured.stderr,
            error=result.error_before_exec or result.error_in_exec,
            value=result.result,
        )


def _kept(outputs: Any) -> list[dict[str, Any]]:
    """The outputs as a front end keeps them: what is updated is one output."""
    kept: dict[str, dict[str, Any]] = {}
    for number, output in enumerate(outputs):
        kept[str((output.transient or {}).get("display_id", number))] = output.data
    return list(kept.values())


@contextlib.contextmanager
def running(*, is_kernel: bool) -> Iterator[Cells]:
    """A shell with the extension loaded and `echo` in its names; nothing of it is left afterwards."""
    shell: Any = InteractiveShell.instance()
    before = llmneutral.Defaults.drivers_config if llmneutral.Defaults.is_set else None
    if is_kernel:
        shell.kernel = SimpleNamespace()
    try:
        shell.extension_manager.load_extension("llmneutral")
        shell.user_ns["echo"] = Echo()
        yield Cells(shell)
    finally:
        shell.extension_manager.unload_extension("llmneutral")
        session.close()
        llmneutral.Defaults.drivers_config = before  # None makes it lazy again
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()
