"""Recordings: answers of a provider in a file, as they came, with their times.

A file holds lines of JSON. A recording begins with a head, `{"llmneutral_recording": 1, "api": …, "model": …}`, and
goes on with its chunks, `{"t": seconds, "chunk": …}`, or with a whole answer, `{"t": seconds, "body": …}`; the next
head begins the next recording. `stream.record` is what is written, and `ReplayPromptDriver` what reads it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from llmneutral.errors import MASK, ConfigurationError
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.jsontext import JSONObject, dumps, loads
from llmneutral.resolve import canonical_api_mode

MARK, VERSION = "llmneutral_recording", 1
File = str | os.PathLike[str]


class Recording(msgspec.Struct, frozen=True):
    """One answer.

    Attributes:
        api: API mode whose wire it is.
        model: Model that was asked.
        pieces: (seconds since the request, chunk) in order; of a whole answer one, the body.
        is_stream: Whether the pieces are chunks.
    """

    api: str
    model: str | None
    pieces: tuple[tuple[float, Any], ...]
    is_stream: bool = True


def save_recording(
    file: File,
    record: Iterable[tuple[Any, ...]],
    *,
    api: str,
    model: str | None = None,
    append: bool = False,
    secrets: Iterable[str] = (),
) -> None:
    """Writes what a stream recorded (`driver.stream(…, record=True).record`).

    Args:
        file: Where to.
        record: (seconds, chunk, …) in order; a single chunk that is a whole answer is a recording too.
        api: API mode of the chunks.
        model: Model that was asked.
        append: Whether the file's recordings stay, and this one comes after them.
        secrets: Texts that must not stand in the file, such as the key in use; they are masked.

    Raises:
        ConfigurationError: If the API mode is unknown, there is nothing to write, or a driver of one's own made deltas
            without chunks of a provider's.
    """
    record = list(record)
    if any([isinstance(chunk, DeltaMessage) for _, chunk, *_ in record]):
        raise ConfigurationError("the driver makes its deltas itself: there are no chunks of a provider's to be played")
    lines: list[JSONObject] = [{MARK: VERSION, "api": canonical_api_mode(api), "model": model}]
    lines += [{"t": round(seconds, 4), "chunk": chunk} for seconds, chunk, *_ in record]
    if len(lines) == 1:
        raise ConfigurationError(
            "there is nothing to record: the stream gave no chunk, or was read without record=True"
        )
    text = "".join([f"{dumps(line)}\n" for line in lines])
    for secret in secrets:
        text = text.replace(secret, MASK) if secret else text
    with open(file, "a" if append else "w", encoding="utf-8") as opened:
        opened.write(text)


def load_recordings(file: File) -> tuple[Recording, ...]:
    """Returns the recordings of a file.

    Raises:
        ConfigurationError: If there is no such file, or a line is none of a recording, naming it.
    """
    try:
        with open(file, encoding="utf-8") as opened:
            lines = opened.read().split("\n")  # and nowhere else: texts may hold other signs that end a line
    except OSError as error:
        raise ConfigurationError(f"no recording at {os.fspath(file)}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{os.fspath(file)} holds no recording: it is no text in UTF-8") from None
    found = tuple(_recordings(lines, os.fspath(file)))
    if not found:
        raise ConfigurationError(f"{os.fspath(file)} holds no recording")
    return found


def _recordings(lines: list[str], name: str) -> Iterator[Recording]:
    head: Mapping[str, Any] | None = None
    pieces: list[tuple[float, Any]] = []
    is_stream = True
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        line = _line(text, f"{name}, line {number}")
        if MARK in line:
            if head is not None:
                yield Recording(head["api"], head.get("model"), tuple(pieces), is_stream)
            head, pieces, is_stream = _head(line, f"{name}, line {number}"), [], True
        elif head is None or not ({"chunk", "body"} & line.keys()):
            raise ConfigurationError(f"{name}, line {number}: this is no line of a recording")
        else:
            is_stream = "chunk" in line
            seconds = _seconds(line, f"{name}, line {number}")
            pieces.append((seconds, line["chunk"] if is_stream else line["body"]))
    if head is not None:
        yield Recording(head["api"], head.get("model"), tuple(pieces), is_stream)


def _line(text: str, place: str) -> JSONObject:
    try:
        line = loads(text)
    except RecursionError:
        raise ConfigurationError(f"{place}: nested too deeply to be read") from None
    except ValueError:
        line = None
    if not isinstance(line, dict):
        raise ConfigurationError(f"{place}: a line of a recording is a JSON object")
    return line


def _seconds(line: JSONObject, place: str) -> float:
    seconds = 0.0 if line.get("t") is None else line["t"]
    if not isinstance(seconds, int | float):
        raise ConfigurationError(f"{place}: t is a number of seconds")
    return float(seconds)


def _head(line: JSONObject, place: str) -> JSONObject:
    if line[MARK] != VERSION:
        raise ConfigurationError(f"{place}: a recording of version {line[MARK]!r}; this library reads {VERSION}")
    return {**line, "api": canonical_api_mode(str(line.get("api")))}
