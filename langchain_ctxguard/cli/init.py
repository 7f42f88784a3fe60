"""`ctxguard init`: a commented config file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, json_out

_CANNOT_WRITE = 2

STARTER = """\
# ctxguard.yaml: rules and settings of langchain-ctxguard. Data only; summarizer, hooks and stores are arguments in code.
# `ctxguard constraints` lists the rules and says of each whether anything enforces it; `ctxguard schema` writes the JSON Schema.

# The rules an agent works under. They stand in every request, word for word, however often the conversation is compacted.
constraints:
  # A plain text is the shortest rule: guidance of system authority. It is shown to the model, not enforced.
  - Never show a phone or identity number.

  # A mapping says more. Only `constraint_id` and `text` are required.
  - constraint_id: query-only            # its name in records: no blanks, quotes, @ or angle brackets
    text: "Query only: never add, change or delete an order."
    version: 1                           # raise it whenever the text changes
    authority: organization              # system, organization, task, user; a lower one never relaxes a higher one
    severity: critical                   # critical, high, medium, low

  # What code checks is more than guidance: this one looks at every final answer.
  - constraint_id: no-card-number
    text: Never write a full card number.
    enforcement: verifier                # runtime, verifier, model_guidance, human_approval
    validator: {pattern: '\\b[0-9]{16}\\b', must: not_match}    # or {json_schema: {...}}, {argv: [...]}, or a registered name
    on_fail: retry                       # retry, flag, stop

  # Rules may hold in one place, and end by themselves.
  # - constraint_id: release-freeze
  #   text: Merge nothing into the release branch.
  #   scope: {kind: workspace, value: /srv/app}     # global, thread, workspace, tool, agent
  #   expires_at: 2030-01-01T00:00:00Z              # with its time zone

# Which tool calls are allowed. Code decides this, not the model, for tools wrapped with `guard.tools(tools)`. `ctxguard policy check` reads it,
# `ctxguard policy explain --call '{"tool": "delete_order"}'` says why, `ctxguard policy test cases.yaml` holds it to your cases.
tools:
  default: allow                         # allow, ask, deny: what no rule speaks of
  rules:
    - id: ask-before-deleting
      tool: ["*delete*", "*remove*", "*drop*", "*purge*", "*erase*", "*truncate*", "*删除*"]     # names; * and ? in any case
      verdict: ask
      irreversible: true                 # runs once, and never when nobody can tell
      approval: {expires_s: 3600}        # and approver: admin, if not everybody may agree
    - id: ask-before-modifying
      tool: ["*modify*", "*update*", "*edit*", "*write*", "*overwrite*", "*rename*", "*修改*", "*更新*"]
      verdict: ask
    - id: ask-before-transferring
      tool: ["*transfer*", "*pay*", "*refund*", "*withdraw*", "*转账*", "*付款*", "*退款*"]
      verdict: ask
      irreversible: true
    - id: ask-before-sending
      tool: ["*send*", "*email*", "*publish*", "*post*", "*share*", "*发送*", "*发布*"]
      verdict: ask
      irreversible: true
    # - tool: [read_file, write_file]
    #   paths: {arg: path, within: ., protect: [.git/, "*.pem", .env]}     # links are followed
    # - tool: fetch
    #   urls: {arg: url, hosts: ["*.example.com"]}

# When and how the conversation is compacted.
compaction:
  trigger: [fraction, 0.75]              # of the model's window; null only pins and checks
  keep: [turns, 3]                       # stays as it is
  # window: 128000                       # tokens, where the model does not say
  # on_violation: restore                # or stop: a rule in force is missing from a context

# Rules said in the conversation: pin (quoted as evidence), ask (a person confirms them first) or "off".
inferred: pin

# One said again in the same words about another thing: keep (both stand) or replace (the later one alone).
similar_rules: keep

# Repeat the critical rules near the end of each call: critical or "off". They are in every call anyway.
remind: "off"

# When the registry is asked whether a rule changed: call, or a number of seconds.
refresh: call

# Where the run works; rules of scope `workspace` are held against it.
# workspace: /srv/app
"""


@described("ctxguard init rules.yaml", cannot="the file exists or cannot be written")
def init(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="Where to write it; in a folder, as ctxguard.yaml.")] = Path("ctxguard.yaml"),
    *,
    as_json: AsJson = False,
) -> None:
    """Write a commented ctxguard.yaml to start from. An existing file is never overwritten."""
    target = path / "ctxguard.yaml" if path.is_dir() else path
    try:
        # Opened for creation only: nobody's file is lost to one that appeared a moment ago.
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(STARTER)
    except FileExistsError as error:
        _stop(f"'{target}' exists and stays as it is. Name another path, or remove it first.", error)
    except OSError as error:
        _stop(f"Cannot write '{target}': {error.strerror or error}. Nothing was written.", error)
    if as_json:
        json_out({"written": str(target)})
        return
    echo(f"Written to {printable(str(target))}. Next: ctxguard constraints --config {printable(str(target))}")


def _stop(message: str, cause: OSError) -> None:
    echo(printable(f"ctxguard init: {message}"), err=True)
    raise typer.Exit(_CANNOT_WRITE) from cause
