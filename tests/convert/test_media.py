"""Media: the bytes decide what they are, an API gets what it takes, and nothing is ever fetched."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    ConversionError,
    DocumentMessageContent,
    ImageMessageContent,
    TextMessageContent,
)
from llmneutral.convert.media import Medium, as_note, canonical_type, file_name, resolve, shortened, sniffed
from tests.convert.jobs import job, told
from tests.payloads import APIS, MODEL_OF, kinds, made, said, turn

over_apis = pytest.mark.parametrize("api", APIS)
over_all = pytest.mark.parametrize("api", MODEL_OF)
Image, Audio, Document = ImageMessageContent, AudioMessageContent, DocumentMessageContent


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


BYTES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\0" * 20,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 20,
    "image/gif": b"GIF89a" + b"\0" * 20,
    "image/webp": b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 20,
    "application/pdf": b"%PDF-1.7\n%%EOF",
    "audio/wav": b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 20,
    "audio/mpeg": b"ID3\x04\0\0" + b"\0" * 20,
    "audio/flac": b"fLaC\0\0\0\x22",
    "audio/ogg": b"OggS\0\x02",
}
DATA = {media_type: b64(raw) for media_type, raw in BYTES.items()}
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
SVG = Image(b64(b"<svg/>"), media_type="image/svg+xml")


def sent(api: str, block: Any, **settings: Any) -> tuple[str, Any]:
    """The body of a message with one block, as text, and the conversion."""
    conversion = made(api, [turn("user", "look", block)], **settings)
    return json.dumps(conversion.to_json()), conversion


def refused(api: str, block: Any, **settings: Any) -> ConversionError:
    with pytest.raises(ConversionError) as caught:
        sent(api, block, **settings)
    assert caught.value.refs == ((0, 1),)
    assert caught.value.api == api
    return caught.value


# --- what the bytes are -------------------------------------------------------------------------


@pytest.mark.parametrize("media_type", list(DATA))
def test_magic_bytes(media_type: str) -> None:
    assert sniffed(DATA[media_type]) == media_type


@pytest.mark.parametrize(
    ("raw", "media_type"),
    [
        (b"\xff\xfb\x90\0", "audio/mpeg"),
        (b"\xff\xf3\x90\0", "audio/mpeg"),
        (b"\xff\xe3\x90\0", "audio/mpeg"),
        (b"\xff\xf1\x60\x40", None),  # AAC
        ("hällo".encode("utf-16"), None),
        (b"RIFF\0\0\0\0AVI ", None),
        (b"plain", None),
        (b"", None),
        (b"\xff", None),
    ],
)
def test_more_bytes(raw: bytes, media_type: str | None) -> None:
    assert sniffed(b64(raw)) == media_type


@given(st.text(max_size=80))
def test_no_text_breaks_the_sniffing(data: str) -> None:
    sniffed(data)


@pytest.mark.parametrize(
    ("given_type", "found"),
    [
        ("image/jpg", "image/jpeg"),
        ("IMAGE/PNG", "image/png"),
        ("audio/mp3", "audio/mpeg"),
        ("audio/x-wav", "audio/wav"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("image/png", "image/png"),
        ("", None),
        (None, None),
    ],
)
def test_usual_spellings(given_type: str | None, found: str | None) -> None:
    assert canonical_type(given_type) == found


# --- images -------------------------------------------------------------------------------------


@over_apis
@pytest.mark.parametrize("media_type", PICTURES)
def test_pictures_of_every_accepted_type(api: str, media_type: str) -> None:
    for declared in (media_type, None):
        body, conversion = sent(api, Image(DATA[media_type], media_type=declared))
        assert media_type in body
        assert DATA[media_type] in body
        assert conversion.changes == ()


@over_apis
def test_another_spelling_of_a_type_is_no_change(api: str) -> None:
    body, conversion = sent(api, Image(DATA["image/jpeg"], media_type="image/jpg"))
    assert "image/jpeg" in body
    assert conversion.changes == ()


@over_apis
@pytest.mark.parametrize(("declared", "real"), [("image/jpeg", "image/png"), ("image/png", "image/webp")])
def test_the_real_type_is_sent(api: str, declared: str, real: str) -> None:
    body, conversion = sent(api, Image(DATA[real], media_type=declared))
    assert real in body
    assert declared not in body
    assert [(change.kind, change.refs) for change in conversion.changes] == [("coerced", ((0, 1),))]


@over_apis
def test_what_an_api_does_not_take_is_refused_by_its_type(api: str) -> None:
    error = refused(api, SVG)
    assert "image/svg+xml" in str(error)
    assert "unsupported_media" in str(error)
    assert "application/pdf" in str(refused(api, Image(DATA["application/pdf"], media_type="image/png")))


@over_apis
def test_or_a_note_stands_for_it(api: str) -> None:
    body, conversion = sent(api, SVG, unsupported_media="text")
    assert "[image/svg+xml not sent]" in body
    assert [(change.kind, change.refs) for change in conversion.changes] == [("rewritten", ((0, 1),))]


@over_apis
@pytest.mark.parametrize(
    ("block", "words"),
    [
        (Image(b64(b"hello, I am no picture"), media_type="image/png"), "the bytes of this image are no image/png"),
        (Image("not base64!!", media_type="image/png"), "no base64"),
        (Image("größe", media_type="image/png"), "no base64"),
        (Image("A", media_type="image/png"), "no base64"),
        (Image("", media_type="image/png"), "is empty"),
        (Image(), "neither data nor an address"),
        (Image(b64(b"hello")), "unknown data"),
    ],
)
def test_what_cannot_be_read_is_refused(api: str, block: Any, words: str) -> None:
    assert words in str(refused(api, block))


@over_apis
def test_base64_of_another_alphabet_goes_in_the_standard_one(api: str) -> None:
    raw = BYTES["image/png"] + b"\xff\xfe\xfb\xef\xbe"
    for spelling in (base64.urlsafe_b64encode(raw).decode().rstrip("="), base64.encodebytes(raw).decode()):
        body, conversion = sent(api, Image(spelling, media_type="image/png"))
        assert b64(raw) in body
        assert conversion.changes == ()


@over_apis
def test_a_data_url_is_split(api: str) -> None:
    for url in (f"data:image/png;base64,{DATA['image/png']}", f"DATA:image/jpg;base64,{DATA['image/jpeg']}"):
        assert sent(api, Image(url=url))[1].changes == ()
    (message,) = made(api, [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]).payload[
        "input" if api == "codex_responses" else "messages"
    ]
    assert "image/jpeg" in json.dumps(message)


@over_apis
@pytest.mark.parametrize("url", ["https://x.test/a.png?size=1", "http://x.test/a", "gs://bucket/a.png"])
def test_an_address_goes_as_it_is(api: str, url: str) -> None:
    body, conversion = sent(api, Image(url=url))
    assert url in body
    assert conversion.changes == ()


@over_apis
@pytest.mark.parametrize("url", ["picture.png", "/pictures/a.png", "C:\\a.png", "file:///etc/passwd", "x" * 900])
def test_a_path_is_no_address(api: str, url: str) -> None:
    error = refused(api, Image(url=url))
    assert "no address that a provider can read" in str(error)
    assert len(error.message) < 300


@over_apis
def test_only_documented_keys_go_out(api: str) -> None:
    body, conversion = sent(api, Image(DATA["image/png"], detail="low"))
    assert ("low" in body) is (api != "anthropic_messages")
    assert kinds(conversion) == (["dropped"] if api == "anthropic_messages" else [])


@over_apis
@pytest.mark.parametrize("kind", [Image(DATA["image/png"]), Document(DATA["application/pdf"], name="a.pdf")])
def test_a_model_that_reads_none_of_a_kind(api: str, kind: Any) -> None:
    fact = "vision" if isinstance(kind, Image) else "documents"
    assert "reads no" in str(refused(api, kind, facts={fact: False}))
    body, conversion = sent(api, kind, facts={fact: False}, unsupported_media="text")
    assert "not sent" in body
    assert kinds(conversion) == ["rewritten"]


@over_apis
def test_pictures_of_the_assistant_are_shown_by_the_user(api: str) -> None:
    stack = [turn("user", "q"), turn("assistant", "here", Image(DATA["image/png"])), turn("user", "thanks")]
    found = said(api, made(api, stack).to_json())
    assert found[1:5] == [
        ("assistant", "text", "here"),
        ("user", "text", "Image from the previous answer:"),
        ("user", "media", "image"),
        ("user", "text", "thanks"),
    ]


# --- what is fetched ----------------------------------------------------------------------------

URL = "https://x.test/a.png?v=2.jpg"
NO_URLS = {"facts": {"image_url": False}}


@over_apis
def test_nothing_is_fetched_without_the_callers_own_means(api: str) -> None:
    error = refused(api, Image(url=URL), **NO_URLS)
    assert URL in str(error)
    assert "fetch=" in str(error)


@over_apis
@pytest.mark.parametrize(
    ("answer", "media_type"),
    [
        ((BYTES["image/png"], "image/png"), "image/png"),
        ((BYTES["image/png"], None), "image/png"),
        ((BYTES["image/png"], ""), "image/png"),
        ((bytearray(BYTES["image/gif"]), "image/gif"), "image/gif"),
    ],
)
def test_what_the_caller_fetches_is_sent(api: str, answer: Any, media_type: str) -> None:
    for fetch in (lambda url: {URL: answer}[url], {URL: answer}):
        body, conversion = sent(api, Image(url=URL), fetch=fetch, **NO_URLS)
        assert media_type in body
        assert URL not in body
        assert conversion.changes == ()


@over_apis
def test_the_bytes_overrule_what_the_server_said(api: str) -> None:
    body, conversion = sent(api, Image(url=URL), fetch={URL: (BYTES["image/webp"], "image/png")}, **NO_URLS)
    assert "image/webp" in body
    assert kinds(conversion) == ["coerced"]


@over_apis
def test_a_map_that_does_not_know_the_address(api: str) -> None:
    assert URL in str(refused(api, Image(url=URL), fetch={}, **NO_URLS))


@over_apis
@pytest.mark.parametrize("answer", [BYTES["image/png"], None, "text", ("text", None), (BYTES["image/png"], 5)])
def test_what_fetch_has_to_return(api: str, answer: Any) -> None:
    assert "(bytes, media type" in str(refused(api, Image(url=URL), fetch={URL: answer}, **NO_URLS))


def test_an_api_that_takes_addresses_is_given_them() -> None:
    body, _ = sent("chat_completions", Image(url=URL), fetch={})
    assert URL in body


# --- sound and documents ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "form", "changes"),
    [
        (Audio(DATA["audio/wav"], "audio/x-wav"), "wav", []),
        (Audio(DATA["audio/mpeg"], "audio/mp3"), "mp3", []),
        (Audio(DATA["audio/mpeg"]), "mp3", []),
        (Audio(DATA["audio/mpeg"], "audio/wav"), "mp3", ["coerced"]),
    ],
)
def test_sound_for_chat(block: Any, form: str, changes: list[str]) -> None:
    _, conversion = sent("chat_completions", block)
    part = conversion.to_json()["messages"][0]["content"][1]
    assert part == {"type": "input_audio", "input_audio": {"data": block.data, "format": form}}
    assert kinds(conversion) == changes


@over_apis
def test_sound_that_is_not_taken(api: str) -> None:
    assert "audio" in str(refused(api, Audio(DATA["audio/flac"], "audio/flac")))
    body, conversion = sent(api, Audio(DATA["audio/flac"], "audio/flac"), unsupported_media="text")
    assert "not sent" in body
    assert kinds(conversion) == ["rewritten"]


WORDS = "la la la"
NO_SOUND = ("codex_responses", "anthropic_messages", "cohere_chat")
"""APIs that take no audio at all; the rest may know a model that hears none."""


def unheard(api: str, **fields: Any) -> tuple[Any, dict[str, Any]]:
    """Sound that an API cannot be given, and the settings by which that is so."""
    facts = {} if api in NO_SOUND else {"facts": {"audio_in": False}}
    return Audio(DATA["audio/wav"], "audio/wav", **fields), facts


@over_all
@pytest.mark.parametrize("transcript", [None, " ", WORDS])
def test_sound_is_refused_unless_words_may_stand_for_it(api: str, transcript: str | None) -> None:
    sound, facts = unheard(api, transcript=transcript)
    message = refused(api, sound, **facts).message
    assert "unsupported_media='text'" in message
    assert "give its transcript" not in message
    assert ("to send its transcript" in message) is (transcript == WORDS)


@over_all
@pytest.mark.parametrize("transcript", [None, " ", WORDS])
def test_the_transcript_of_sound_stands_for_it_and_a_note_where_there_is_none(api: str, transcript: str | None) -> None:
    sound, facts = unheard(api, transcript=transcript)
    body, conversion = sent(api, sound, unsupported_media="text", **facts)
    (change,) = conversion.changes
    assert (change.kind, change.refs) == ("rewritten", ((0, 1),))
    assert (WORDS in body, "[audio/wav not sent]" in body) == (transcript == WORDS, transcript != WORDS)
    assert ("transcript" in change.why, "a note" in change.why) == (transcript == WORDS, transcript != WORDS)


@over_all
def test_the_transcript_stands_for_sound_in_a_result_too(api: str) -> None:
    sound, facts = unheard(api, transcript=WORDS)
    stack = [
        turn("user", "q"),
        turn("assistant", ActionCallMessageContent("c1", "hear")),
        turn("user", ActionResultMessageContent("c1", parts=(TextMessageContent("here"), sound))),
    ]
    with pytest.raises(ConversionError, match="to send its transcript") as caught:
        made(api, stack, **facts)
    assert caught.value.refs == ((2, 0),)
    found = made(api, stack, unsupported_media="text", **facts)
    assert WORDS in json.dumps(found.to_json())
    whys = [change.why for change in found.changes if change.kind == "rewritten"]
    assert any("its transcript stands for it" in why for why in whys)


@over_all
def test_sound_that_only_its_maker_keeps_is_its_transcript_where_sound_is_taken(api: str) -> None:
    kept_there = Audio(transcript=WORDS)
    if api in NO_SOUND:
        assert "to send its transcript" in refused(api, kept_there).message
        return
    body, conversion = sent(api, kept_there)
    assert WORDS in body
    assert kinds(conversion) == ["rewritten"]


@over_apis
def test_a_document(api: str) -> None:
    body, conversion = sent(api, Document(DATA["application/pdf"], media_type="application/pdf", name="a.pdf"))
    assert DATA["application/pdf"] in body
    assert "a.pdf" in body
    assert conversion.changes == ()


@over_apis
def test_a_document_of_text(api: str) -> None:
    body, _ = sent(api, Document(text="größe", name="a.txt"))
    assert "gr\\u00f6\\u00dfe" in body or b64("größe".encode()) in body


@over_apis
def test_text_of_two_bytes_a_character_is_no_sound(api: str) -> None:
    _, conversion = sent(api, Document(b64("hällo".encode("utf-16")), media_type="text/plain", name="a.txt"))
    assert conversion.changes == ()


@pytest.mark.parametrize(
    ("api", "taken"), [("chat_completions", False), ("codex_responses", True), ("anthropic_messages", True)]
)
def test_addresses_of_documents(api: str, taken: bool) -> None:
    block = Document(url="https://x.test/a.pdf")
    if taken:
        assert "https://x.test/a.pdf" in sent(api, block)[0]
    else:
        assert "https://x.test/a.pdf" in str(refused(api, block))


@over_apis
def test_ids_of_files(api: str) -> None:
    assert "file_1" in sent(api, Document(file_id="file_1"))[0]


# --- the parts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("media_type", "name"), [("application/pdf", "document.pdf"), ("text/csv", "document.csv"), (None, "document.pdf")]
)
def test_a_document_without_a_name(media_type: str | None, name: str) -> None:
    assert file_name(None, media_type) == name
    assert file_name("mine.txt", media_type) == "mine.txt"


def test_a_note() -> None:
    assert as_note(SVG) == "[image/svg+xml not sent]"
    assert as_note(Document(name="a.pdf")) == "[a.pdf not sent]"


def test_a_medium_knows_its_forms() -> None:
    assert Medium("image/png", data="AAAA").data_url == "data:image/png;base64,AAAA"
    assert Medium("image/png", data="AAAA").to_bytes() == b"\0\0\0"
    assert Medium("image/png", url="https://x.test/a").data_url == "https://x.test/a"


def test_long_addresses_are_shortened_in_messages() -> None:
    assert shortened("https://x.test/a") == "https://x.test/a"
    assert len(shortened("https://x.test/" + "a" * 500)) < 100


def test_addresses_of_an_api_of_its_own() -> None:
    made_job = job([turn("user", Image(url="s3://bucket/a.png"))], facts={"image_url": False})
    block = made_job.messages[0].content[0]
    found = resolve(block, made_job, family="image", url=False, addresses=("s3://",))
    assert found == Medium("image/png", url="s3://bucket/a.png")
    assert told(made_job) == []


@over_apis
def test_texts_are_no_media(api: str) -> None:
    assert (
        said(api, made(api, [turn("user", TextMessageContent("data:image/png;base64,AAAA"))]).to_json())[0][1] == "text"
    )
