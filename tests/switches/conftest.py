"""As for the tests of faults: a TLS context for each library, and nothing of an AWS account of this machine."""

from __future__ import annotations

from tests.faults.conftest import no_aws, one_ssl_context, one_ssl_context_for_the_others

__all__ = ["no_aws", "one_ssl_context", "one_ssl_context_for_the_others"]
