"""Whether AWS's own chain would find credentials: told without the SDK and without network.

What only a network tells (the role of an instance) is not looked for. Sources:
docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html,
boto3.amazonaws.com/v1/documentation/api/latest/guide/credentials.html
"""

from __future__ import annotations

import configparser
import os
from pathlib import Path

from llmneutral.drivers.keys import key_in

BEARER = "AWS_BEARER_TOKEN_BEDROCK"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
GIVEN = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
"""Each of which names by itself where credentials are fetched."""
PROFILES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
FILES = (("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), ("AWS_CONFIG_FILE", "~/.aws/config"))
SOURCES = {"aws_access_key_id", "sso_session", "sso_start_url", "credential_process", "role_arn", "login_session"}
"""Lines of a profile, each of which says where its credentials come from."""


def credentials_are_set() -> bool:
    """Tells whether the environment or the files of AWS name credentials; whether they are valid only AWS knows."""
    if key_in(BEARER) or all(key_in(name) for name in KEYS) or any(key_in(name) for name in GIVEN):
        return True
    named = os.environ.get
    profile = next((value for name in PROFILES if (value := named(name))), "default")
    return any(_names(Path(named(name) or usual).expanduser(), profile) for name, usual in FILES)


def _names(path: Path, profile: str) -> bool:
    """Whether a file names credentials of a profile."""
    found = configparser.RawConfigParser()
    try:
        found.read(path, "utf-8")
    except (OSError, ValueError, configparser.Error):
        return False
    sections = [found[name] for name in (profile, f"profile {profile}") if found.has_section(name)]
    return any(not SOURCES.isdisjoint(section) for section in sections)
