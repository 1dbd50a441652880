"""Pictures, sound and documents of Converse → neutral contents: the same in requests and in answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.convert.rest import base64_of
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import AudioMessageContent, DocumentMessageContent, ImageMessageContent, TextMessageContent
from llmneutral.ir.jsontext import JSONObject
from llmneutral.transports.bedrock_converse.formats import AUDIO, DOCUMENTS, IMAGES, NUMBERS, OWN, media_types

IMAGE_TYPES, AUDIO_TYPES, DOCUMENT_TYPES = map(media_types, (IMAGES, AUDIO, DOCUMENTS))


def read_image(block: JSONObject) -> ImageMessageContent:
    """Reads a picture."""
    return ImageMessageContent(**_place(block["source"]), media_type=IMAGE_TYPES.get(block.get("format") or ""))


def read_audio(block: JSONObject) -> AudioMessageContent:
    """Reads sound given by its bytes.

    Raises:
        TypeError: If it lies in S3: neutral sound has no address.
    """
    place = _place(block["source"])
    if "data" not in place:
        raise TypeError("its source is an address")
    return AudioMessageContent(place["data"], media_type=AUDIO_TYPES.get(block.get("format") or ""))


def read_document(block: JSONObject) -> DocumentMessageContent:
    """Reads a document; its format is the ending of its name."""
    source, form = block["source"], block.get("format")
    if "text" in source:
        fields: JSONObject = {"text": source["text"]}
    elif "content" in source:
        fields = {"parts": tuple([TextMessageContent(part["text"]) for part in source["content"]])}
    else:
        fields = _place(source)
    if block.get("citations") is not None:
        fields |= {"native": {**fields.get("native", {}), "citations": block["citations"]}, "origin": OWN}
    name = block.get("name")
    return DocumentMessageContent(
        **fields,
        name=f"{name}.{form}" if name and form else name,
        media_type=DOCUMENT_TYPES.get(form or ""),
        context=block.get("context"),
    )


def _place(source: JSONObject) -> JSONObject:
    """Where the data is: here, or in S3 with whose it is there."""
    if (place := source.get("s3Location")) is not None:
        owner: Any = place.get("bucketOwner")
        return {"url": place["uri"]} | ({"native": {"bucketOwner": owner}, "origin": OWN} if owner else {})
    data = source["bytes"]
    if isinstance(data, str):
        return {"data": data}
    if isinstance(data, Mapping):
        return {"data": base64_of(_of_numbers(data)), "native": {NUMBERS: True}, "origin": OWN}
    if not isinstance(data, bytes | bytearray):
        raise TypeError(f"its bytes are {a_kind(data)}")
    return {"data": base64_of(data)}


def _of_numbers(data: Mapping[str, Any]) -> bytes:
    """Bytes as JavaScript writes them into JSON: `{"0": 80, "1": 68}`, or `{"type": "Buffer", "data": [80, 68]}`."""
    numbers = data["data"] if data.get("type") == "Buffer" else [data[str(place)] for place in range(len(data))]
    try:
        return bytes(numbers)
    except ValueError as error:
        raise TypeError(f"its bytes are no bytes: {error}") from None
