"""Credentials of AWS's own chain, as far as they are known without network."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmneutral.drivers.aws import GIVEN, KEYS, PROFILES, SOURCES, credentials_are_set


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Path]:
    """Two files that are not there yet, and an environment without AWS."""
    for name in (*KEYS, *GIVEN, *PROFILES, "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    found = {"AWS_SHARED_CREDENTIALS_FILE": tmp_path / "credentials", "AWS_CONFIG_FILE": tmp_path / "config"}
    for name, path in found.items():
        monkeypatch.setenv(name, str(path))
    return found


def test_nothing_is_set() -> None:
    assert not credentials_are_set()


@pytest.mark.parametrize("names", [KEYS, *[(name,) for name in GIVEN], ("AWS_BEARER_TOKEN_BEDROCK",)])
def test_the_environment_names_them(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]) -> None:
    for name in names:
        assert not credentials_are_set()
        monkeypatch.setenv(name, "x")
    assert credentials_are_set()


@pytest.mark.parametrize("line", sorted(SOURCES))
@pytest.mark.parametrize("file", ["AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"])
def test_a_file_names_them(file: str, line: str, files: dict[str, Path]) -> None:
    files[file].write_text(f"[other]\nregion = r\n[default]\n{line} = %x;y\n")
    assert credentials_are_set()


def test_the_profile_that_is_asked_for_counts(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    files["AWS_CONFIG_FILE"].write_text("[default]\nregion = r\n[profile work]\nsso_session = s\n")
    assert not credentials_are_set()
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert credentials_are_set()
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert not credentials_are_set()


@pytest.mark.parametrize("text", ["no section", "[default]\n[default]", "\x00[", "[default\nrole_arn = r"])
def test_a_file_that_is_none_says_nothing(text: str, files: dict[str, Path]) -> None:
    files["AWS_CONFIG_FILE"].write_text(text)
    assert not credentials_are_set()
    files["AWS_CONFIG_FILE"].write_bytes(b"\xff\xfe[default]")
    assert not credentials_are_set()


def test_what_boto3_finds_is_found(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    boto3 = pytest.importorskip("boto3", reason="the extra `bedrock` is not installed")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for text in ("", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n"):
        files["AWS_SHARED_CREDENTIALS_FILE"].write_text(text)
        assert credentials_are_set() == (boto3.Session().get_credentials() is not None)
