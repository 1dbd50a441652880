"""Media as a provider takes them: what the bytes are, and in which form they may go.

The magic bytes decide the type, not what was declared (Anthropic compares the two). Nothing is ever
fetched here: where an API takes no address, the caller's `fetch` is asked, or the block is refused.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import msgspec

from llmneutral.ir.artifacts import address as split_address

if TYPE_CHECKING:
    from llmneutral.convert.job import Job

ALIASES = {
    "image/jpg": "image/jpeg",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "application/x-pdf": "application/pdf",
}
ENDINGS = {
    "application/pdf": "pdf", "text/plain": "txt", "text/csv": "csv", "text/html": "html", "text/markdown": "md",
    "application/msword": "doc", "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}  # fmt: skip
STANDARD = str.maketrans("-_", "+/")
SEEN = 64
"""Characters of base64 that are looked at: enough to know the type, and to see that it is base64 at all."""

LONGEST_SHOWN = 80
IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


class Medium(msgspec.Struct, frozen=True):
    """What a media block is, ready to be written: exactly one of data, url and file_id is set."""

    media_type: str | None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None

    @property
    def data_url(self) -> str:
        """The data as a data URL, or the address."""
        return self.url if self.data is None and self.url else f"data:{self.media_type};base64,{self.data}"

    def to_bytes(self) -> bytes:
        """Returns the decoded data."""
        return base64.b64decode(self.data or "")


def sniffed(data: str) -> str | None:
    """Returns the media type that the first bytes of base64 data show, or None."""
    head = _decoded(data[:SEEN])
    return None if head is None else _kind(head)


def _kind(head: bytes) -> str | None:
    for magic, media_type in _MAGIC:
        if head.startswith(magic):
            return media_type
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12])
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0 and head[1] & 0x06 in (0x02, 0x04):
        return "audio/mpeg"  # a frame of layer III or II; the mark of UTF-16, FF FE, is none
    return None


def canonical_type(media_type: str | None) -> str | None:
    """Returns a media type in its usual spelling, without parameters."""
    if not media_type or media_type in IMAGES:
        return media_type or None
    plain = media_type.partition(";")[0].strip().lower()
    return ALIASES.get(plain, plain)


def resolve(
    block: Any,
    job: Job,
    *,
    family: str,
    url: bool,
    types: frozenset[str] | None = None,
    addresses: tuple[str, ...] = (),
) -> Medium | None:
    """Says what a media block is for this target; None: write `as_note(block)` as text instead (`unsupported_media`).

    Args:
        block: An image, audio or document content.
        job: The conversion.
        family: image, audio or document: for the error texts.
        url: Whether the API takes addresses of this kind.
        types: Accepted media types; None: any.
        addresses: Beginnings of addresses that the API reads whatever the facts say, such as `s3://`.

    Raises:
        ConversionError: If the block has no data, an address the API does not take and nobody fetches, or a
            type it does not take.
    """
    if getattr(job.facts, _READS[family]) is False:
        _unread(block, job, family)
        return None
    data, declared = block.data, canonical_type(block.media_type)
    if data is None and (getattr(block, "url", None) or "")[:5].lower() == "data:":
        split = split_address(block.url)
        data, declared = split["data"], canonical_type(split["media_type"])
    if data is None:
        if (known := _referred(block, declared, job, url, addresses, family)) is not None:
            return known
        data, declared = _fetched(block, job, family)
    head = _decoded(data)
    if head is None:
        data = _standard(data, block, job, family)
        head = _decoded(data) or b""
    real = _kind(head)
    if real is not None and real != declared:
        if declared is not None:
            job.note("coerced", f"the {family} is declared as {declared}, but its bytes are {real}", block)
        declared = real
    if family == "image" and real is None and declared in IMAGES:
        _not_sent(f"the bytes of this image are no {declared}", "give another one", block, job)
        return None
    if types is not None and declared not in types:
        listed = ", ".join(sorted(types))
        why = f"{declared or 'unknown data'} is no {family} that {job.target.api} takes ({listed})"
        _not_sent(why, "give another one", block, job)
        return None
    return Medium(declared, data=data)


def resolve_sound(block: Any, job: Job, types: frozenset[str] | None = None) -> Medium | None:
    """Says what sound is for an API that takes sound; None: write `as_note(block)` as text instead.

    Of sound that only its maker keeps (an answer's, by its id) the transcript is all there is to send.

    Raises:
        ConversionError: As `resolve`.
    """
    if block.data is None and (transcript_of(block) or job.setting("unsupported_media") == "text"):
        job.note("rewritten", f"the sound itself is not here; {_words_for(block)} for it", block)
        return None
    return resolve(block, job, family="audio", url=False, types=types)


def untaken_sound(block: Any, job: Job, holder: Any = None) -> str:
    """Returns the text that stands for sound where an API takes none: its transcript, else a note.

    Args:
        block: The sound.
        job: The conversion.
        holder: The block that the report names where the sound stands inside another one.

    Raises:
        ConversionError: Where the caller does not allow that by `unsupported_media="text"`.
    """
    why = f"{job.target.api} takes no audio" + (f" ({block.media_type})" if block.media_type else "")
    _not_sent(why, "leave the block out", block, job, holder)
    return as_note(block)


def transcript_of(block: Any) -> str:
    """Returns what is said in sound; empty where nobody says, and for other media."""
    said = getattr(block, "transcript", None) or ""
    return "" if said.isspace() else said


def _words_for(block: Any) -> str:
    return "its transcript stands" if transcript_of(block) else "a note stands"


def _not_sent(why: str, remedy: str, block: Any, job: Job, holder: Any = None) -> None:
    """Media that cannot be sent: refused, or (setting `unsupported_media`) words stand for them."""
    told = block if holder is None else holder
    if job.setting("unsupported_media") == "text":
        job.note("rewritten", f"{why}; {_words_for(block)} for it", told)
        return
    purpose = " to send its transcript" if transcript_of(block) else ""
    job.refuse(f"{why}; {remedy}, or set unsupported_media='text'{purpose}", told, rule="media")


def _standard(data: str, block: Any, job: Job, family: str) -> str:
    """Base64 in the standard alphabet, padded and on one line."""
    tidy = "".join(data.split()).translate(STANDARD)
    tidy += "=" * (-len(tidy) % 4)
    if not tidy:
        job.refuse(f"this {family} is empty; give its bytes", block, rule="media")
    if _decoded(tidy) is None:
        job.refuse(f"the data of this {family} is no base64; give bytes, or base64 text", block, rule="media")
    return tidy


def _decoded(data: str) -> bytes | None:
    """The first bytes of base64; None if it is none."""
    if not data or len(data) % 4:
        return None
    try:
        return binascii.a2b_base64(data[:SEEN], strict_mode=True)
    except ValueError:  # binascii.Error is one, and so is the error for what is not ASCII
        return None


def _referred(
    block: Any, declared: str | None, job: Job, url: bool, addresses: tuple[str, ...], family: str
) -> Medium | None:
    """A medium the API is told where to find: by an id, or by an address that it takes."""
    file_id, address = getattr(block, "file_id", None), getattr(block, "url", None)  # sound has neither
    if file_id is not None:
        return Medium(declared, file_id=file_id)
    if address is None:
        return None
    if address.startswith(addresses):
        return Medium(declared or type_by_ending(address), url=address)
    asked = job.settings.get("fetch") is not None and not address.startswith("http")
    if asked or not url or job.facts.image_url is False:
        return None
    if "://" not in address or address.startswith("file:"):
        why = f"{shortened(address)!r} is no address that a provider can read"
        job.refuse(f"{why}; give an https address, or the bytes of the {family}", block, rule="media")
    return Medium(declared, url=address)


def _unread(block: Any, job: Job, family: str) -> None:
    """A model that reads no media of this kind: refused, or a note stands for it."""
    why = f"{job.target.model or 'this model'} reads no {family if family == 'audio' else f'{family}s'}"
    _not_sent(why, "leave the block out", block, job)


def _fetched(block: Any, job: Job, family: str) -> tuple[str, str | None]:
    fetch = job.settings.get("fetch")
    if getattr(block, "url", None) is None:
        job.refuse(f"this {family} has neither data nor an address; give one of them", block, rule="media")
    if fetch is None:
        article = "a" if family == "document" else "an"
        why = f"{job.target.api} takes no address of {article} {family}: {shortened(block.url)}"
        job.refuse(f"{why}; give its bytes, or fetch=", block, rule="media")
    try:
        found = fetch(block.url)
    except LookupError:
        job.refuse(f"fetch knows nothing of the {family} at {shortened(block.url)}", block, rule="media")
    match found:
        case (bytes() | bytearray() as raw, str() | None as media_type):
            pass
        case _:
            job.refuse("fetch has to return (bytes, media type or None)", block, rule="media")
    data = base64.b64encode(raw).decode()
    guessed = canonical_type(media_type) or sniffed(data) or type_by_ending(block.url)
    return data, guessed


def type_by_ending(url: str) -> str | None:
    """Returns the media type that the ending of an address suggests: the last resort."""
    import mimetypes

    return canonical_type(mimetypes.guess_type(url.partition("?")[0].partition("#")[0])[0])


def shortened(url: str) -> str:
    """Returns an address as it may stand in a message."""
    return url if len(url) <= LONGEST_SHOWN else f"{url[:LONGEST_SHOWN]}…"


def file_name(name: str | None, media_type: str | None) -> str:
    """Returns the name of a document, made from its type where it has none."""
    return name or f"document.{ENDINGS.get(media_type or '', 'pdf')}"


def as_note(block: Any) -> str:
    """Returns the text that stands for media an API does not take: the transcript of sound, else a note."""
    return transcript_of(block) or f"[{block.media_type or block.to_text().strip('[]')} not sent]"


_READS = {"image": "vision", "audio": "audio_in", "document": "documents"}
_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
)
