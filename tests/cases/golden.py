"""Golden cases: a conversation in a file, and beside it what each API is sent and what was changed.

`<case>.stack.json` holds the conversation (OpenAI's format) with tools, settings and one target an API;
`<case>.<api>.payload.json` and `<case>.<api>.changes.json` hold the truth, which a person has read. Streams
stand in `streams/<api>/<feature>.jsonl`, one chunk a line, and their answer in `<feature>.response.json`.

    python -m tests.cases.golden          # writes the truth anew: read the difference before you commit it
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

import llmneutral
from llmneutral import Conversion, ConversionError

HERE = Path(__file__).parent


def cases() -> list[str]:
    return sorted(path.name.removesuffix(".stack.json") for path in HERE.glob("*.stack.json"))


def load(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / f"{case}.stack.json").read_text("utf-8"))
    return found


def converted(case: str, api: str) -> tuple[Any, Any]:
    """The payload (or the refusal) and the changes of a case."""
    given = load(case)
    settings = {**given.get("settings", {}), **given["targets"][api]}
    try:
        made = llmneutral.convert(given["messages"], api, tools=given.get("tools"), **settings)
    except ConversionError as error:
        return {"refused": str(error)}, msgspec.to_builtins(error.changes)
    assert isinstance(made, Conversion)
    return made.to_json(), msgspec.to_builtins(made.changes)


def targets() -> Iterator[tuple[str, str]]:
    for case in cases():
        for api in load(case)["targets"]:
            yield case, api


def streams() -> list[tuple[str, str]]:
    return sorted((path.parent.name, path.stem) for path in (HERE / "streams").glob("*/*.jsonl"))


def chunks(api: str, feature: str) -> list[Any]:
    lines = (HERE / "streams" / api / f"{feature}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def files() -> Iterator[tuple[Path, str]]:
    """Every truth: its file, and what would stand in it now."""
    for case, api in targets():
        payload, changes = converted(case, api)
        yield HERE / f"{case}.{api}.payload.json", written(payload)
        yield HERE / f"{case}.{api}.changes.json", written(changes)
    for api, feature in streams():
        response = llmneutral.aggregate(chunks(api, feature), api).to_dict()
        yield HERE / "streams" / api / f"{feature}.response.json", written(response)


if __name__ == "__main__":
    for path, text in files():
        path.write_text(text, "utf-8")
