"""One conversation, every provider: the public face of the library."""
