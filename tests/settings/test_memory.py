"""Facts about what a run needs and what a machine has."""

import pytest

from shoal.runtime.memory import available_bytes, human_bytes, human_seconds
from shoal.settings.inputs import estimate_need

GB = 1_000_000_000


@pytest.fixture
def machine(tmp_path):
    """A root folder with the files in which a system says what memory it has."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")
        return tmp_path

    return write


MEMINFO = {"proc/meminfo": "MemTotal: 16000000 kB\nMemFree: 1 kB\nMemAvailable: 8000000 kB\n"}


def test_memory_that_is_available_counts_not_memory_that_is_free(machine):
    assert available_bytes(machine(MEMINFO)) == 8_000_000 * 1024


def test_a_container_may_have_less_than_the_machine(machine):
    files = {
        "proc/self/cgroup": "0::/box\n",
        "sys/fs/cgroup/box/memory.max": str(2 * GB),
        "sys/fs/cgroup/box/memory.current": str(GB),
        "sys/fs/cgroup/box/memory.stat": "anon 5\ninactive_file 250000000\n",
    }
    assert available_bytes(machine(MEMINFO | files)) == GB + 250_000_000


def test_a_limit_of_a_parent_holds_for_its_children(machine):
    files = {
        "proc/self/cgroup": "0::/outer/inner\n",
        "sys/fs/cgroup/outer/inner/memory.max": "max\n",
        "sys/fs/cgroup/outer/inner/memory.current": "5\n",
        "sys/fs/cgroup/outer/memory.max": str(3 * GB),
        "sys/fs/cgroup/outer/memory.current": str(GB),
    }
    assert available_bytes(machine(MEMINFO | files)) == 2 * GB


def test_the_older_kind_of_control_group_is_understood(machine):
    files = {
        "proc/self/cgroup": "3:cpu:/a\n2:memory:/a\n",
        "sys/fs/cgroup/memory/a/memory.limit_in_bytes": str(GB),
        "sys/fs/cgroup/memory/a/memory.usage_in_bytes": str(GB // 4),
    }
    assert available_bytes(machine(MEMINFO | files)) == GB - GB // 4


def test_a_container_that_is_over_its_limit_has_nothing_left(machine):
    files = {
        "proc/self/cgroup": "0::/box\n",
        "sys/fs/cgroup/box/memory.max": "5",
        "sys/fs/cgroup/box/memory.current": "6",
    }
    assert available_bytes(machine(MEMINFO | files)) == 0


def test_this_machine_says_something():
    assert available_bytes() is None or available_bytes() > 0


def test_more_rows_and_more_columns_need_more():
    def need(rows, quasi=8, kept=1, **formats):
        return estimate_need(rows, quasi_identifiers=quasi, kept=kept, **formats)

    base = need(1_000_000)
    for more in (need(2_000_000), need(1_000_000, quasi=9), need(1_000_000, kept=2)):
        assert more.memory > base.memory
        assert more.seconds > base.seconds
    assert need(1_000_000, source="parquet").seconds < base.seconds


def test_ten_million_census_rows_need_less_than_six_gigabytes():
    for source in ("csv", "parquet"):
        need = estimate_need(10_000_000, quasi_identifiers=8, kept=1, source=source, target=source)
        assert need.memory < 6 * GB


@pytest.mark.parametrize(
    ("amount", "text"), [(340_200_000, "340 MB"), (1_250_000_000, "1.2 GB"), (2e10, "20.0 GB")]
)
def test_memory_is_said_in_words(amount, text):
    assert human_bytes(amount) == text


def test_time_is_said_in_words():
    assert human_seconds(12.4) == "12 s"
    assert human_seconds(600) == "10 min"
