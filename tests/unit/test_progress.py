"""Facts about what is shown while work goes on."""

import io
import re
import sys

from shoal.runtime import progress
from shoal.runtime.progress import COMPILING, Pace, PlainLines, close_display, showing_progress


def test_the_pace_is_rows_per_second_and_the_time_left():
    pace = Pace()
    assert pace.text(0, 10_000, "clustering", 100.0) == ""
    assert pace.text(1000, 10_000, "clustering", 102.0) == "500 rows/s, 0:18 left"
    assert pace.text(10_000, 10_000, "clustering", 104.0) == "2.5 k rows/s"


def test_a_new_stage_has_a_pace_of_its_own():
    pace = Pace()
    pace.text(0, 100, "reading", 0.0)
    pace.text(100, 100, "reading", 10.0)
    assert pace.text(0, 4_000_000, "clustering", 10.0) == ""
    assert pace.text(2_000_000, 4_000_000, "clustering", 11.0) == "2.0 M rows/s, 0:01 left"


def test_a_stage_of_unknown_length_has_a_pace_but_no_end():
    pace = Pace()
    pace.text(0, 0, "reading", 0.0)
    assert pace.text(50, 0, "reading", 1.0) == "50 rows/s"


def test_long_times_are_hours():
    pace = Pace()
    pace.text(0, 10_000, "clustering", 0.0)
    assert pace.text(1, 7201, "clustering", 1.0).endswith("2:00:00 left")


def test_lines_are_rare_and_say_how_far_it_is(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = PlainLines()
    for second in range(30):
        now[0] = float(second)
        lines(second * 10, 300, "clustering")
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "clustering: 20 of 300 (7%), 10 rows/s, 0:28 left"
    assert len(shown) == 7


def test_a_stage_that_cannot_say_how_far_it_is_says_for_how_long(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = PlainLines()
    for second in (3, 13, 23):
        now[0] = float(second)
        lines(0, 300, "clustering")
    assert capsys.readouterr().err.splitlines() == [
        "clustering ... (0:03 since the start)",
        "clustering ... (0:13 since the start)",
        "clustering ... (0:23 since the start)",
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_terminal(monkeypatch):
    """Makes standard error a terminal; inside the test, as pytest sets its own before."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def last_frame(screen):
    """What the screen shows last, without control sequences."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    return [line for line in re.split(r"[\r\n]", text) if line.strip()]


def test_the_bar_is_one_line_whose_stage_changes(monkeypatch):
    on_terminal(monkeypatch)
    with showing_progress() as report:
        report(0, 100, "encoding")
        report(50, 100, "clustering")
        assert progress._Shown.bar is not None
        tasks = progress._Shown.bar.tasks
        assert [task.description for task in tasks] == ["clustering"]
        assert tasks[0].percentage == 50
    assert progress._Shown.bar is None


def test_the_notice_about_compiling_is_shown_once(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with showing_progress() as report:
        report(0, 0, COMPILING)
        report(0, 0, COMPILING)
    assert sum("Compiling" in line for line in last_frame(terminal)) == 1


def test_compiling_has_a_share_and_no_pace(capsys, monkeypatch):
    now = iter(range(100))
    monkeypatch.setattr("shoal.runtime.progress.time.monotonic", lambda: next(now) * 3.0)
    report = PlainLines()
    for done in range(4):
        report(done, 4, COMPILING)
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("Compiling the kernels")
    assert others
    assert all(re.fullmatch(r"compiling: \d of 4 \(\d+%\)", line) for line in others), others


def test_what_was_compiled_meanwhile_does_not_pass_for_slow_work(monkeypatch):
    compiled = [0.0]
    monkeypatch.setattr("shoal.runtime.progress.compiled_seconds", lambda: compiled[0])
    monkeypatch.setitem(sys.modules, "numba", None)  # nothing is asked without it
    pace = Pace()
    pace.text(0, 500, "clustering", 0.0)
    compiled[0] = 30.0
    assert pace.text(31, 500, "clustering", 31.0) == ""
    assert pace.text(131, 500, "clustering", 32.0) == "100 rows/s, 0:04 left"


def test_closing_the_display_gives_the_cursor_back(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with showing_progress() as report:
        report(50, 100, "clustering")
        close_display()
        assert terminal.getvalue().count("\x1b[?25h") == 1
    close_display()


def test_nothing_is_shown_when_it_is_quiet(capsys):
    with showing_progress(quiet=True) as report:
        report(1, 2, "clustering")
    assert capsys.readouterr().err == ""
