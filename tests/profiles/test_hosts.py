"""Addresses are parsed, never searched; names of providers have one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral.profiles import (
    ENDPOINT_HOSTS,
    ENDPOINT_ROWS,
    OFFICIAL_URLS,
    Address,
    find_endpoint,
    is_private,
    is_within,
    normalize_provider,
    read_address,
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://API.X.AI/v1", Address("https", "api.x.ai", "/v1")),
        ("https://eu.api.openai.com:443/v1/", Address("https", "eu.api.openai.com", "/v1")),
        ("https://user:pw@api.anthropic.com./", Address("https", "api.anthropic.com", "", True)),
        ("api.anthropic.com", Address("", "api.anthropic.com")),
        ("localhost:11434/v1", Address("", "localhost", "/v1")),
        ("//h.test/A/B//?key=1#x", Address("", "h.test", "/a/b")),
        ("acp://copilot", Address("acp", "copilot")),
        ("http://[::1]:8080/v1", Address("http", "::1", "/v1")),
        ("  ", Address()),
        ("", Address()),
        (None, Address()),
    ],
)
def test_what_an_address_says(url: str | None, expected: Address) -> None:
    assert read_address(url) == expected


@pytest.mark.parametrize("url", ["http://[::1", "https://", "https://h.test:port/", "http://a b/", "https:///v1"])
def test_what_cannot_be_read_is_no_address(url: str) -> None:
    address = read_address(url)
    assert address.problem
    assert (address.host, address.path) == ("", "")


@given(st.text(max_size=40))
def test_no_text_is_too_odd_for_an_address(text: str) -> None:
    assert isinstance(read_address(text), Address)


def test_hosts_are_compared_by_whole_labels() -> None:
    assert is_within("api.openai.com", "api.openai.com")
    assert is_within("eu.api.openai.com", "x", "api.openai.com")
    assert not is_within("notapi.openai.com", "api.openai.com")
    assert not is_within("api.openai.com.evil.test", "api.openai.com")
    assert not is_within("", "api.openai.com")


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("192.168.0.4", True),
        ("::1", True),
        ("fe80::1%eth0", True),
        ("gpu-box", True),
        ("gpu.local", True),
        ("api.openai.com", False),
        ("8.8.8.8", False),
        ("localhost.evil.test", False),
    ],
)
def test_private_hosts(host: str, private: bool) -> None:
    assert is_private(host) is private
    assert read_address(f"http://[{host}]/" if "::1" in host and "%" not in host else f"http://{host}/").is_public in (
        not private,
        False,
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (" OpenAI ", "openai"),
        ("google", "gemini"),
        ("google_genai", "gemini"),
        ("Google-AI-Studio", "gemini"),
        ("aws", "bedrock"),
        ("azure_openai", "azure"),
        ("moonshotai", "moonshot"),
        ("kimi", "moonshot"),
        ("xai_oauth", "xai-oauth"),
        ("custom", "custom"),
        ("  ", None),
        ("", None),
        (None, None),
    ],
)
def test_names_of_providers(name: str | None, expected: str | None) -> None:
    assert normalize_provider(name) == expected


@pytest.mark.parametrize(
    ("provider", "url", "expected"),
    [
        (None, "https://eu.api.openai.com/v1", "openai"),
        (None, "https://europe-west1-aiplatform.googleapis.com/v1", "vertex"),
        (None, "https://aiplatform.googleapis.com/v1", "vertex"),
        (None, "https://bedrock-runtime.eu-west-1.amazonaws.com", "bedrock"),
        (None, "https://vpce-1.bedrock-runtime-fips.us-east-1.vpce.amazonaws.com", "bedrock"),
        (None, "https://bedrock-mantle.us-east-1.api.aws/anthropic", "bedrock-mantle"),
        (None, "https://acme.openai.azure.com/openai/v1", "azure"),
        (None, "https://open.bigmodel.cn/api/paas/v4", "zai"),
        (None, "https://bedrock-runtime.eu-west-1.evil.test", None),
        (None, "https://api.openai.com.evil.test", None),
        (None, None, None),
        ("deepseek", "https://api.moonshot.ai/v1", "moonshot"),
        ("vllm", "http://localhost:8000/v1", "vllm"),
        ("LM_Studio", None, "lmstudio"),
        ("llama.cpp", None, "llamacpp"),
        ("grok", None, "xai"),
        ("kimi", None, "moonshot"),
        ("custom", "https://llm.acme.test", "custom"),
        ("anthropic", None, "anthropic"),
        ("anthropic", "https://relay.acme.test", None),
        ("openai", "http://127.0.0.1:9/v1", None),
        ("openai", "http://[::1", "openai"),
    ],
)
def test_endpoints(provider: str | None, url: str | None, expected: str | None) -> None:
    assert find_endpoint(provider, url) == expected


def test_every_host_belongs_to_one_endpoint_only() -> None:
    for endpoint, hosts in ENDPOINT_HOSTS.items():
        for host in hosts:
            assert find_endpoint(None, f"https://{host}/v1") == endpoint
            assert find_endpoint(None, f"https://sub.{host}/v1") == endpoint
            assert find_endpoint(None, f"https://not{host}/v1") is None


def test_official_addresses_are_those_of_their_providers() -> None:
    for provider, url in OFFICIAL_URLS.items():
        assert find_endpoint(None, url) == find_endpoint(provider, None) == provider


def test_rows_of_endpoints_can_be_reached() -> None:
    named = {find_endpoint(name, None) for name in ENDPOINT_ROWS}
    assert named == {*ENDPOINT_ROWS}
