"""Recordings: what is written is read again, and a file that is none says where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmneutral import ConfigurationError, DeltaMessage, TextDeltaMessageContent
from llmneutral.drivers.recordings import load_recordings, save_recording
from tests.drivers.scripted import Scripted, chunks, whole


def test_what_a_stream_recorded_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "answer.jsonl"
    stream = Scripted(chunks()).stream("hi", record=True)
    list(stream)
    assert stream.record is not None
    save_recording(file, stream.record, api="chat", model="m")
    [found] = load_recordings(file)
    assert (found.api, found.model, found.is_stream) == ("chat_completions", "m", True)
    assert [chunk for _, chunk in found.pieces] == chunks()
    assert all(seconds >= 0 for seconds, _ in found.pieces)


def test_several_stand_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    save_recording(file, [(0.1, {"a": "ü"})], api="chat_completions")
    save_recording(file, [(0.1, {"b": 1}), (0.2, "[DONE]")], api="anthropic_messages", append=True)
    with file.open("a", encoding="utf-8") as opened:
        head = {"llmneutral_recording": 1, "api": "chat_completions"}
        opened.write(f"\n{json.dumps(head)}\n{json.dumps({'t': 0.5, 'body': whole()})}\n")
    first, second, third = load_recordings(file)
    assert first.pieces == ((0.1, {"a": "ü"}),)
    assert second.pieces == ((0.1, {"b": 1}), (0.2, "[DONE]"))
    assert (third.is_stream, third.pieces) == (False, ((0.5, whole()),))
    save_recording(file, [(0.0, {})], api="chat_completions")
    assert len(load_recordings(file)) == 1


def test_no_secret_is_written(tmp_path: Path) -> None:
    file = tmp_path / "answer.jsonl"
    save_recording(file, [(0.0, {"error": "key abcdef-123456"})], api="chat", secrets=["abcdef-123456", ""])
    assert "abcdef" not in file.read_text(encoding="utf-8")
    assert load_recordings(file)


def test_nothing_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nothing to record"):
        save_recording(tmp_path / "a.jsonl", [], api="chat")
    with pytest.raises(ConfigurationError, match="unknown API mode"):
        save_recording(tmp_path / "a.jsonl", [(0.0, {})], api="chatt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no recording"),
        ("no json\n", "line 1: a line of a recording is a JSON object"),
        ('{"llmneutral_recording": 1, "api": "chat"}\n[1]\n', "line 2: a line of a recording is a JSON object"),
        ('{"llmneutral_recording": 1, "api": "chat"}\n' + "[" * 100_000, "jsonl, line 2: nested too deeply to be read"),
        ('{"llmneutral_recording": 1, "api": "chat"}\n{"t": [], "chunk": {}}\n', "line 2: t is a number of seconds"),
        ('{"llmneutral_recording": 1, "api": "chat"}\n{"t": "x", "chunk": {}}\n', "line 2: t is a number of seconds"),
        ('{"t": 0, "chunk": {}}\n', "line 1: this is no line of a recording"),
        ('{"llmneutral_recording": 1, "api": "chat"}\n\n{"t": 0}\n', "line 3: this is no line of a recording"),
        ('{"llmneutral_recording": 9, "api": "chat"}\n', "version 9; this library reads 1"),
        ('{"llmneutral_recording": 1}\n', "unknown API mode"),
    ],
)
def test_a_file_that_is_none_says_where(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=why):
        load_recordings(file)


def test_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_bytes(b"\x89PNG\xff")
    with pytest.raises(ConfigurationError, match=r"answers\.jsonl holds no recording: it is no text"):
        load_recordings(file)


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x1c", "\r"])
def test_a_sign_that_ends_a_line_elsewhere_ends_none_here(tmp_path: Path, sign: str) -> None:
    file = tmp_path / "answers.jsonl"
    save_recording(file, [(0.0, {"text": f"one{sign}two"})], api="chat_completions")
    assert load_recordings(file)[0].pieces == ((0.0, {"text": f"one{sign}two"}),)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no recording at .*absent\.jsonl: No such file"):
        load_recordings(tmp_path / "absent.jsonl")


def test_deltas_of_ours_are_no_chunks_of_a_provider(tmp_path: Path) -> None:
    delta = DeltaMessage("text", TextDeltaMessageContent("Hi"))
    with pytest.raises(ConfigurationError, match="makes its deltas itself"):
        save_recording(tmp_path / "a.jsonl", [(0.0, delta, [delta])], api="chat_completions")
    assert not (tmp_path / "a.jsonl").exists()
