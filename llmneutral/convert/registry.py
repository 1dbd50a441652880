"""Which transport speaks an API mode: the mechanism. The built-in table stands in `llmneutral.transports`.

Third parties register by `register_transport`, or by an entry point of the group `llmneutral.transports`
whose name is the API mode and whose value is a Transport, or a class derived from `ProviderTransport`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from llmneutral.errors import ConfigurationError
from llmneutral.errors.wording import a_kind

if TYPE_CHECKING:
    from llmneutral.convert.provider_transport import ProviderTransport
    from llmneutral.convert.transport import Transport

GROUP = "llmneutral.transports"
OF_A_PROVIDER = ("build_kwargs", "normalize_response")
_transports: dict[str, Transport | ProviderTransport | Callable[[], Transport | ProviderTransport]] = {}


def register_transport(
    api_mode: str, transport: Transport | ProviderTransport | Callable[[], Transport | ProviderTransport]
) -> None:
    """Registers a transport, or what makes it at its first use, for an API mode; the last one stands.

    Raises:
        ConfigurationError: If the mode is no text or blank, or the transport is none.
    """
    given: Any = api_mode
    if not isinstance(given, str) or not given.strip():
        raise ConfigurationError(f"the API mode of a transport is {api_mode!r}; give a name")
    if not callable(transport):
        _check(api_mode, transport)
    _transports[api_mode] = transport


def _check(api_mode: str, transport: Any) -> None:
    if not hasattr(transport, "convert") and not all([hasattr(transport, name) for name in OF_A_PROVIDER]):
        what = f"the transport of {api_mode!r} is {a_kind(transport)}"
        raise ConfigurationError(f"{what}; give a Transport, or a class derived from ProviderTransport")


def _made(api_mode: str, found: Any) -> Any:
    if not callable(found):
        return found
    try:
        return found()
    except TypeError as error:  # an abstract class, or one that takes arguments
        what = f"the transport of {api_mode!r} cannot be made: {error}"
        raise ConfigurationError(what, hint="Give an instance, or a callable without arguments.") from error


def registered() -> list[str]:
    """Returns the API modes that have a transport, in the order of their registration."""
    return [*_transports, *[point.name for point in entry_points(group=GROUP) if point.name not in _transports]]


def get_transport(api_mode: str) -> Transport:
    """Returns the transport of an API mode.

    Raises:
        ConfigurationError: If none is registered, with the known ones, or what is registered is none.
    """
    found = _transports.get(api_mode)
    if found is None:
        found = next((point.load() for point in entry_points(group=GROUP) if point.name == api_mode), None)
    if found is None:
        raise ConfigurationError(f"no transport for the API mode {api_mode!r}; known: {', '.join(registered())}")
    made: Any = _made(api_mode, found)
    _check(api_mode, made)
    if not hasattr(made, "convert"):  # a `ProviderTransport`: what its four methods do, as a value
        from llmneutral.convert.provider_transport import as_transport

        made = as_transport(made)
    transport: Transport = made
    _transports[api_mode] = transport
    return transport
