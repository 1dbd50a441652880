"""Server-sent events: bytes in, `(event name or None, data bytes)` out.

The grammar is WHATWG's (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream):
lines end in LF, CRLF or CR; one space after the colon is not part of the value; several `data` lines are joined by LF;
lines that begin with a colon and unknown fields are ignored; an event without a `data` line is not an event; one
leading byte order mark is skipped. One thing differs on purpose: an event that is cut off by the end of the stream is
delivered by `flush`, because servers that forget the last blank line exist and the last words would be lost.

The stream is cut at line ends only, which are ASCII bytes, so a character that is spread over two pieces is never
decoded in halves. Data stay bytes: what reads them (a JSON decoder) takes bytes; `[DONE]` is for the caller to know.

This file knows no API and no JSON. State belongs to one stream: make a decoder for each.
"""

from __future__ import annotations

__all__ = ["SSEDecoder", "ServerSentEvent", "parse_event"]

ServerSentEvent = tuple[str | None, bytes]
"""The event's name (None where the stream gives none) and its data."""

BOM = b"\xef\xbb\xbf"
LF = 10


def parse_event(block: bytes) -> ServerSentEvent | None:
    """Read the lines of one event, line ends already being LF.

    Args:
        block: What stands between two blank lines; blank lines at its ends do no harm.

    Returns:
        The event, or None where no `data` line was among them.
    """
    name = b""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    if not data:
        return None
    return name.decode("utf-8", "replace") or None, b"\n".join(data)


def one_event(piece: bytes) -> ServerSentEvent | None:
    """Read a piece that is one event in a form that providers write, the usual one; None where it is not just that."""
    last = len(piece) - 2
    end = piece.find(b"\n")
    if piece[last:] != b"\n\n" or piece.find(b"\r") >= 0:
        return None
    if end == last and piece.startswith(b"data: "):
        return None, piece[6:last]
    if piece.startswith(b"event: ") and piece.startswith(b"data: ", end + 1) and piece.find(b"\n", end + 1) == last:
        return piece[7:end].decode("utf-8", "replace") or None, piece[end + 7 : last]
    return None


def read_blocks(blocks: list[bytes]) -> list[ServerSentEvent]:
    """Read whole events; the two forms that providers write are recognised without looking at the fields one by one."""
    events: list[ServerSentEvent] = []
    append = events.append
    for block in blocks:
        lines = block.split(b"\n")
        first = lines[0]
        if len(lines) == 1 and first[:6] == b"data: ":
            append((None, first[6:]))
        elif len(lines) == 2 and first[:7] == b"event: " and lines[1][:6] == b"data: ":
            append((first[7:].decode("utf-8", "replace") or None, lines[1][6:]))
        elif (event := parse_event(block)) is not None:
            append(event)
    return events


class SSEDecoder:
    """Splits one stream of bytes into server-sent events, however the bytes are cut.

    The cost is linear in the length of the stream: an event that comes in many pieces is put together once.
    """

    __slots__ = ("after_cr", "at_start", "tail")

    def __init__(self) -> None:
        self.tail: list[bytes] = []
        """The pieces of the event that is not complete yet, none of them empty."""
        self.after_cr = False
        """The last byte was a CR, already counted as a line end: an LF that follows belongs to it."""
        self.at_start = True
        """Fewer than three bytes were seen: they may still be a byte order mark."""

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Take the next bytes of the stream.

        Args:
            piece: Any number of bytes, cut anywhere.

        Returns:
            The events that these bytes complete, in order.
        """
        if not (self.tail or self.after_cr or self.at_start) and (event := one_event(piece)) is not None:
            return [event]
        if self.at_start:
            piece = self.without_bom(piece)
        if self.after_cr or b"\r" in piece:
            piece = self.with_plain_line_ends(piece)
        if not piece:
            return []
        tail = self.tail
        if b"\n\n" not in piece and not (tail and piece[0] == LF and tail[-1][-1] == LF):
            tail.append(piece)
            return []
        if tail:
            tail.append(piece)
            piece = b"".join(tail)
        blocks = piece.split(b"\n\n")
        rest = blocks.pop()
        self.tail = [rest] if rest else []
        return read_blocks(blocks)

    def flush(self) -> list[ServerSentEvent]:
        """End the stream: deliver the event that no blank line closed, if any. The decoder is then as new."""
        event = parse_event(b"".join(self.tail))
        self.tail, self.after_cr, self.at_start = [], False, True
        return [] if event is None else [event]

    def without_bom(self, piece: bytes) -> bytes:
        """Skip the byte order mark; as long as the bytes may still become one they wait in `tail`."""
        piece = b"".join(self.tail) + piece
        self.tail = []
        if len(piece) < len(BOM) and BOM.startswith(piece):
            self.tail = [piece] if piece else []
            return b""
        self.at_start = False
        return piece.removeprefix(BOM)

    def with_plain_line_ends(self, piece: bytes) -> bytes:
        """Turn CRLF and CR into LF. A CR at the end of a piece ends its line at once; no event waits for more."""
        if self.after_cr and piece:
            piece = piece.removeprefix(b"\n")
            self.after_cr = False
        if piece:
            self.after_cr = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
