"""A magic's line: its options, what it says, and the names in `{{ }}`."""
