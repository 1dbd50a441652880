"""What a call says of itself: neither that nor what a provider says shows the key."""

from __future__ import annotations

import json
import pickle
import traceback

import pytest

from llmneutral import BaseEvent, EventBus, LLMNeutralError
from llmneutral.errors import MASK
from tests.drivers.endpoints import APIS, KEY, WAYS, Asking, chunks_of, deltas_before, driver_for
from tests.drivers.test_http_answers import fails, inside
from tests.loopback import Loopback, page, streamed, whole

apis = pytest.mark.parametrize("api", APIS)
ways = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
streams = pytest.mark.parametrize("ask", [WAYS["stream"], WAYS["astream"]], ids=["stream", "astream"])


# --- secrets ----------------------------------------------------------------------------------------------------------


LEAKS = [
    whole({"error": {"message": f"Incorrect key {KEY} given", "type": "x"}}, 401),
    page(f"you sent {KEY}", 500, "text/plain"),
    page(f"you sent {KEY}"),
    whole({"error": {"message": f"with {KEY}", "type": "invalid_request_error"}}),
    streamed([f"{{{KEY}"]),
]


def shown(error: BaseException) -> str:
    """Everything that a user may see of an error."""
    lines = traceback.format_exception(error)
    render: list[str] = getattr(error, "_render_traceback_", list)()
    return "\n".join([*lines, repr(error), str(error), *render, repr(vars(error)), repr(error.args)])


@apis
@ways
def test_no_error_holds_the_key(api: str, ask: Asking) -> None:
    for leak in LEAKS:
        heard: list[BaseEvent] = []
        handle = EventBus.on(BaseEvent, heard.append)
        try:
            error = fails(api, leak, ask=ask)
        finally:
            handle.off()
        text = shown(error)
        assert KEY not in text
        assert MASK in text
        assert error.__cause__ is None
        assert error.__context__ is None
        assert KEY not in repr(heard)
        assert KEY.encode() not in pickle.dumps(error)


@apis
@streams
def test_no_response_holds_the_key_of_an_error_inside_it(api: str, ask: Asking) -> None:
    for chunks in inside(api, "invalid_request_error", f"no: {KEY}"):
        with Loopback(streamed(chunks)) as server, driver_for(api, server) as driver:
            response = ask(driver, "hi", on_error="return")
        assert response.error is not None
        assert KEY not in json.dumps(response.to_dict())
        assert MASK in response.error.message


@apis
def test_no_delta_and_no_repr_holds_the_key(api: str) -> None:
    chunks = [*chunks_of(api)[: deltas_before(api) + 2], *inside(api, "overloaded_error", KEY)[0]]
    with Loopback(streamed(chunks)) as server, driver_for(api, server) as driver:
        stream = driver.stream("hi", on_error="return")
        deltas = list(stream)
        texts = [repr(deltas), repr(stream.response), repr(driver), repr(driver.preview("hi")), repr(stream)]
    assert KEY not in "\n".join(texts)
    assert any(delta.kind == "error" for delta in deltas)


def test_keys_in_headers_and_in_clients_are_secrets_too() -> None:
    import openai

    leak = whole({"error": {"message": "with header-secret-1 and client-secret-2 for team-red-green"}}, 400)
    with Loopback(leak) as server, openai.OpenAI(api_key="client-secret-2", base_url=server.url, max_retries=0) as own:
        headers = {"X-Auth-Token": "header-secret-1", "X-Team": "team-red-green"}
        driver = driver_for("chat_completions", server, client=own, headers=headers)
        with pytest.raises(LLMNeutralError) as caught:
            driver.run("hi")
    assert "header-secret" not in shown(caught.value)
    assert "client-secret" not in shown(caught.value)
    assert "team-red-green" in str(caught.value)
