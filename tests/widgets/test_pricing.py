"""What a session cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import DeepSeekDriversConfig, LocalServerDriversConfig, OpenAiDriversConfig
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.pricing import PRICED, OwnPrices, own_prices, priced, read_prices
from llmneutral_widgets.providers import Providers

ROW = {"provider": "openai", "model": "gpt-4.1", "input_total": 1_000_000, "input_uncached": 1_000_000,
       "output_total": 500_000, "cost": None, "currency": None}  # fmt: skip
MINE = {"gpt-4.1": {"input": 2.0, "output": 8.0}}


@pytest.fixture
def providers() -> Iterator[Providers]:
    made = Providers()
    yield made
    made.close()


def written(folder: Path, text: str, name: str = "mine.json") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_file_is_json_or_toml(tmp_path: Path) -> None:
    assert read_prices(written(tmp_path, json.dumps(MINE))) == MINE
    assert read_prices(written(tmp_path, '["gpt-4.1"]\ninput = 2.0\noutput = 8.0\n', "mine.toml")) == MINE
    assert read_prices(written(tmp_path, "{}")) == {}


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("[", "a.json", "--prices a.json is no JSON or TOML, such as"),
        ("[1]", "a.json", "is a table of models"),
        ("[", "a.toml", "--prices a.toml is no JSON or TOML, such as"),
        ("[gpt-4.1]\ninput = 1", "a.toml", "stands in quotes"),
        ('{"m": 3}', "a.json", "a.json: m is a table of input"),
        ('{"m": {}}', "a.json", "names no price"),
        ('{"m": {"inputs": 3}}', "a.json", "has no price inputs; known: input, cache_read, cache_write, output"),
        ('{"m": {"input": "3"}}', "a.json", "m.input is '3'; it takes US dollars"),
        ('{"m": {"input": true}}', "a.json", "m.input is True"),
        ('{"m": {"input": -1}}', "a.json", "m.input is -1"),
        ('{"m": {"input": NaN}}', "a.json", "m.input is nan"),
        ('{"m": {"input": Infinity}}', "a.json", "m.input is inf"),
    ],
)
def test_what_is_no_table_of_prices_is_told_with_its_place(tmp_path: Path, text: str, name: str, told: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_prices(written(tmp_path, text, name))
    assert told in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="No such file"):
        read_prices(str(tmp_path / "none.json"))
    with pytest.raises(OptionError, match="directory"):
        read_prices(str(tmp_path))
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match="is no text"):
        read_prices(str(tmp_path / "b.json"))


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.dictionaries(st.sampled_from(PRICED), st.floats(0, 1e6, allow_nan=False), min_size=1),
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, prices: dict[str, Any]) -> None:
    file = tmp_path_factory.mktemp("prices") / "p.json"
    file.write_text(json.dumps(prices))
    assert read_prices(str(file)) == prices


def test_own_prices_come_first_and_count_for_a_snapshot_too(providers: Providers) -> None:
    for model in ("gpt-4.1", "gpt-4.1-2025-04-14", "gpt-4.1@20250414", "gpt-4.1-latest"):
        [row], source = priced([{**ROW, "model": model}], providers, OwnPrices(MINE, "mine.json"))
        assert (row["cost"], row["currency"], source) == (6.0, "USD", "mine.json")
    [row], source = priced(
        [{**ROW, "model": "gpt-4.1-mini"}], providers, OwnPrices({**MINE, "x": {"input": 1.0}}, "mine.json")
    )
    assert source != "mine.json"


def test_published_prices_are_next(providers: Providers) -> None:
    pytest.importorskip("genai_prices", reason="the extra `prices` is not installed")
    [row, other], source = priced(
        [ROW, {**ROW, "model": "m"}], providers, OwnPrices({"m": {"input": 1.0}}, "mine.json")
    )
    assert row["cost"] > 0
    assert other["cost"] == 1.0
    assert source.startswith("genai-prices ")
    assert source.endswith(", mine.json")
    providers.keep("fast", OpenAiDriversConfig(model="gpt-4.1", api_key="k"))
    [preset], _ = priced([{**ROW, "provider": "fast"}], providers, OwnPrices())
    assert preset["cost"] == row["cost"]


@pytest.mark.parametrize(
    "told",
    [
        {"model": None},
        {"model": "no-such-model"},
        {"input_total": None},
        {"provider": "Echo"},
        {"provider": "mine-here"},
        {"provider": None},
        {"provider": "relay"},
        {"provider": "replay:nowhere.jsonl"},
    ],
)
def test_what_nobody_knows_stays_unknown(providers: Providers, told: dict[str, Any]) -> None:
    providers.keep("relay", OpenAiDriversConfig(model="gpt-4.1", api_key="k", base_url="https://relay.example/v1"))
    providers.keep("mine-here", LocalServerDriversConfig("m", base_url="http://localhost:9/v1"))
    [row], source = priced([{**ROW, **told}], providers, OwnPrices())
    assert row["cost"] is None
    assert source == ""


def test_a_cost_that_is_told_stays_unless_the_user_has_prices_for_it(providers: Providers) -> None:
    told = {**ROW, "cost": 0.5, "currency": "EUR", "prices": "published"}
    [row], source = priced([told], providers, OwnPrices({"other": {"input": 1.0}}, "mine.json"))
    assert (row["cost"], row["currency"], source) == (0.5, "EUR", "published")
    [row], source = priced([told], providers, OwnPrices(MINE, "mine.json"))
    assert (row["cost"], row["currency"], source) == (6.0, "USD", "mine.json")


def test_nobody_imports_a_package_of_prices_for_this_machine(providers: Providers) -> None:
    """It takes half a second, and knows nothing of what runs here."""
    code = (
        "import sys; from llmneutral import LocalServerDriversConfig, cost_of, Usage\n"
        "from llmneutral_widgets.pricing import OwnPrices, priced\n"
        "from llmneutral_widgets.providers import Providers\n"
        "providers = Providers()\n"
        "for name, host in (('one', 'localhost:8'), ('two', '127.0.0.1:8'), ('three', '[::1]:8')):\n"
        "    providers.keep(name, LocalServerDriversConfig('gpt-4.1', base_url=f'http://{host}/v1'))\n"
        "rows = [{'provider': name, 'model': 'gpt-4.1', 'input_total': 5, 'output_total': 5}\n"
        "        for name in ('local', 'local-messages', 'one', 'two', 'three')]\n"
        "found, source = priced(rows, providers, OwnPrices())\n"
        "assert [row.get('cost') for row in found] == [0.0, 0.0, None, None, None], found\n"
        "assert source == 'runs on this computer'\n"
        "assert 'genai_prices' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_file_of_prices_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    assert own_prices("") == OwnPrices()
    file = written(tmp_path, json.dumps(MINE))
    first = own_prices(file)
    assert (first.prices, first.name) == (MINE, "mine.json")
    assert own_prices(file) is first
    written(tmp_path, json.dumps({"m": {"input": 1.0}}))
    os.utime(file, ns=(1, 1))
    assert own_prices(file).prices == {"m": {"input": 1.0}}


def test_a_vendor_without_a_package_of_prices(providers: Providers) -> None:
    providers.keep("mine", DeepSeekDriversConfig(model="m", api_key="k"))
    [row], source = priced(
        [{**ROW, "provider": "mine", "model": "m"}], providers, OwnPrices({"m": {"output": 2.0}}, "p.toml")
    )
    assert (row["cost"], source) == (1.0, "p.toml")
