"""The names options go by, and what a call proposes to use."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard.core.options import TurnedDown, first_meant, name_of, names_of_option, turned_down
from langchain_ctxguard.core.proposals import proposed_in
from langchain_ctxguard.core.repeats import turned_down_text
from langchain_ctxguard.domain.summary import Decision, Rejected


def decided(*rejected: str, chosen: str = "the standard library", why: str = "deployment size") -> Decision:
    """Return a decision against options."""
    return Decision(chosen=chosen, rejected=tuple(Rejected(option=option, why=why) for option in rejected), why="small")


def against(option: str, tool: str, args: dict[str, Any], files: dict[str, str] | None = None) -> TurnedDown | None:
    """Return the decision against what a call proposes, where this option was turned down."""
    standing = turned_down([(7, decided(option))])
    names = frozenset(name.name for one in standing for name in one.names)
    found = first_meant(standing, proposed_in(tool, args, names, (files or {}).get))
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("Typing_Extensions", "typing-extensions", ""),
        ("typing.extensions==4.1", "typing-extensions", "4.1"),
        ("requests[security]>=2.0", "requests", "2.0"),
        ("requests>=2,<3", "requests", ""),
        ("requests ; python_version > '3'", "requests", ""),
        ("pandas 2.x", "pandas", "2"),
        ("`Redis`", "redis", ""),
        ("bs4", "beautifulsoup4", ""),
        ("方案B", "方案b", ""),
        ("@scope/pkg", "@scope/pkg", ""),
        ("requests @ https://example.com/r.zip", "requests", ""),
    ],
)
def test_a_name_has_one_spelling(text: str, name: str, version: str) -> None:
    """Case, signs, extras, ranges and markers are no part of it."""
    found = name_of(text)
    assert name == found.name
    assert version == found.version or "," in text


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("requests", ["requests"]),
        ("use the requests library", ["requests"]),
        ("Using `pandas` for parsing the rows", ["pandas"]),
        ("Redis (too heavy for the image)", ["redis"]),
        ("adding NumPy because it is fast", ["numpy"]),
        ("option B: in-memory cache", ["in-memory-cache"]),
        ("引入 Redis 做缓存", ["redis"]),
        ("使用“消息队列”", ["消息队列"]),
        ("采用微服务方案", ["微服务"]),
        ("scikit-learn package", ["scikit-learn"]),
    ],
)
def test_an_option_is_known_by_its_name_without_the_words_around_it(option: str, names: list[str]) -> None:
    """In English and in Chinese."""
    assert set(names) <= {one.name for one in names_of_option(option)}


SHELL = [
    "pip install requests",
    "pip3 install -U 'requests[socks]==2.31'",
    "python -m pip install --index-url https://x.org/simple requests",
    "python3.11 -m pip install requests>=2",
    "cd app && sudo pip install flask requests",
    "uv add requests",
    "uv pip install requests",
    "poetry add requests@^2.0",
    "pipenv install requests",
    "conda install -n env requests",
    "PIP_NO_CACHE_DIR=1 pip install requests",
    "pip install git+https://github.com/psf/requests.git",
    "echo 'requests==2.31' >> requirements.txt",
]


@pytest.mark.parametrize("line", SHELL)
def test_a_package_that_was_turned_down_is_found_in_what_installs_it(line: str) -> None:
    """Whatever installs it, and however it is written."""
    assert against("Requests", "execute", {"command": line}) is not None
    assert against("httpx", "execute", {"command": line}) is None


@pytest.mark.parametrize(
    "line",
    [
        "pip uninstall requests",
        "pip install -r requirements.txt",
        "grep -rn requests src",
        "pip show requests",
        "pip install requests-mock",
        "pip install ./requests",
        "python requests.py",
        "git commit -m 'install requests'",
        "pip install -t requests flask",
    ],
)
def test_what_only_speaks_of_a_package_proposes_none(line: str) -> None:
    """Removing, reading, another package, a folder, a message."""
    assert against("requests", "execute", {"command": line}) is None


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("lodash", "npm install lodash@4"),
        ("lodash", "npm i -D lodash"),
        ("@scope/pkg", "yarn add @scope/pkg@1.0.0"),
        ("serde", "cargo add serde --features derive"),
        ("cobra", "go get github.com/spf13/cobra@v1.8.0"),
        ("left-pad", "pnpm add left_pad"),
        ("redis", "apt-get install -y redis"),
    ],
)
def test_other_package_managers_are_known(option: str, line: str) -> None:
    """JavaScript, Rust, Go, systems."""
    assert against(option, "Bash", {"command": line}) is not None


@pytest.mark.parametrize(
    ("path", "old", "new", "option"),
    [
        ("requirements.txt", "flask==3.0\n", "flask==3.0\nrequests>=2.0\n", "requests"),
        ("requirements/dev.txt", "x", "x\npyyaml", "yaml"),
        ("pyproject.toml", "dependencies = [", 'dependencies = [\n  "requests>=2",', "requests"),
        ("pyproject.toml", "[tool.poetry.dependencies]\n", '[tool.poetry.dependencies]\nrequests = "^2.31"\n', "requests"),
        ("Pipfile", "[packages]\n", '[packages]\nrequests = "*"\n', "requests"),
        ("setup.py", "install_requires=[", 'install_requires=["requests"', "requests"),
        ("package.json", '"dependencies": {', '"dependencies": {\n    "lodash": "^4.17.0",', "lodash"),
        ("Cargo.toml", "[dependencies]\n", '[dependencies]\nserde = { version = "1" }\n', "serde"),
        ("go.mod", "require (\n", "require (\n\tgithub.com/spf13/cobra v1.8.0\n", "cobra"),
        ("Gemfile", "", "gem 'rails', '~> 7'\n", "rails"),
        ("src/a.py", "import os\n", "import os\nimport requests\n", "requests"),
        ("src/a.py", "import os\n", "import os\nfrom requests.adapters import HTTPAdapter\n", "requests"),
        ("src/a.py", "", "import numpy as np, os\n", "numpy"),
        ("src/a.py", "x = 1", "    import sklearn.svm\nx = 1", "scikit-learn"),
        ("src/a.ts", "", "import _ from 'lodash/fp';\n", "lodash"),
        ("src/a.js", "", "const _ = require('lodash');\n", "lodash"),
        ("src/main.rs", "", "use serde::Serialize;\n", "serde"),
    ],
)
def test_a_package_that_was_turned_down_is_found_in_an_edit(path: str, old: str, new: str, option: str) -> None:
    """As a line of a requirement file, or as an import; what stood there before is not proposed by keeping it."""
    assert against(option, "edit_file", {"file_path": path, "old_string": old or "nothing", "new_string": new}) is not None
    assert against(option, "edit_file", {"file_path": path, "old_string": new, "new_string": f"{new}# more\n"}) is None
    assert against(option, "edit_file", {"file_path": path, "old_string": new, "new_string": old or "nothing"}) is None
    assert against(option, "write_file", {"file_path": path, "content": new}) is not None
    assert against(option, "write_file", {"file_path": path, "content": new}, {path: new}) is None


def test_a_whole_package_json_is_read() -> None:
    """Each kind of dependency in it."""
    content = '{"name": "x", "devDependencies": {"lodash": "^4.17.0"}}'
    assert against("lodash", "write_file", {"file_path": "package.json", "content": content}) is not None
    assert against("x", "write_file", {"file_path": "package.json", "content": content}) is None


@pytest.mark.parametrize(
    ("option", "args"),
    [
        ("in-memory cache", {"strategy": "In-Memory Cache"}),
        ("SQLite", {"database": "sqlite"}),
        ("SQLite", {"choice": {"option": "SQLite"}}),
        ("Redis", {"description": "Implement the cache with Redis and add tests."}),
        ("Redis", {"description": "Let us switch back to redis"}),
        ("消息队列", {"方案": "消息队列"}),
        ("引入 Redis", {"description": "改用Redis实现缓存"}),
        ("微服务", {"task": "采用微服务架构重写"}),
        ("使用 pandas", {"description": "引入pandas读取表格"}),
        ("Redis", {"steps": ["write tests", "use Redis for the cache"]}),
    ],
)
def test_an_option_is_found_in_the_arguments_of_other_tools(option: str, args: dict[str, Any]) -> None:
    """As the value of a choice, or in a sentence that takes it up, in English and Chinese."""
    assert against(option, "task", args) is not None


@pytest.mark.parametrize(
    ("option", "args"),
    [
        ("Redis", {"description": "Do not use Redis."}),
        ("Redis", {"description": "Implement the cache without adding Redis"}),
        ("Redis", {"description": "不要使用Redis"}),
        ("Redis", {"description": "禁止引入Redis"}),
        ("Redis", {"description": "Remove redis from the image"}),
        ("Redis", {"question": "May I use Redis after all?"}),
        ("Redis", {"question": "可以改用Redis吗？"}),
        ("Redis", {"description": "use redis-lite"}),
        ("Redis", {"description": "Rediscover the rules"}),
        ("SQLite", {"path": "sqlite"}),
        ("cache", {"description": "clear the cache"}),
        ("pandas", {"description": "用户说过pandas太大"}),
    ],
)
def test_what_refuses_an_option_or_asks_about_it_takes_it_not_up(option: str, args: dict[str, Any]) -> None:
    """A prohibition, a question, another word."""
    assert against(option, "task", args) is None


@pytest.mark.parametrize(
    ("option", "line", "is_found"),
    [
        ("pydantic 1", "pip install pydantic==1.10", True),
        ("pydantic v1.x", "pip install 'pydantic==1.10.2'", True),
        ("pydantic 1", "pip install pydantic==2.7", False),
        ("pydantic 1", "pip install pydantic", False),
        ("pydantic 1", "pip install pydantic==10.0", False),
        ("pydantic", "pip install pydantic==2.7", True),
    ],
)
def test_where_a_version_was_turned_down_only_that_version_is(option: str, line: str, is_found: bool) -> None:  # noqa: FBT001
    """A decision against one version is none against another."""
    assert is_found is (against(option, "execute", {"command": line}) is not None)


def test_what_was_chosen_later_is_turned_down_no_more() -> None:
    """The last decision counts, whichever way it goes."""
    first, second = decided("Redis", "Memcached"), decided("a file", chosen="use Redis after all")
    assert {"redis", "memcached"} == {name.name for one in turned_down([(1, first)]) for name in one.names}
    assert "redis" not in {name.name for one in turned_down([(1, first), (2, decided(chosen="Redis"))]) for name in one.names}
    assert () == turned_down([(1, decided("Redis")), (2, decided(chosen="a small Redis instance after all"))])
    assert () != turned_down([(1, decided("Redis")), (2, decided(chosen="a table instead of Redis"))])
    again = turned_down([(1, first), (2, decided(chosen="Redis")), (3, decided("redis", why="it leaks"))])
    assert {"it leaks"} == {one.option.why for one in again if any(name.name == "redis" for name in one.names)}
    assert second.chosen


def test_the_model_is_told_the_recorded_reason() -> None:
    """What, where, why, what instead, and how it could be decided anew."""
    one = against("requests", "execute", {"command": "pip install requests"})
    assert one is not None
    text = turned_down_text("execute", one)
    for words in ("'requests'", "[TRACE-007]", "deployment size", "the standard library", "ask the person"):
        assert words in text
