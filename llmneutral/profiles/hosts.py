"""Which endpoint an address is: parsed host and path, never a part of a string.

What must live here: how base_url and provider names are read, so that resolving an API mode and looking up facts
agree; which hosts belong to which endpoint stands in the table at the end. This file knows no API.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec


class Address(msgspec.Struct, frozen=True):
    """A base_url, read.

    Attributes:
        scheme: In lower case; "" where none was written.
        host: In lower case, without port, user and trailing dot; "" where there is none.
        path: In lower case, without trailing slashes, query and fragment.
        has_userinfo: Credentials stood before the host; they are not used.
        problem: Why the address could not be read, or None.
    """

    scheme: str = ""
    host: str = ""
    path: str = ""
    has_userinfo: bool = False
    problem: str | None = None

    def within(self, *domains: str) -> bool:
        """Tells whether the host is one of the domains, or below it."""
        return is_within(self.host, *domains)

    @property
    def is_public(self) -> bool:
        """Whether the host may be reached over a network that is not one's own."""
        return bool(self.host) and not is_private(self.host)


NOWHERE = Address()
"""No address."""


@lru_cache(maxsize=1024)
def read_address(base_url: str | None) -> Address:
    """Returns what an address says; what cannot be read is no address, with a `problem`.

    Args:
        base_url: With or without a scheme ("api.anthropic.com").
    """
    text = (base_url or "").strip()
    if not text:
        return NOWHERE
    try:
        parts = urlsplit(text if "://" in text or text.startswith("//") else f"//{text}")
        host = (parts.hostname or "").removesuffix(".")
        _ = parts.port  # raises for a port that is no number
    except ValueError as error:
        return Address(problem=str(error))
    if not host:
        return Address(problem="it names no host")
    if any(sign.isspace() or not sign.isprintable() for sign in host):
        return Address(problem="its host holds a blank")
    return Address(parts.scheme.lower(), host, parts.path.lower().rstrip("/"), "@" in parts.netloc)


def is_within(host: str, *domains: str) -> bool:
    """Tells whether a host is one of the domains, or below it: by whole labels, never by a part of a text."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


@lru_cache(maxsize=64)
def is_private(host: str) -> bool:
    """Tells whether a host is this machine, or in a network of one's own."""
    if host in ("localhost", "host.docker.internal") or is_within(host, "localhost", "local", "internal", "lan"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return "." not in host
    return address.is_private or address.is_loopback or address.is_link_local


def is_bedrock_runtime(host: str) -> bool:
    """Tells whether a host is a runtime of Bedrock, in whatever region.

    https://docs.aws.amazon.com/general/latest/gr/bedrock.html
    """
    return is_within(host, "amazonaws.com", "amazonaws.com.cn") and bool(
        {"bedrock-runtime", "bedrock-runtime-fips"} & {*host.split(".")}
    )


def normalize_provider(provider: str | None) -> str | None:
    """Returns the one spelling of a provider's name; a blank name is none.

    Args:
        provider: As the caller wrote it: case, `-` or `_` and known other names do not matter.
    """
    name = (provider or "").strip().lower().replace("_", "-")
    return _PROVIDER_ALIASES.get(name, name) or None


@lru_cache(maxsize=1024)
def find_endpoint(provider: str | None, base_url: str | None) -> str | None:
    """Returns the id of the endpoint, None where neither address nor name tells one.

    A known host decides; else the provider's name does. But a vendor that has one official endpoint is not what answers
    behind an unknown host: that is a relay, of which nothing is known.

    Args:
        provider: The provider's name, in any spelling.
        base_url: The address.
    """
    address = read_address(base_url)
    for endpoint, hosts in ENDPOINT_HOSTS.items():
        if address.host and is_within(address.host, *hosts):
            return endpoint
    if address.host.endswith("-aiplatform.googleapis.com"):
        return "vertex"
    if is_bedrock_runtime(address.host):
        return "bedrock"
    name = normalize_provider(provider)
    if name is None or (address.host and name in OFFICIAL_URLS):
        return None
    return PROVIDER_ENDPOINTS.get(name, name)


_PROVIDER_ALIASES = {
    "google": "gemini",
    "google-genai": "gemini",
    "google-ai-studio": "gemini",
    "aws": "bedrock",
    "azure-openai": "azure",
    "moonshotai": "moonshot",
    "kimi": "moonshot",
}

PROVIDER_ENDPOINTS = {
    "openai-codex": "codex",
    "xai-oauth": "xai",
    "grok": "xai",
    "z-ai": "zai",
    "zhipu": "zai",
    "zhipuai": "zai",
    "alibaba": "dashscope",
    "qwen": "dashscope",
    "nous-portal": "nous",
    "nousresearch": "nous",
    "llama-cpp": "llamacpp",
    "llama.cpp": "llamacpp",
    "lm-studio": "lmstudio",
    "github-copilot": "copilot",
    "togetherai": "together",
    "hf": "huggingface",
}
"""Names that stand for an endpoint of another name."""

OFFICIAL_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "cohere": "https://api.cohere.com",
    "mistral": "https://api.mistral.ai/v1",
    "xai": "https://api.x.ai/v1",
    "bedrock": "https://bedrock-runtime.us-east-1.amazonaws.com",
}
"""Where a provider is that is named without an address. (Bedrock's region does not matter here.)"""

ENDPOINT_HOSTS: dict[str, tuple[str, ...]] = {
    "openai": ("api.openai.com",),
    "codex": ("chatgpt.com",),
    "anthropic": ("api.anthropic.com",),
    "gemini": ("generativelanguage.googleapis.com",),
    "vertex": ("aiplatform.googleapis.com",),
    "cohere": ("api.cohere.com", "api.cohere.ai"),
    "mistral": ("api.mistral.ai", "codestral.mistral.ai"),
    "xai": ("api.x.ai",),
    "azure": ("openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com", "models.ai.azure.com"),
    "bedrock-mantle": ("api.aws",),
    "copilot": ("githubcopilot.com",),
    "github": ("models.github.ai",),
    "deepseek": ("api.deepseek.com",),
    "moonshot": ("api.moonshot.ai", "api.moonshot.cn"),
    "kimi-coding": ("api.kimi.com",),
    "minimax": ("api.minimax.io", "api.minimaxi.com", "api.minimax.chat"),
    "dashscope": (
        "dashscope.aliyuncs.com",
        "dashscope-intl.aliyuncs.com",
        "dashscope-us.aliyuncs.com",
        "dashscope-finance.aliyuncs.com",
    ),
    "zai": ("api.z.ai", "open.bigmodel.cn"),
    "mimo": ("api.xiaomimimo.com",),
    "openrouter": ("openrouter.ai",),
    "groq": ("api.groq.com",),
    "together": ("api.together.xyz", "api.together.ai"),
    "fireworks": ("api.fireworks.ai",),
    "cerebras": ("api.cerebras.ai",),
    "perplexity": ("api.perplexity.ai",),
    "huggingface": ("router.huggingface.co",),
    "nous": ("inference-api.nousresearch.com",),
    "meta": ("api.meta.ai", "api.llama.com"),
    "ollama": ("ollama.com",),
}
"""The hosts of each endpoint; what is below a host belongs to it as well. Local servers are known by name only."""
