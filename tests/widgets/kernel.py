"""A real kernel in a process of its own, spoken to as a front end does: cells with ids, outputs as they would be saved.

```python
with Kernel(folder, PROMPTS_KEY="…") as kernel:
    ran = kernel.run("%load_ext llmneutral", cell_id="first")
    ran.outputs, ran.error, ran.octets
```
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.conftest import ROOT

PATIENCE = 60.0
_MOMENT = 0.1
HTML, PLAIN = "text/html", "text/plain"


class Ran(msgspec.Struct):
    """What running one cell came to.

    Attributes:
        outputs: As a notebook saves them: an updated display is one output.
        error: Name of the exception the reply tells, or None.
        said: Its message.
        messages: Number of messages on the iopub socket.
        octets: Their bytes, envelopes included.
        biggest: Bytes of the biggest one.
        seconds: From the request to the end.
    """

    outputs: list[dict[str, Any]] = msgspec.field(default_factory=list)
    error: str | None = None
    said: str = ""
    messages: int = 0
    octets: int = 0
    biggest: int = 0
    seconds: float = 0.0

    @property
    def html(self) -> str:
        """The HTML of all outputs."""
        return "\n".join([str(output["data"].get(HTML, "")) for output in self.outputs if "data" in output])

    @property
    def plain(self) -> str:
        """The plain text of all outputs."""
        return "\n".join([str(output["data"].get(PLAIN, "")) for output in self.outputs if "data" in output])

    @property
    def printed(self) -> str:
        """What was written to the standard streams."""
        return "".join([output["text"] for output in self.outputs if output["output_type"] == "stream"])

    def data(self, mime: str) -> Any:
        """The data of the only output that has it."""
        (found,) = [output["data"][mime] for output in self.outputs if mime in output.get("data", {})]
        return found


class Kernel:
    """A kernel; a context manager.

    Args:
        folder: Where it runs, and where IPython keeps its files.
        **environment: Variables it is given beside the test's own.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            "IPYTHONDIR": str(folder / "ipython"),
            "PYTHONPATH": str(ROOT),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            **environment,
        }
        self._manager = KernelManager(kernel_name="python3")
        self._client: BlockingKernelClient | None = None
        self._displays: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        self._manager.start_kernel(
            env=self._environment, cwd=str(self.folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=PATIENCE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()

    @property
    def client(self) -> BlockingKernelClient:
        """The client, once it is started."""
        assert self._client is not None
        return self._client

    def interrupt(self) -> None:
        """Sends the kernel the signal that a front end's stop button sends."""
        self._manager.interrupt_kernel()

    def run(
        self,
        code: str,
        *,
        cell_id: str | None = None,
        seen: Callable[[Mapping[str, Any]], object] | None = None,
        stop_on_error: bool = True,
    ) -> Ran:
        """Runs a cell and waits for its end.

        Args:
            code: The cell.
            cell_id: Its id, as front ends tell it.
            seen: Called with every message of the iopub socket, as it comes.
            stop_on_error: Whether an error of it aborts cells that wait.
        """
        sent = self.send(code, cell_id=cell_id, stop_on_error=stop_on_error)
        return self.wait(sent, seen)

    def send(self, code: str, *, cell_id: str | None = None, stop_on_error: bool = True) -> str:
        """Sends a cell and does not wait; returns the id of the request."""
        client = self.client
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": stop_on_error,
        }
        message = client.session.msg("execute_request", content, metadata={"cellId": cell_id} if cell_id else {})
        client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def wait(self, sent: str, seen: Callable[[Mapping[str, Any]], object] | None = None) -> Ran:
        """Collects what a cell shows until it has ended."""
        ran, began = Ran(), time.monotonic()
        while time.monotonic() - began < PATIENCE:
            message, octets = self._next()
            if message["parent_header"].get("msg_id") != sent:
                continue
            ran.messages, ran.octets, ran.biggest = ran.messages + 1, ran.octets + octets, max(ran.biggest, octets)
            _keep(message, ran, self._displays)
            if seen is not None:
                seen(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                ran.seconds = time.monotonic() - began
                self._reply(sent, ran)
                return ran
        raise TimeoutError(f"the cell did not end within {PATIENCE:.0f} s; so far: {ran}")

    def _next(self) -> tuple[Mapping[str, Any], int]:
        """The next message of the iopub socket, and its bytes on the wire."""
        socket = self.client.iopub_channel.socket
        assert socket is not None
        if not socket.poll(int(PATIENCE * 1000)):
            raise TimeoutError("the kernel is silent")
        parts = socket.recv_multipart()
        _, rest = self.client.session.feed_identities(parts)
        return self.client.session.deserialize(rest), sum(map(len, parts))

    def _reply(self, sent: str, ran: Ran) -> None:
        while True:
            reply = self.client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"].get("msg_id") == sent:
                break
        content = reply["content"]
        if content["status"] != "ok":
            ran.error, ran.said = content.get("ename", content["status"]), content.get("evalue", "")

    def complete(self, code: str) -> list[str]:
        """What TAB offers at the end of a cell."""
        reply = self.client.complete(code, reply=True, timeout=PATIENCE)
        found: list[str] = reply["content"]["matches"]
        return found

    def interrupted_when(self, is_time: Callable[[Mapping[str, Any]], bool]) -> Interrupting:
        """Returns what `run(seen=…)` takes to press the stop button once, when a message says that it is time."""
        return Interrupting(self, is_time)


class Interrupting:
    """Presses the stop button once, a moment after it is time; `at` is when.

    The moment: a signal that comes in the microseconds between Python's last look and a blocking read is seen only
    after the read, as in every Python program. On a busy machine a test would hit them.
    """

    def __init__(self, kernel: Kernel, is_time: Callable[[Mapping[str, Any]], bool]) -> None:
        self._kernel = kernel
        self._is_time = is_time
        self.at: float | None = None

    def __call__(self, message: Mapping[str, Any]) -> None:
        if self.at is None and self._is_time(message):
            time.sleep(_MOMENT)
            self.at = time.monotonic()
            self._kernel.interrupt()


def _keep(message: Mapping[str, Any], ran: Ran, displays: dict[str, dict[str, Any]]) -> None:
    """Keeps an output as a front end does."""
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        last = ran.outputs[-1] if ran.outputs else {}
        if last.get("output_type") == "stream" and last["name"] == content["name"]:
            last["text"] += content["text"]
        else:
            ran.outputs.append({"output_type": kind, **content})
    elif kind in ("display_data", "execute_result"):
        output = {"output_type": kind, "data": content["data"], "metadata": content["metadata"]}
        ran.outputs.append(output)
        if display_id := content.get("transient", {}).get("display_id"):
            displays[display_id] = output
    elif kind == "update_display_data":
        output = displays[content["transient"]["display_id"]]
        output["data"], output["metadata"] = content["data"], content["metadata"]
    elif kind == "error":
        ran.outputs.append({"output_type": kind, **content})
