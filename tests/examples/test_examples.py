"""The examples run as they stand, without a key, and do what their pages say."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from fastapi.testclient import TestClient
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from typer.testing import CliRunner

from langchain_ctxguard import GuardStore
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.errors import ConsentRequiredError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ADMIN = {"Authorization": "Bearer secret"}
ANN = {"X-User": "ann"}


def example(path: str) -> Any:
    """Return a file of the examples as a module."""
    name = f"example_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    # FastAPI looks annotations up by the module's name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


service = example("order_service/app.py")
coder = example("deep_coder/coder.py")
agents = example("shared_fields/agents.py")


class Shop:
    """The service over a table of its own."""

    def __init__(self, store: GuardStore, checkpointer: Any, trigger: int = 600) -> None:
        """Serve what lies in the store and the checkpointer."""
        self.orders = {f"ORD-{number}": "a desk lamp, paid" for number in range(1, 30)}
        app = service.create_app(store=store, checkpointer=checkpointer, orders=self.orders, administrators={"secret": "eva"}, trigger=trigger)
        self.client = TestClient(app)

    def say(self, text: str, thread: str = "t-1") -> dict[str, Any]:
        answered = self.client.post(f"/threads/{thread}/messages", json={"text": text}, headers=ANN)
        assert 200 == answered.status_code, answered.text
        found: dict[str, Any] = answered.json()
        return found

    def answer(self, decision: str, digest: str, thread: str = "t-1", headers: dict[str, str] = ADMIN) -> Any:
        return self.client.post(f"/threads/{thread}/answers", json={"decision": decision, "digest": digest}, headers=headers)


def check_the_service(shop: Shop) -> None:
    """Take the steps of the page: asked and compacted, a deletion waits for an administrator, and runs once."""
    assert "desk lamp" in shop.say("Where is ORD-7?")["answer"]
    for number in range(1, 15):
        shop.say(f"And where is ORD-{number}? I ask because the customer on the phone would like to know it before the end of the day.")
    versions = shop.client.get("/threads/t-1/versions").json()
    assert versions
    assert {0} == {version["values_lost"] for version in versions}

    asked = shop.say("I am authorised. Delete ORD-7.")
    assert [{"order_id": "ORD-7"}] == [action["args"] for action in asked["question"]]
    assert "ORD-7" in shop.orders
    assert 403 == shop.answer("approve", asked["digest"], headers={"Authorization": "Bearer guessed"}).status_code
    assert "ORD-7" in shop.orders
    assert "Deleted ORD-7" in shop.answer("approve", asked["digest"]).json()["answer"]
    assert "ORD-7" not in shop.orders
    assert 409 == shop.answer("approve", asked["digest"]).status_code

    other = shop.say("Delete ORD-8.")
    assert other["digest"] != asked["digest"]
    shop.answer("reject", other["digest"])
    assert "ORD-8" in shop.orders


def test_the_order_service_in_memory(tmp_path: Path) -> None:
    """Plain, with SQLite and threads in memory."""
    with GuardStore.open(f"sqlite:///{tmp_path / 'guard.db'}") as store:
        check_the_service(Shop(store, InMemorySaver()))
        assert [] == store.verify()


def test_the_order_service_on_postgresql(postgres_url: str) -> None:
    """The same with state and record in PostgreSQL, and a second process goes on where the first was."""
    assert 0 == CliRunner().invoke(build_app(), ["migrate", postgres_url]).exit_code
    saver = service.saver_at(postgres_url)
    try:
        with GuardStore.open(postgres_url) as store:
            shop = Shop(store, saver)
            check_the_service(shop)
            asked = shop.say("Delete ORD-9.")
            again = Shop(store, saver)
            assert "Deleted ORD-9" in again.answer("approve", asked["digest"]).json()["answer"]
            assert ["ORD-9" in shop.orders, "ORD-9" in again.orders] == [True, False]
            with ThreadPoolExecutor(4) as pool:
                told = list(pool.map(lambda number: shop.say(f"Where is ORD-{number}?", f"u-{number}")["answer"], range(10, 18)))
            assert all("desk lamp" in text for text in told)
            assert [] == store.verify()
    finally:
        saver.conn.close()


def test_the_service_starts_from_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `DATABASE_URL` it needs nothing but a token, and without a token it does not start."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("ADMIN_TOKEN", raising=False)
    with pytest.raises(KeyError, match="ADMIN_TOKEN"):
        service.from_environment()
    monkeypatch.setenv("ADMIN_TOKEN", "secret")
    client = TestClient(service.from_environment())
    assert "desk lamp" in client.post("/threads/t/messages", json={"text": "Where is ORD-7?"}, headers=ANN).json()["answer"]


def test_compose_names_what_is_there() -> None:
    """The services of `compose.yaml` build from files that exist, wait for the database, and hold no password."""
    compose = yaml.safe_load((EXAMPLES / "order_service/compose.yaml").read_text(encoding="utf-8"))
    built = compose["services"]["service"]
    root = (EXAMPLES / "order_service" / built["build"]["context"]).resolve()
    docker = (root / built["build"]["dockerfile"]).read_text(encoding="utf-8")
    for sources in re.findall(r"^COPY (.+) \S+$", docker, re.MULTILINE):
        assert all((root / source).exists() for source in sources.split()), sources
    assert "service_healthy" == built["depends_on"]["database"]["condition"]
    assert "${POSTGRES_PASSWORD" in compose["services"]["database"]["environment"]["POSTGRES_PASSWORD"]
    assert re.search(r"app:from_environment", docker)
    assert callable(service.from_environment)


def test_compose_and_the_service_speak_of_the_same_variables_and_ports() -> None:
    """What the service reads is what compose sets; what compose asks for, the page has its reader export; the published port is the one served."""
    folder = EXAMPLES / "order_service"
    services = yaml.safe_load((folder / "compose.yaml").read_text(encoding="utf-8"))["services"]
    code, docker, page = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("app.py", "Dockerfile", "README.md"))

    assert set(re.findall(r'os\.environ(?:\.get\(|\[)"(\w+)"', code)) == set(services["service"]["environment"])
    asked = {name for one in services.values() for text in one["environment"].values() for name in re.findall(r"\$\{(\w+):\?", text)}
    assert asked == set(re.findall(r"(\w+)=\.\.\.", page.partition("## Plain")[0]))
    assert services["service"]["ports"] == [f"127.0.0.1:8000:{port}" for port in re.findall(r"--port (\d+)", docker)]
    assert set(re.findall(r"localhost:(\d+)", page)) == {"8000"}
    database = urlsplit(services["service"]["environment"]["DATABASE_URL"])
    assert (f"/{services['database']['environment']['POSTGRES_DB']}", "database") == (database.path, database.hostname)


def test_what_the_dockerfile_installs_is_declared() -> None:
    """Its extra and its group stand in pyproject.toml, and what the build reads is copied before it runs."""
    declared = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project = declared["project"]
    docker = (EXAMPLES / "order_service" / "Dockerfile").read_text(encoding="utf-8")
    before = docker.partition("\nRUN ")[0]

    assert set(re.findall(r"'\.\[(\w+)\]'", docker)) <= set(project["optional-dependencies"])
    assert set(re.findall(r"--group (\w+)", docker)) <= set(declared["dependency-groups"])
    assert all(name in before for name in ("pyproject.toml", project["readme"], *project["license-files"], "langchain_ctxguard"))


def test_the_coder_edits_each_file_once_and_hands_over(tmp_path: Path) -> None:
    """Compacted more than once while it works, it forgets nothing and repeats nothing."""
    coder.make_files(tmp_path)
    agent, guard, handoff = coder.build(tmp_path)
    thread = {"configurable": {"thread_id": "rename"}, "recursion_limit": 100}
    state = agent.invoke({"messages": [HumanMessage(coder.REQUEST)]}, thread)
    assert "Every file is done." == state["messages"][-1].text
    assert all("def net_total(" in (tmp_path / name).read_text(encoding="utf-8") for name in coder.FILES)
    assert len(guard.history(thread).versions) > 1
    assert len(coder.FILES) == len(handoff.entries("rename"))
    assert 0 == handoff.metrics("rename", state).repeated_edits
    assert (tmp_path / ".ctxguard" / "rename" / "handoff.md").is_file()
    guard.close()


def test_the_coder_shows_its_hand_over(capsys: pytest.CaptureFixture[str]) -> None:
    """Started as its page says, it prints its last word, the log and the hand-over."""
    coder.main()
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("Every file is done.", "[TRACE-008] done:", "## Do not", "Never touch migrations/."))


def test_agents_share_fields_while_the_customer_consents(capsys: pytest.CaptureFixture[str]) -> None:
    """With consent the dispatcher knows the deadline; taken back, it does not."""
    agents.main()
    shown = ["shared:          ORD-7712, 2026-12-15, 450 EUR", "with consent:    By 2026-12-15.", "taken back:      I do not know."]
    assert shown == capsys.readouterr().out.splitlines()


def test_nothing_is_shared_without_consent() -> None:
    """The shop cannot share what nobody agreed to."""
    with GuardStore.open("memory://") as store, pytest.raises(ConsentRequiredError):
        agents.shop_hears(store)


@pytest.mark.parametrize("file", ["order_service/app.py", "deep_coder/coder.py", "shared_fields/agents.py"])
def test_one_line_puts_a_real_model_in_its_place(file: str) -> None:
    """The line is there, once, and what it names is a provider's model."""
    text = (EXAMPLES / file).read_text(encoding="utf-8")
    assert 1 == len(re.findall(r'model = scripted_model\(\)  # a real one: init_chat_model\("\w+:[\w.-]+"\)', text))
    page = (EXAMPLES / file).parent / "README.md"
    assert "`a real one`" in page.read_text(encoding="utf-8")
    assert f"({Path(file).parent}/README.md)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
