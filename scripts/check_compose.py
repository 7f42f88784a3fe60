"""Take the steps of the order service's Dockerfile in a plain shell, start it as `compose.yaml` says, and ask it what its page asks.

No Docker is needed, and no image: this machine's Python stands in for the one of the Dockerfile, and the PostgreSQL server that
`CTXGUARD_TEST_POSTGRES` names for the one of the compose file. Steps, environment, health check, command and requests are read from the
files, so that none of them can say what does not work.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "order_service"
SECONDS = 60
TOKEN = "a-token-of-this-check"  # noqa: S105 - of a service that lives as long as this check


def main() -> int:
    """Check, and say what was checked."""
    server = os.environ.get("CTXGUARD_TEST_POSTGRES")
    if not server:
        print("Set CTXGUARD_TEST_POSTGRES=postgresql://user:password@host:port/database to a server on which a database may be made.")
        return 1
    compose = yaml.safe_load((EXAMPLE / "compose.yaml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        image = Image(Path(folder))
        built = compose["services"]["service"]["build"]
        context = (EXAMPLE / built["context"]).resolve()
        for instruction, rest in instructions((context / built["dockerfile"]).read_text(encoding="utf-8")):
            image.take(instruction, rest, context)
        database = f"orders_{uuid.uuid4().hex[:12]}"
        psql(image.python, server, f'CREATE DATABASE "{database}"')
        try:
            check(image, compose["services"], server, database)
        finally:
            psql(image.python, server, f'DROP DATABASE "{database}" WITH (FORCE)')
    return 0


def instructions(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the instructions of a Dockerfile.

    >>> list(instructions("FROM a\n# why\nRUN b \\\n  c\n"))
    [('FROM', 'a'), ('RUN', 'b c')]
    """
    for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            name, _, rest = line.strip().partition(" ")
            yield name, rest


@dataclass
class Image:
    """What the steps of a Dockerfile made, in a folder in place of the root of an image."""

    root: Path
    where: str = "/"
    user: str = ""
    command: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The working directory."""
        return self.root / self.where.lstrip("/")

    @property
    def python(self) -> Path:
        """The interpreter that stands in for the image's."""
        return self.root / "env" / "bin" / "python"

    def environment(self) -> dict[str, str]:
        """Return what a process finds: this environment's programs, nothing of the checkout."""
        of_pip = re.compile(r"PIP_|SSL_|REQUESTS_|\w+_proxy$", re.IGNORECASE)
        kept = {name: value for name, value in os.environ.items() if of_pip.match(name)}
        return {**kept, "PATH": f"{self.root / 'env/bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.root)}

    def take(self, instruction: str, rest: str, context: Path) -> None:
        """Take one step; stop at one that is not known here."""
        match instruction:
            case "FROM":
                subprocess.run([sys.executable, "-m", "venv", str(self.root / "env")], check=True)
                print(f"FROM {rest}: Python {sys.version.split()[0]} of this machine in its place", flush=True)
            case "WORKDIR":
                self.where = rest
                self.folder.mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, target = rest.split()
                for source in sources:
                    copied(context / source, self.folder / target, is_folder=target.endswith("/"))
            case "RUN":
                started = time.monotonic()
                done = subprocess.run(["/bin/sh", "-c", rest], cwd=self.folder, env=self.environment(), capture_output=True, text=True, check=False)
                if done.returncode:
                    sys.exit(f"RUN {rest}\nfailed:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")
                print(f"RUN {rest}: {time.monotonic() - started:.0f} s", flush=True)
            case "USER":
                self.user = rest
            case "CMD":
                self.command = json.loads(rest)
            case _:
                sys.exit(f"{instruction} {rest}: say in {Path(__file__).name} what stands in its place.")


def copied(source: Path, target: Path, *, is_folder: bool) -> None:
    """Copy as COPY does: the contents of a folder, a file into a folder or as a file."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target / source.name if is_folder else target)


def check(image: Image, services: Mapping[str, Any], server: str, database: str) -> None:
    """Start the service over a database of its own, and take the steps of its page."""
    where = urlsplit(server)
    healthy(services["database"], where.hostname or "", where.port or 5432)
    port = free_port()
    url, token = environment_of(services["service"], where.password or "", TOKEN)
    asked = urlsplit(url)
    if asked.hostname not in services or asked.path != f"/{services['database']['environment']['POSTGRES_DB']}":
        sys.exit(f"DATABASE_URL of compose.yaml names {asked.hostname}{asked.path}, which is no service and database of it.")
    here = f"postgresql://{where.netloc}/{database}"
    command = [part.replace("--host 0.0.0.0 --port 8000", f"--host 127.0.0.1 --port {port}") for part in image.command]
    if command == image.command or not services["service"]["ports"][0].endswith(":8000"):
        sys.exit("The port of the Dockerfile's command is not the one compose.yaml publishes.")
    log = image.root / "log"
    with log.open("w", encoding="utf-8") as out:
        settings = {**image.environment(), "DATABASE_URL": here, "ADMIN_TOKEN": token}
        process = subprocess.Popen([*as_user(image), *command], cwd=image.folder, env=settings, stdout=out, stderr=out)
    try:
        until_it_answers(port, process, log)
        for line in try_it((EXAMPLE / "README.md").read_text(encoding="utf-8"), port, token):
            print(line, flush=True)
    finally:
        process.terminate()
        process.wait(SECONDS)


def healthy(service: Mapping[str, Any], host: str, port: int) -> None:
    """Run the health check of the database, against the server that stands in for it."""
    kind, line = service["healthcheck"]["test"]
    if kind != "CMD-SHELL":
        sys.exit(f"The health check is a {kind}: say in {Path(__file__).name} how it is run.")
    path = f"{os.environ['PATH']}:{':'.join(map(str, sorted(Path('/usr/lib/postgresql').glob('*/bin'))))}"
    server = {"PATH": path, "PGHOST": host, "PGPORT": str(port)}
    done = subprocess.run(["/bin/sh", "-c", line], env=server, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{line} failed: {done.stdout}{done.stderr}")
    print(f"{line}: {done.stdout.strip()}", flush=True)


def environment_of(service: Mapping[str, Any], password: str, token: str) -> tuple[str, str]:
    """Return `DATABASE_URL` and `ADMIN_TOKEN` as compose would set them."""
    values = {"POSTGRES_PASSWORD": password, "ADMIN_TOKEN": token}
    filled = {name: re.sub(r"\$\{(\w+)(?::\?[^}]*)?\}", lambda found: values[found[1]], text) for name, text in service["environment"].items()}
    return filled["DATABASE_URL"], filled["ADMIN_TOKEN"]


def as_user(image: Image) -> list[str]:
    """Return what starts a program as the Dockerfile's user, where this one may and that one can read the interpreter."""
    if not image.user or os.geteuid() != 0:
        return []
    start = ["runuser", "-u", image.user, "--"]
    can = subprocess.run([*start, str(image.python), "-c", ""], cwd=image.folder, capture_output=True, check=False).returncode == 0
    print(f"USER {image.user}: {'as in the image' if can else 'cannot read this interpreter, so not checked'}", flush=True)
    return start if can else []


def until_it_answers(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the service; stop with what it printed if it goes away."""
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    sys.exit(f"The service does not answer:\n{log.read_text(encoding='utf-8')[-3_000:]}")


def try_it(page: str, port: int, token: str) -> Iterator[str]:
    """Send the requests of the page, in order, and yield what came of each; stop where one does not do what the page says."""
    section = re.sub(r"\\\n\s+", " ", page.partition("## Try it\n")[2].partition("\n## ")[0])
    curl = shutil.which("curl") or sys.exit("curl is not installed; the page's requests are sent with it.")
    expected = iter(("desk lamp", '"digest":', "Deleted ORD-7", "["))
    digest = ""
    for line in re.findall(r"^    (curl .*)$", section, re.MULTILINE):
        command = line.replace("localhost:8000", f"127.0.0.1:{port}").replace('"digest": "..."', f'"digest": "{digest}"')
        words = [part.replace("$ADMIN_TOKEN", token) for part in shlex.split(command)]
        told = subprocess.run([curl, "--max-time", str(SECONDS), *words[1:]], capture_output=True, text=True, check=False).stdout
        if (needed := next(expected)) not in told:
            sys.exit(f"{line}\nanswers {told!r}, without {needed!r}")
        digest = json.loads(told).get("digest", digest) if told.startswith("{") else digest
        yield f"{next(word for word in words if word.startswith('127.'))}: {told[:100]}"
    if unsent := list(expected):
        sys.exit(f"The page asks less than this check knows: {unsent}")


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def psql(python: Path, url: str, statement: str) -> None:
    """Run one statement, outside of a transaction, with the driver that was installed."""
    code = "import sys, psycopg; psycopg.connect(sys.argv[1], autocommit=True).execute(sys.argv[2])"
    subprocess.run([str(python), "-c", code, url, statement], check=True)


if __name__ == "__main__":
    sys.exit(main())
