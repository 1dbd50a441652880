"""Payloads that a person has broken: `broken/<name>.json`.

A file holds one valid payload and many ways to break it: `put` sets what stands at JSON pointers, `drop` takes
something out; `found` is everything that must be found then, path → how the message begins. `{"$bytes": "<base64>"}`
are bytes.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "broken"


def names() -> list[str]:
    """The files."""
    return sorted(path.stem for path in HERE.glob("*.json"))


def load(name: str) -> dict[str, Any]:
    """A file."""
    found: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text("utf-8"), object_hook=_with_bytes)
    return found


def cases() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The API, a name of the case, and the case itself with its broken `payload`."""
    for name in names():
        file = load(name)
        for case in file["broken"]:
            told = ",".join([*case.get("put", {}), *[f"-{pointer}" for pointer in [case.get("drop")] if pointer]])
            yield file["api"], f"{name}{told}", {**case, "payload": broken(file["payload"], case)}


def broken(payload: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """A copy of the payload, broken."""
    made = copy.deepcopy(payload)
    for pointer, value in case.get("put", {}).items():
        node, key = _parent(made, pointer)
        node[key] = value
    if "drop" in case:
        node, key = _parent(made, case["drop"])
        del node[key]
    return made


def _parent(payload: Any, pointer: str) -> tuple[Any, Any]:
    *way, last = pointer.split("/")[1:]
    for key in way:
        payload = payload[int(key) if isinstance(payload, list) else key]
    return payload, int(last) if isinstance(payload, list) else last


def _with_bytes(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["$bytes"]) if value.keys() == {"$bytes"} else value
