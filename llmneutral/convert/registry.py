"""Which transport speaks an API mode: the mechanism. The built-in table stands in `llmneutral.transports`.

Third parties register by `register_transport`, or by an entry point of the group `llmneutral.transports`
whose name is the API mode and whose value is a Transport, or a class derived from `ProviderTransport`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from llmneutral.errors import ConfigurationError

if TYPE_CHECKING:
    from llmneutral.convert.provider_transport import ProviderTransport
    from llmneutral.convert.transport import Transport

GROUP = "llmneutral.transports"
_transports: dict[str, Transport | ProviderTransport | Callable[[], Transport | ProviderTransport]] = {}


def register_transport(
    api_mode: str, transport: Transport | ProviderTransport | Callable[[], Transport | ProviderTransport]
) -> None:
    """Registers a transport, or what makes it at its first use, for an API mode; the last one stands."""
    _transports[api_mode] = transport


def registered() -> list[str]:
    """Returns the API modes that have a transport, in the order of their registration."""
    return [*_transports, *[point.name for point in entry_points(group=GROUP) if point.name not in _transports]]


def get_transport(api_mode: str) -> Transport:
    """Returns the transport of an API mode.

    Raises:
        ConfigurationError: If none is registered, with the known ones.
    """
    found = _transports.get(api_mode)
    if found is None:
        found = next((point.load() for point in entry_points(group=GROUP) if point.name == api_mode), None)
    if found is None:
        raise ConfigurationError(f"no transport for the API mode {api_mode!r}; known: {', '.join(registered())}")
    made: Any = found() if callable(found) else found
    if not hasattr(made, "convert"):  # a `ProviderTransport`: what its four methods do, as a value
        from llmneutral.convert.provider_transport import as_transport

        made = as_transport(made)
    transport: Transport = made
    _transports[api_mode] = transport
    return transport
