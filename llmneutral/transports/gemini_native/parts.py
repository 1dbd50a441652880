"""What a part of generateContent holds, for requests and answers alike: media, signatures, what only this API knows.

https://ai.google.dev/api/caching#Part; types of google-genai 3: Part, Blob, FileData.
"""

from __future__ import annotations

import binascii
from typing import Any

from llmneutral.ir.contents import AudioMessageContent, DocumentMessageContent, ImageMessageContent, Origin
from llmneutral.ir.jsontext import JSONObject
from llmneutral.transports.gemini_native.blocks import API, GOOGLE_FILE, PART_KEYS, SIGNATURE
from llmneutral.transports.gemini_native.wire import from_base64

Media = ImageMessageContent | AudioMessageContent | DocumentMessageContent


def signature_of(part: JSONObject) -> str | None:
    """Returns the signature of a part, if it has one."""
    found = part.get(SIGNATURE)
    if found is None or isinstance(found, str):
        return found or None
    raise TypeError(f"a signature came as {type(found).__name__}")


def native_of(part: JSONObject, **more: Any) -> JSONObject | None:
    """Returns what a part says that a neutral block has no field for, or None."""
    found = {key: part[key] for key in PART_KEYS if part.get(key) is not None}
    found |= {key: value for key, value in more.items() if value is not None}
    return found or None


def media_of(part: JSONObject, origin: Origin | None = None) -> Media:
    """Returns the picture, sound or document of a part with `inlineData` or `fileData`.

    Args:
        part: The part, in the spelling of REST.
        origin: Who made it; of an answer the reader says it.
    """
    blob, file = part.get("inlineData"), part.get("fileData")
    given: Any = blob if blob is not None else file
    kind = given.get("mimeType")
    fields: JSONObject = {"media_type": kind}
    if blob is not None:
        fields["data"] = _standard(blob["data"])
    else:
        address = file["fileUri"]  # type: ignore[index]  # one of the two is there
        fields["file_id" if GOOGLE_FILE.fullmatch(address) else "url"] = address
    native = native_of(part, **{SIGNATURE: signature_of(part)}) or {}
    family = (kind or "").partition("/")[0]
    name = given.get("displayName")
    if family == "image":
        native |= {} if name is None else {"displayName": name}
    if origin is not None and (native or file is not None):
        fields["origin"] = origin
    fields["native"] = native or None
    if family == "image":
        return ImageMessageContent(**fields)
    if family == "audio" and blob is not None:
        return AudioMessageContent(**fields)
    return DocumentMessageContent(**fields, name=name)


def _standard(data: Any) -> str:
    """Base64 in the alphabet that every other API reads; what is none is left as it is, for the one who sends it."""
    text = str(data)
    if not ("-" in text or "_" in text or len(text) % 4):
        return text
    found = from_base64(text)
    return text if found is None else binascii.b2a_base64(found, newline=False).decode()


OWN = Origin(API)
