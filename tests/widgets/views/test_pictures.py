"""Pictures: only what the bytes say is one, small, a few of them, and never an address."""

from __future__ import annotations

import base64
import struct

import pytest

from llmneutral_widgets.views.page import size
from llmneutral_widgets.views.pictures import LARGEST, MOST, Album, decoded, dimensions, picture_type
from tests.widgets.samples import PNG, png

GIF = b"GIF89a" + struct.pack("<HH", 30, 20) + bytes(20)
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    b"\xff\xc0\x00\x11\x08\x00\x14\x00\x1e\x03" + bytes(20)
)
LOSSY = b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00" + bytes(6) + struct.pack("<HH", 30, 20) + bytes(9)
LOSSLESS = b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f" + ((29) | (19 << 14)).to_bytes(4, "little") + bytes(9)
EXTENDED = (
    b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + (29).to_bytes(3, "little") + (19).to_bytes(3, "little") + bytes(9)
)
KINDS = {
    "image/png": png(30, 20),
    "image/gif": GIF,
    "image/jpeg": JPEG,
    "image/webp": LOSSY,
}


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_decide(kind: str) -> None:
    content = KINDS[kind]
    assert picture_type(content) == kind
    assert dimensions(content, kind) == "30×20"
    shown = Album().picture(b64(content), "text/html")
    assert shown.startswith(f'<img src="data:{kind};base64,{b64(content)}" alt="picture" title="{kind}, 30×20, ')


@pytest.mark.parametrize("content", [LOSSLESS, EXTENDED])
def test_the_other_kinds_of_webp(content: bytes) -> None:
    assert dimensions(content, "image/webp") == "30×20"


@pytest.mark.parametrize(
    "content",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='1'/>",
        b"<html>",
        b"BM",
        b"",
        b"\x00",
        b"RIFF0000WAVE",
        b"\xff\xd8",
    ],
)
def test_what_is_no_picture_is_named(content: bytes) -> None:
    shown = Album().picture(b64(content), "image/svg+xml")
    assert shown == f"<small>image/svg+xml, {len(content)} bytes</small>"


@pytest.mark.parametrize("data", ['"><script>', "not base64!", "=", "iVBOR", "é"])
def test_broken_data_is_named(data: str) -> None:
    assert decoded(data) in (b"", decoded(data))
    assert "<img" not in Album().picture(data, None)
    assert "<script" not in Album().picture(data, data)


def test_large_pictures_are_named_with_their_size() -> None:
    large = png(30, 20) + bytes(LARGEST)
    assert len(large) > LARGEST
    assert Album().picture(b64(large), None) == f"<small>image/png, 30×20, {size(len(large))}</small>"


def test_only_a_few_are_shown() -> None:
    album = Album()
    shown = [album.picture(PNG, "image/png") for _ in range(MOST + 2)]
    assert [one.startswith("<img") for one in shown] == [True] * MOST + [False] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_cut_off_pictures_have_no_dimensions(kind: str) -> None:
    assert dimensions(KINDS[kind][:9], kind) is None
    assert dimensions(b"", kind) is None
