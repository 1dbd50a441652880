"""Every fault of the wire against every API, in sync and async code, streamed and not: `python -m tests.faults`."""
