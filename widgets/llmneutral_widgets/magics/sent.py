"""`%payload` and `%deltas`: what is sent, and what came.

What must live here: that a question may be more than one request. Where calls were run, or an answer was asked for
again, each request stands under a heading, the last one open.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from llmneutral_widgets import comparing, limits
from llmneutral_widgets.bundles import Bundle
from llmneutral_widgets.exchange import Exchange, Request
from llmneutral_widgets.lines.interpolation import only_place, resolve
from llmneutral_widgets.lines.options import OptionError, in_quotes
from llmneutral_widgets.lines.prompt_line import DELTAS, PAYLOAD
from llmneutral_widgets.magics import keeping
from llmneutral_widgets.magics.inspecting import alone, read
from llmneutral_widgets.magics.prompting import Here
from llmneutral_widgets.notes import note
from llmneutral_widgets.recording import clean_record, stopped_at
from llmneutral_widgets.views.deltas import EMPTY, deltas_page, deltas_text
from llmneutral_widgets.views.page import Html, count, fold
from llmneutral_widgets.views.terminal import wrapped

Numbered = list[tuple[int, Request]]
"""Requests with their numbers, from 1."""
Asked = list[tuple[Exchange, Request]]
"""Requests that were made of the same conversation, each with the exchange it belongs to."""


def numbered(exchange: Exchange, chosen: int | None) -> Numbered:
    """Returns the requests of an exchange, or the one that was chosen.

    Raises:
        OptionError: If there is none of this number.
    """
    found = list(enumerate(exchange.requests, 1)) or [(1, _only(exchange))]
    if chosen is None:
        return found
    if chosen > len(found):
        raise OptionError(f"--round {chosen}: the exchange has {count(len(found), 'request')}")
    return [found[chosen - 1]]


def _only(exchange: Exchange) -> Request:
    """The request of an exchange whose requests are not kept any more: the first."""
    return Request(exchange.conversion, exchange.stack, exchange.deltas, lost_chunks=exchange.lost_chunks)


def _head(number: int, exchange: Exchange, to: str = "") -> str:
    why = " with the results of the calls" if number > 1 else " of the question"
    is_repair = bool(exchange.requests) and exchange.requests[number - 1].is_repair
    which = f"request {number} of {max(1, len(exchange.requests))}{to}"
    return f"{which},{' for an answer that fits' if is_repair else why}"


def _publish(here: Here, shown: Sequence[tuple[str, Bundle]]) -> None:
    """Shows outputs, each under its heading, all but the last one folded; a heading of nothing is none."""
    for place, (head, bundle) in enumerate(shown, 1):
        here.publish(_headed(head, bundle, is_open=place == len(shown)) if head else bundle)


def _headed(head: str, bundle: Bundle, *, is_open: bool) -> Bundle:
    html = fold(head, Html(bundle.data["text/html"]), is_open=is_open)
    data = {"text/html": str(html), "text/plain": f"{head}\n{bundle.data['text/plain']}"}
    return Bundle(data, printed=lambda width: "\n".join([*wrapped(head, width), bundle.text(width)]))


# ----------------------------------------------------------------------------------------------------------------------
# %payload


def payload(here: Here, line: str) -> None:
    """Shows what is sent: the last requests beside what the other APIs would be sent, or the conversation for some."""
    if "--compare" in line.split():
        raise OptionError("%payload compares without an option: %payload openai anthropic, or %payload all")
    found = read(PAYLOAD, line)
    if found is None:
        return
    chosen = found.values.get("round")
    if found.words and chosen is not None:
        raise OptionError("--round shows a request that was sent: it goes with no API and no variable")
    shown: list[tuple[str, Bundle]] = []
    models = comparing.models_of(found.values.get("models"))
    if found.words:
        source, conversions = _for_apis(here, found.words, models)
        said = comparing.two_meanings(_written(found.words), here.session.providers)
        shown.append(("", _shown(found.values, conversions, source, (), said)))
    else:
        for head, asked, is_alone in _asked_last(here, chosen):
            source, sent = asked[0][1].stack, _sent(asked)
            conversions = sent if is_alone and sent else _beside(here, asked[0][1], sent, models)
            shown.append((head, _shown(found.values, conversions, source, sent)))
    _publish(here, shown)
    if out := found.values.get("out"):
        here.ip.user_ns[out] = conversions


def _shown(
    values: Mapping[str, Any],
    conversions: Mapping[str, Any],
    source: Any,
    sent: Container[str],
    said: Sequence[str] = (),
) -> Bundle:
    if values.get("changes"):
        return comparing.changes_bundle(conversions)
    return comparing.compared(conversions, None if values.get("json") else source, sent, said)


def _last(here: Here) -> Exchange:
    """The last exchange of which it is known what was sent."""
    last = here.session.last
    if last is None or last.stack is None:
        raise OptionError("nothing was sent yet: %%prompt asks, %%prompt --compare all only converts")
    return last


def _asked_last(here: Here, chosen: int | None) -> list[tuple[str, Asked, bool]]:
    """What was sent last, request by request, each with its heading, and whether it stands alone.

    Where several were asked, they were all sent the same conversation first; what each was sent after that is its own.
    The last request of the one that goes on with the conversation comes last.
    """
    first = _last(here)
    several = [each for each in here.session.results if each.stack is not None]
    found: list[tuple[str, Asked, bool]] = []
    if chosen in (None, 1):
        asked = [(each, numbered(each, 1)[0][1]) for each in several]
        are_more = any([len(each.requests) > 1 for each in several])
        found.append((_head(1, first) if are_more else "", asked, True))
    for each in [*several[1:], first]:
        for number, request in numbered(each, None if each is not first else chosen):
            if number > 1 and chosen in (None, number):
                to = f" to {each.provider}" if len(several) > 1 else ""
                found.append((_head(number, each, to), [(each, request)], True))
    return [*found[:-1], (*found[-1][:2], False)]


def _sent(asked: Asked) -> dict[str, Any]:
    """What was sent, each under its API; some drivers make their own, which nobody here has seen."""
    found: dict[str, Any] = {}
    for exchange, request in asked:
        if (made := request.conversion) is not None:
            found[comparing.column_name(found, str(made.api), exchange.provider, exchange.model)] = made
    return found


def _beside(here: Here, request: Request, sent: Mapping[str, Any], models: Mapping[str, str]) -> dict[str, Any]:
    """What was sent, and beside it what the main APIs would be sent."""
    if request.stack is None:
        return dict(sent)
    others = [api for api in comparing.MAIN if api not in sent]
    # Beside a request that was streamed stand requests that would be: else the columns differ in more than their API.
    stream = bool(request.deltas) or (not sent and here.settings.stream)
    comparing.check_models(models, others)
    made = comparing.conversions(request.stack, others, here.session.providers, stream=stream, models=models)
    return {**sent, **made}


def _written(words: Sequence[str]) -> list[str]:
    """The names of APIs among words."""
    return [name for word in words if only_place(word) is None for name in word.split(",") if name]


def _for_apis(here: Here, words: Sequence[str], models: Mapping[str, str]) -> tuple[Any, dict[str, Any]]:
    places = [word for word in words if only_place(word) is not None]
    alone(places, 1, "%payload converts one conversation")
    written = _written(words)
    made = resolve(str(only_place(places[0])), here.namespace) if places else None
    if isinstance(made, _conversion()):
        alone([*written, *(["-m"] if models else [])], 0, f"{places[0]} is a Conversion already, for {made.api}")
        return None, {made.api: made}
    apis = comparing.apis_of(written or comparing.MAIN)
    comparing.check_models(models, apis)
    if places:
        return _converted_for(here, keeping.stack_at(places[0], here.namespace), apis, models)
    conversation = here.session.conversation()
    source = conversation.stack(is_request=True)
    if not source.messages:
        raise OptionError(f"the conversation {conversation.name} is empty: %%prompt adds the first message")
    return _converted_for(here, source, apis, models)


def _conversion() -> Any:
    import llmneutral

    return llmneutral.Conversion


def _converted_for(
    here: Here, source: Any, apis: Sequence[str], models: Mapping[str, str]
) -> tuple[Any, dict[str, Any]]:
    asked = here.session.providers.asked(None, None, here.namespace)
    stream = bool(source.settings.get("stream", here.settings.stream))
    providers = here.session.providers
    found = comparing.conversions(source, apis, providers, asked.driver, asked.model, stream=stream, models=models)
    return source, found


# ----------------------------------------------------------------------------------------------------------------------
# %deltas


def deltas(here: Here, line: str) -> None:
    """Shows a stream as it came, or each of the streams of a question."""
    found = read(DELTAS, line)
    if found is None:
        return
    chosen = found.values.get("round")
    if found.words[:1] == ("save",):
        _save_deltas(here, found.words[1:], found.values.get("provider"), chosen)
        return
    alone(found.words, 1, "%deltas shows one exchange")
    exchange = _chosen(here, found.words, found.values.get("provider"))
    if exchange is None:
        _publish(here, [("", _stream(Request(), ()))])
        return
    badges = [exchange.status] if exchange.status != "complete" else []
    shown = [
        (
            _head(number, exchange) if len(exchange.requests) > 1 else "",
            _stream(request, badges if number == max(1, len(exchange.requests)) else ()),
        )
        for number, request in numbered(exchange, chosen)
    ]
    _publish(here, shown)


def _stream(request: Request, badges: Sequence[str]) -> Bundle:
    stopped = stopped_at(request)
    record, now = clean_record(request.deltas), limits.current()
    shown = deltas_page(record, stopped=stopped, badges=badges, limits=now)
    told = stopped or (count(len(request.deltas), "chunk") if request.deltas else None)
    data = {"text/html": str(shown), "text/plain": EMPTY if told is None else f"{told} recorded"}
    return Bundle(data, printed=lambda width: deltas_text(record, width, stopped=stopped, badges=badges, limits=now))


def _save_deltas(here: Here, words: Sequence[str], name: str | None, chosen: int | None) -> None:
    """Writes recordings, one for each answer of the question: what they hold is played by `-p replay:FILE`."""
    import llmneutral
    from llmneutral_widgets.ipynb.notebook_file import NotebookError, check_replaced

    if len(words) != 1:
        raise OptionError("%deltas save takes one file")
    exchange = _chosen(here, (), name)
    requests = [] if exchange is None else numbered(exchange, chosen)
    records = [request.deltas for _, request in requests]
    if exchange is None or exchange.api is None or not any(records):
        raise OptionError("no stream is recorded: %%prompt records one, unless it is asked with --no-stream")
    path = Path(words[0]).expanduser()
    api, model = exchange.api, exchange.model
    try:
        check_replaced(path)
        _check_playable(requests, len(exchange.requests))
        for number, record in enumerate(records):
            pieces = map(tuple, clean_record(record))
            llmneutral.save_recording(path, pieces, api=api, model=model, append=number > 0)
    except NotebookError as error:
        raise OptionError(f"%deltas save {error}") from None
    except OSError as error:
        raise OptionError(f"%deltas save {words[0]}: {error.strerror}") from None
    what = count(sum(map(len, records)), "chunk") + (f" of {len(records)} answers" if len(records) > 1 else "")
    is_last = not exchange.requests or requests[-1][0] == len(exchange.requests)
    is_whole = not is_last or getattr(exchange.response, "complete", False)
    until = "" if is_whole else ", up to where the answer broke off"
    note(f"{what} written to {path.name}; -p {in_quotes(f'replay:{words[0]}')} plays them{until}")


def _check_playable(requests: Numbered, total: int) -> None:
    """Looks whether a replay of all requests would give what they gave.

    Raises:
        OptionError: If it would not.
    """
    import llmneutral

    for number, request in requests:
        if any([isinstance(chunk, llmneutral.DeltaMessage) for _, chunk, _ in request.deltas]):
            raise OptionError("the driver makes its deltas itself: there are no chunks of a provider's to be played")
        if stopped := stopped_at(request):
            raise OptionError(f"the recording is not whole ({stopped} are kept): a replay would break off there")
        if not request.deltas:
            raise OptionError(f"request {number} of {total} has no recording: --round N saves that of another one")


def _chosen(here: Here, words: Sequence[str], name: str | None) -> Exchange | None:
    if words:
        return here.session.find(words[0])
    if name is None:
        return here.session.last
    found = [exchange for exchange in here.session.results if exchange.provider == name]
    if not found:
        asked = ", ".join([str(exchange.provider) for exchange in here.session.results]) or "nobody yet"
        raise OptionError(f"-p {name} was not asked last; asked: {asked}")
    return found[0]
