"""The child process that holds the embedded model: `python -m llmneutral.drivers.local_child`.

The parent (`llmneutral.drivers.local_server`) writes one line of JSON settings to stdin, so that the key is in no
process list, and reads one line of JSON from stdout: `{"ok": true, "address": "http://127.0.0.1:PORT"}` or
`{"ok": false, "reason": ..., "error": ...}`. The child serves until stdin ends, which is also what it sees when the
parent is killed, and then leaves at once: the engine's destructor can wait for ever on a request in flight.

Nothing here runs in the user's process. llama.cpp may abort, spin or hold the interpreter's lock; a notebook must not.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, TextIO


def main() -> None:
    """Serves the embedded model until stdin ends; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = json.loads(sys.stdin.buffer.readline())
    # After the standard library and the child's own site-packages: what the parent can import, the child can too.
    sys.path.extend(entry for entry in settings["sys_path"] if entry not in sys.path)
    answer = _own_stdout()
    try:
        server = _start(settings)
    except BaseException as error:  # noqa: BLE001 -- the parent reports it; here is nobody who could
        _say(answer, {"ok": False, "reason": type(error).__name__, "error": str(error)})
        os._exit(1)
    _say(answer, {"ok": True, "address": server.listening_address})
    sys.stdin.buffer.read()
    os._exit(0)


def _own_stdout() -> TextIO:
    """Keeps stdout for the answer alone and sends whatever C++ prints to stderr."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answer


def _say(answer: TextIO, message: dict[str, Any]) -> None:
    answer.write(json.dumps(message) + "\n")
    answer.flush()


def _start(settings: dict[str, Any]) -> Any:
    import xllamacpp

    return xllamacpp.Server(_parameters(xllamacpp.CommonParams(), settings))


def _parameters(params: Any, settings: dict[str, Any]) -> Any:
    """Fills llama.cpp's `common_params`; a setting that this release does not know is left out.

    The names are those of https://github.com/ggml-org/llama.cpp/blob/master/common/common.h; they come and go.
    """
    params.model.path = settings["model"]
    params.port = settings["port"]
    params.api_keys = [settings["api_key"]]
    params.n_parallel = settings["n_parallel"]
    params.n_ctx = settings["n_ctx"] * settings["n_parallel"]  # the total: every slot gets its share
    params.cpuparams.n_threads = settings["n_threads"]
    params.use_jinja = True
    # A template that knows thinking starts with it on.
    params.default_template_kwargs = {"enable_thinking": "false"}
    if settings["chat_template"]:
        params.chat_template = settings["chat_template"]
    _listen_on_loopback(params)
    _set_known(
        params,
        verbosity=settings["verbosity"],
        model_alias={settings["alias"]},  # unset, answers would show the path of the file
        cors_origins="localhost",  # the default lets every web page call the port, with credentials
        cors_credentials=False,
        ui=False,
        endpoint_slots=False,
        endpoint_props=False,
        warmup=False,  # the parent's first request does it
        fit_params=False,  # the settings are what they are; measuring the memory takes a tenth of a second
        cache_ram_mib=settings["cache_ram_mib"],  # the default may keep 8 GiB of saved prompts
        cache_prompt=settings["cache_prompt"],
        n_predict=settings["max_tokens"],
        sse_ping_interval=settings["sse_ping_interval"],
    )
    # For requests that say nothing.
    _set_known(params.sampling, **{name: value for name, value in settings["sampling"].items() if value is not None})
    return params


def _listen_on_loopback(params: Any) -> None:
    if hasattr(params, "hostnames"):  # xllamacpp >= 2026.10
        params.hostnames = ["127.0.0.1"]
    else:
        params.hostname = "127.0.0.1"


def _set_known(target: Any, **values: Any) -> None:
    for name, value in values.items():
        if hasattr(target, name):
            setattr(target, name, value)


if __name__ == "__main__":
    main()
