"""Pictures as data: shown if their first bytes say that they are one, and they are small; otherwise named.

Never an address, never SVG: nothing is fetched, and nothing in a picture can run.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable

from llmneutral_widgets.views.page import Html, size, tag

LARGEST = 32 * 1024
"""Bytes of a picture that is shown."""
MOST = 8
"""Pictures that are shown in one output."""
_HEAD = 64 * 1024
"""Base64 characters that are looked at to name a picture that is too large to show."""
_SHOWN = "max-width:160px"


class Album:
    """The pictures of one output: the first few are shown, the others are named."""

    def __init__(self, most: int = MOST, largest: int = LARGEST) -> None:
        self.left = most
        self.largest = largest

    def picture(self, data: str, media_type: str | None, alt: str = "picture") -> Html:
        """Returns a picture, or what it is: `image/png, 1024×768, 812 KB`.

        Args:
            data: Base64 text.
            media_type: As declared, for data that is no picture; the bytes decide otherwise.
            alt: What to say in place of the picture.
        """
        octets = len(data) * 3 // 4 - data[-2:].count("=")
        small = octets <= self.largest
        content = decoded(data if small else data[:_HEAD])
        kind = picture_type(content) if content else None
        said = [kind or media_type or "unknown media", dimensions(content, kind), size(octets)]
        named = ", ".join([part for part in said if part])
        if kind is None or not small or self.left <= 0:
            return tag("small", named)
        self.left -= 1
        shown = base64.b64encode(content).decode("ascii")
        return tag("img", src=f"data:{kind};base64,{shown}", alt=alt, title=named, style=_SHOWN)


def decoded(data: str) -> bytes:
    """Returns the bytes of base64 text, as far as it is one: broken text gives none."""
    try:
        whole = len(data) - len(data) % 4
        return base64.b64decode(data[:whole] if len(data) >= _HEAD else data, validate=True)
    except (binascii.Error, ValueError):
        return b""


def picture_type(content: bytes) -> str | None:
    """Returns the media type the first bytes tell, for the four kinds every browser shows as a picture."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return None


def dimensions(content: bytes, kind: str | None) -> str | None:
    """Returns width × height in pixels, if the beginning of the picture tells."""
    reader = _READERS.get(kind or "")
    try:
        found = reader(content) if reader else None
    except (struct.error, IndexError):
        return None
    return f"{found[0]}×{found[1]}" if found else None


def _png(content: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def _gif(content: bytes) -> tuple[int, int]:
    width, height = struct.unpack("<HH", content[6:10])
    return width, height


def _jpeg(content: bytes) -> tuple[int, int] | None:
    """Walks from segment to segment to the frame header (ITU-T T.81, B.2.2)."""
    at = 2
    while at + 9 < len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + max(2, int.from_bytes(content[at + 2 : at + 4], "big"))
    return None


def _webp(content: bytes) -> tuple[int, int] | None:
    """Reads the header of the three kinds of WebP (RFC 9649)."""
    form = content[12:16]
    if form == b"VP8X":
        return 1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little")
    if form == b"VP8L":
        bits = int.from_bytes(content[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", content[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


_READERS: dict[str, Callable[[bytes], tuple[int, int] | None]] = {
    "image/png": _png,
    "image/gif": _gif,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
}
