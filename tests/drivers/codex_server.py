"""A `codex app-server` that plays a script: `python -I -S codex_server.py SCRIPT LOG app-server`.

SCRIPT is JSON: `{"turns": [[step, …], …], "results": {method: result}, "errors": {method: error}}`. A step is a
notification or a request (it has an `id`: the answer is waited for), or `"die"`, or `"hold"`: silent until the turn is
interrupted. `threadId` and `turnId` are filled in. Every line that comes in is written to LOG. The lines are those of
codex 0.171.0.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

script = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
threads = turns = 0


def heard() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    with open(sys.argv[2], "a", encoding="utf-8") as log:
        log.write(line)
    found: dict[str, Any] = json.loads(line)
    return found


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def wait_for(wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    while True:
        message = heard()
        if wanted(message):
            return message
        if "id" in message:
            say({"id": message["id"], "result": {}})


def answers(number: Any) -> Callable[[dict[str, Any]], bool]:
    return lambda message: message.get("id") == number and "method" not in message


def turn(message: dict[str, Any]) -> None:
    global turns
    turns += 1
    about = {"threadId": message["params"]["threadId"], "turnId": f"turn{turns}"}
    doing = {"id": about["turnId"], "items": [], "status": "inProgress", "error": None}
    say({"id": message["id"], "result": {"turn": doing}})
    say({"method": "turn/started", "params": {**about, "turn": doing}})
    for step in script["turns"].pop(0):
        if step == "die":
            sys.stderr.write("something\nthe last words\n")
            sys.stderr.flush()
            os._exit(3)
        elif step == "hold":
            asked = wait_for(lambda m: m.get("method") == "turn/interrupt")
            say({"id": asked["id"], "result": {}})
            say({"method": "turn/completed", "params": {**about, "turn": {**doing, "status": "interrupted"}}})
            return
        elif step["method"] == "turn/completed":
            say({"method": "turn/completed", "params": {**about, "turn": {**doing, **step["params"]["turn"]}}})
        else:
            say({**step, "params": {**about, **step["params"]}})
            if "id" in step:
                wait_for(answers(step["id"]))


say({"method": "configWarning", "params": {"summary": "s", "details": None}})
while True:
    message = heard()
    method = message.get("method")
    if "id" not in message:
        continue
    if method in script.get("errors", {}):
        say({"id": message["id"], "error": script["errors"][method]})
    elif method in script.get("results", {}):
        say({"id": message["id"], "result": script["results"][method]})
    elif method == "thread/start":
        threads += 1
        say({"id": message["id"], "result": {"thread": {"id": f"thread{threads}"}, "model": "gpt-codex"}})
    elif method == "turn/start":
        turn(message)
    else:
        say({"id": message["id"], "result": {}})
