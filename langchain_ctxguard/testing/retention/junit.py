"""The results of cases in the XML form that CI systems read as JUnit's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from langchain_ctxguard.testing.retention.outcome import CaseRun

# What XML 1.0 has no way to write at all.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class TimedRun:
    """A run of a case, and how long it took."""

    run: CaseRun
    seconds: float
    verdict: str = ""
    """Whether compaction was the cause, in words."""


def junit(results: Sequence[TimedRun]) -> str:
    """Return the results as one test suite: a case is a test, a way of compacting its class."""
    failed = sum(not result.run.passed for result in results)
    seconds = f"{sum(result.seconds for result in results):.3f}"
    suite = ET.Element("testsuite", name="retention", tests=str(len(results)), failures=str(failed), errors="0", skipped="0", time=seconds)
    for result in results:
        run = result.run
        name = _written(run.case.name if run.is_compacted else f"{run.case.name} uncompacted")
        test = ET.SubElement(suite, "testcase", classname=f"retention.{_written(run.way)}.{run.case.path}", name=name, time=f"{result.seconds:.3f}")
        if not run.passed:
            kinds = ", ".join(dict.fromkeys(finding.kind for finding in run.findings))
            failure = ET.SubElement(test, "failure", message=kinds, type=run.findings[0].kind)
            failure.text = _written("\n".join(filter(None, [run.explain(), result.verdict])))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _written(text: str) -> str:
    return _UNWRITABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
