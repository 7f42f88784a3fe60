"""The pytest plugin: case files are collected as tests, and the fixture `retention` runs cases. It loads no framework until a case runs.

It is registered as the entry point `ctxguard`, so it is there wherever the package is installed; `-p no:ctxguard` turns it off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from langchain_ctxguard.testing.retention.case import RetentionCase
    from langchain_ctxguard.testing.retention.outcome import CaseRun

_SUFFIXES = (".retention.yaml", ".retention.yml")
_MARK = "retention"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the kit."""
    group = parser.getgroup("retention", "retention cases (langchain-ctxguard)")
    group.addoption(
        "--retention-strategy",
        action="append",
        default=[],
        metavar="NAME",
        help="How case files are compacted: guard (default), langchain, deepagents, langmem, or package.module:function; several times for several.",
    )
    group.addoption(
        "--retention-model", default=None, metavar="MODEL", help="Who answers the request: obedient (default), scripted, or a chat model."
    )
    without = "Run each case without compaction as well: what fails there too was not lost by one."
    group.addoption("--uncompacted", action="store_true", help=without)
    parser.addini("retention_strategies", "How case files are compacted, where no option says it.", type="args", default=["guard"])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", f"{_MARK}(*files, strategy='guard'): run this test once for each case of the files, with the fixture `retention`"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect case files."""
    return CaseFile.from_parent(parent, path=file_path) if file_path.name.endswith(_SUFFIXES) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a marked test one case after the other."""
    marker = metafunc.definition.get_closest_marker(_MARK)
    if marker is None or not marker.args or _MARK not in metafunc.fixturenames:
        return
    from langchain_ctxguard.errors import ConfigurationError
    from langchain_ctxguard.testing.retention.files import case_files, read_cases

    folder = metafunc.definition.path.parent
    try:
        cases = [case for given in marker.args for path in case_files(folder / given) for case in read_cases(path)]
    except ConfigurationError as error:
        raise pytest.UsageError(str(error)) from error
    metafunc.parametrize(_MARK, [(case, marker.kwargs) for case in cases], ids=[case.name for case in cases], indirect=True)


class Retention:
    """Runs cases in a test.

    A test marked `@pytest.mark.retention("file.retention.yaml")` runs once for each case, and `retention.check()` is all it needs to say.
    """

    def __init__(self, *, model: str, uncompacted: bool, case: RetentionCase | None = None, strategy: Any = "guard") -> None:
        """Hold the options of the test run and the case of the test."""
        self._model, self._uncompacted = model, uncompacted
        self.case = case
        """The case of a marked test, else `None`."""

        self.strategy = strategy

    def run(self, case: RetentionCase | Mapping[str, Any] | None = None, strategy: Any = None, **options: Any) -> CaseRun:
        """Run a case and return what came of it. See `langchain_ctxguard.testing.retention.run.run_case` for the options.

        Args:
            case: A case, or its data; default: the case of the marked test.
            strategy: A name, or a function from messages to messages; default: the one of the mark.
            options: `model`, `uncompacted`, and the other options of `run_case`.

        Raises:
            ConfigurationError: the case or the strategy cannot be used.
        """
        from langchain_ctxguard.testing.retention.run import answers_named, run_case

        if "model" not in options:
            options["model"] = answers_named(self._model)
        return run_case(self._read(case), _way(self.strategy if strategy is None else strategy), **options)

    def check(self, case: RetentionCase | Mapping[str, Any] | None = None, strategy: Any = None, **options: Any) -> CaseRun:
        """Run a case and fail the test where something is not as expected, saying whether compaction was the cause."""
        run = self.run(case, strategy, **options)
        if not run.passed:
            pytest.fail(_explained(run, lambda: self.run(case, strategy, **{**options, "uncompacted": True})), pytrace=False)
        if self._uncompacted and run.is_compacted:
            self.check(case, strategy, **{**options, "uncompacted": True})
        return run

    def _read(self, case: RetentionCase | Mapping[str, Any] | None) -> RetentionCase:
        from langchain_ctxguard.errors import ConfigurationError
        from langchain_ctxguard.testing.retention.case import RetentionCase

        found = self.case if case is None else case
        if found is None:
            msg = "No case: pass one, or mark the test with @pytest.mark.retention('file.retention.yaml')."
            raise ConfigurationError(msg)
        return found if isinstance(found, RetentionCase) else RetentionCase.from_data(found, place="case")


@pytest.fixture
def retention(request: pytest.FixtureRequest) -> Retention:
    """Run retention cases: the one of a marked test, or any that is passed."""
    given: tuple[RetentionCase | None, Mapping[str, Any]] = getattr(request, "param", (None, {}))
    case, options = given
    config = request.config
    model = config.getoption("--retention-model") or "obedient"
    strategy = options.get("strategy", "guard")
    return Retention(model=model, uncompacted=config.getoption("--uncompacted"), case=case, strategy=strategy)


class CaseFile(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each case and strategy.

        Raises:
            pytest.Collector.CollectError: the file cannot be read as cases.
        """
        from langchain_ctxguard.errors import ConfigurationError
        from langchain_ctxguard.testing.retention.files import read_cases

        try:
            cases = read_cases(self.path)
        except ConfigurationError as error:
            raise self.CollectError(str(error)) from error
        strategies = self.config.getoption("--retention-strategy") or self.config.getini("retention_strategies")
        for case in cases:
            for strategy in strategies:
                name = case.name if strategies == ["guard"] else f"{case.name}[{strategy}]"
                yield CaseItem.from_parent(self, name=name, case=case, strategy=strategy)
                if self.config.getoption("--uncompacted"):
                    yield CaseItem.from_parent(self, name=f"{name} uncompacted", case=case, strategy=strategy, uncompacted=True)


class CaseItem(pytest.Item):
    """A case as a test."""

    def __init__(self, *, case: RetentionCase, strategy: str, uncompacted: bool = False, **kwargs: Any) -> None:
        """Hold what is run."""
        super().__init__(**kwargs)
        self.add_marker(_MARK)
        self._case, self._strategy, self._is_uncompacted = case, strategy, uncompacted

    def runtest(self) -> None:
        """Run the case.

        Raises:
            CaseFailedError: something is not as expected.
        """
        from langchain_ctxguard.testing.retention.run import answers_named, run_case

        model = answers_named(self.config.getoption("--retention-model") or "obedient")
        run = run_case(self._case, self._strategy, model=model, uncompacted=self._is_uncompacted)
        if not run.passed:
            raise CaseFailedError(_explained(run, lambda: run_case(self._case, self._strategy, model=model, uncompacted=True)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the failure in words; another exception keeps its traceback, and a wrong setting its sentence."""
        from langchain_ctxguard.errors import ConfigurationError

        if isinstance(excinfo.value, CaseFailedError | ConfigurationError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the case stands."""
        return self.path, None, self.name


class CaseFailedError(AssertionError):
    """A case is not as expected."""


def _explained(run: CaseRun, again: Callable[[], CaseRun]) -> str:
    """Return the failure, and whether compaction caused it."""
    from langchain_ctxguard.testing.retention.outcome import cause

    return f"{run.explain()}\n  {cause(run, again)}"


def _way(given: Any) -> Any:
    """Return a way and the name of one as they are, and for a function of the test the way that calls it."""
    from langchain_ctxguard.testing.retention.setting import Way
    from langchain_ctxguard.testing.retention.ways import of_function

    return given if isinstance(given, str | Way) else of_function(given)
