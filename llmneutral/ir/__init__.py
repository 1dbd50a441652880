"""Values: what a conversation is made of, before and after any provider. Nothing here knows an API."""
