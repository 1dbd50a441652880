"""Griptape's import paths: the same classes under the names its examples use."""

from __future__ import annotations

import llmneutral
from llmneutral import configs, structures
from llmneutral.configs import drivers


def test_every_config_stands_there_too() -> None:
    wanted = {name for name in configs.__all__ if name.endswith("DriversConfig")}
    assert {*drivers.__all__} == wanted
    assert all([getattr(drivers, name) is getattr(configs, name) for name in wanted])
    assert [*drivers.__all__] == sorted(drivers.__all__)


def test_the_agent_is_the_one_of_the_face() -> None:
    assert structures.Agent is llmneutral.Agent
