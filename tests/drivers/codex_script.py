"""What the scripted `codex app-server` says, and how a driver is pointed at it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llmneutral import CodexAppServerPromptDriver

SERVER = Path(__file__).with_name("codex_server.py")
Step = dict[str, Any] | str
COMPLETED: Step = {"method": "turn/completed", "params": {"turn": {"status": "completed"}}}
HOLD, DIE = "hold", "die"


def said(method: str, **params: Any) -> Step:
    return {"method": method, "params": params}


def piece(text: str, item: str = "msg_0") -> Step:
    return said("item/agentMessage/delta", itemId=item, delta=text)


def item(kind: str, name: str = "msg_0", **fields: Any) -> Step:
    return said("item/completed", item={"type": kind, "id": name, **fields})


def failed(info: Any, message: str = "it failed") -> Step:
    error = {"message": message, "codexErrorInfo": info, "additionalDetails": None}
    return said("turn/completed", turn={"status": "failed", "error": error})


def spent(total: int) -> Step:
    counts = {"inputTokens": total, "cachedInputTokens": 1, "outputTokens": 2 * total, "totalTokens": 3 * total}
    return said("thread/tokenUsage/updated", tokenUsage={"total": counts, "last": counts})


def answer(text: str = "hello") -> list[Step]:
    """A turn with a text, as codex tells it."""
    return [
        said("item/started", item={"type": "userMessage", "id": "u"}),
        item("userMessage", "u", content=[]),
        said("item/started", item={"type": "agentMessage", "id": "msg_0", "text": ""}),
        *[piece(part) for part in (text[:2], text[2:])],
        item("agentMessage", text=text),
        COMPLETED,
    ]


class Scene:
    """Makes drivers of the scripted server, and tells what they said to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.jsonl"
        self.made: list[CodexAppServerPromptDriver] = []

    def command(self, *turns: list[Step], **more: Any) -> list[str]:
        script = self.folder / "script.json"
        script.write_text(json.dumps({"turns": turns, **more}), encoding="utf-8")
        return [sys.executable, "-I", "-S", str(SERVER), str(script), str(self.log)]

    def driver(self, *turns: list[Step], script: dict[str, Any] | None = None, **options: Any) -> Any:
        self.made.append(CodexAppServerPromptDriver(command=self.command(*turns, **(script or {})), **options))
        return self.made[-1]

    def close(self) -> None:
        for driver in self.made:
            driver.close()

    def lines(self, wanted: Callable[[dict[str, Any]], Any] = bool) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [line for line in found if wanted(line)]

    def asked(self, method: str) -> list[dict[str, Any]]:
        return [line["params"] for line in self.lines(lambda line: line.get("method") == method)]
