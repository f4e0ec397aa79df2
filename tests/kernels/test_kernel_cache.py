"""What the decorators of kernels make; their cache neither misleads nor deletes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit
from numba.core.codegen import get_host_cpu_features
from tests.helpers.effort import share

import shoal
from shoal.kernels import cache, jit

PACKAGE = Path(shoal.__file__).parent


def add_first(pair, which):
    chosen = pair[0] if which > 0 else pair[1]
    total = 0.0
    for i in range(chosen.shape[0]):
        line = chosen[i]
        total += line[0]
    return total


def test_the_undocumented_option_of_numba_still_turns_counting_off():
    table = np.arange(6.0).reshape(3, 2)
    counted, uncounted = njit(add_first), njit(**jit._UNCOUNTED)(add_first)
    assert counted((table, table), 1) == uncounted((table, table), 1) == 6.0
    (with_counts,), (without,) = (f.inspect_llvm().values() for f in (counted, uncounted))
    assert "NRT_" in with_counts
    assert "NRT_" not in without


def twice_the_sum(numbers):
    total = 0.0
    for i in range(numbers.shape[0]):
        total += numbers[i]
    return 2.0 * total


@pytest.fixture
def nothing_kept(monkeypatch):
    """What is compiled is not written down."""
    monkeypatch.setattr(jit, "FOLDER", None)


def kernel_with(decorate):
    """A kernel that calls a helper with such a decorator, and the helper."""
    inner = decorate(twice_the_sum)

    @njit(**jit.WHOLE)
    def outer(numbers):
        return inner(numbers) + inner(numbers[1:])

    assert outer(np.arange(4.0)) == 24.0
    return outer, inner


def linked_text(library):
    return str(library._get_module_for_linking())


@pytest.mark.usefixtures("nothing_kept")
def test_a_helper_is_code_to_link_and_has_no_machine_code_of_its_own():
    _, inner = kernel_with(jit.helper)
    (compiled,) = inner.overloads.values()
    assert isinstance(compiled.library, jit._Part)
    assert compiled.library.get_pointer_to_function(compiled.fndesc.mangled_name) == 0
    assert "fadd" in linked_text(compiled.library)


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize(("decorate", "copied"), [("called_helper", False), ("helper", True)])
def test_only_a_called_helper_stands_outside_of_its_kernel(decorate, copied):
    outer, inner = kernel_with(getattr(jit, decorate))
    (compiled,) = outer.overloads.values()
    (helper,) = inner.overloads.values()
    assert isinstance(compiled.library, jit._Whole)
    defined = {function.name for function in compiled.library.get_defined_functions()}
    assert (helper.fndesc.mangled_name not in defined) == copied


TWO_KERNELS = """
import sys
import numpy as np
from shoal.kernels import jit


@jit.helper
def half(number):
    return number / 2.0


@jit.{decorator}
def total(numbers):
    found = 0.0
    for i in range(numbers.shape[0]):
        found += half(numbers[i])
    return found


@jit.kernel
def first(numbers):
    return total(numbers)


@jit.kernel
def second(numbers):
    return 10.0 * total(numbers[1:]) + half(numbers[0])


answer = globals()[sys.argv[1]](np.array([1.0, 2.0, 4.0]))
print(answer, *(sum(each._cache_hits.values()) for each in (half, total)))
"""


@pytest.mark.parametrize("decorator", ["helper", "called_helper"])
def test_a_process_that_compiles_reads_helpers_that_another_has_translated(tmp_path, decorator):
    (tmp_path / "two.py").write_text(TWO_KERNELS.format(decorator=decorator))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def run(name):
        command = [sys.executable, str(tmp_path / "two.py"), name]
        done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
        return done.stdout.split()

    assert run("first") == ["3.5", "0", "0"]
    assert run("second") == ["30.5", "1", "1"]
    assert run("second") == ["30.5", "0", "0"]  # the kernel is there, nothing is compiled


def import_kernels(package, folder, **more):
    """Import the kernels of a copy of the package; return the folder of its compiled code."""
    found, _ = chosen_folder(package, folder, **more)
    return found, any(found.glob("*/*.nbi"))


def chosen_folder(package, folder, first="", **more):
    """Import the kernels of a copy of the package, after other code."""
    code = "from shoal.kernels import cache, scan; print(cache.FOLDER); print(cache.PROCESSOR[0])"
    done = subprocess.run(
        [sys.executable, "-c", f"{first}\n{code}"],
        env={
            **os.environ,
            "PYTHONPATH": str(package),
            "NUMBA_CACHE_DIR": str(folder),
            "NUMBA_BOUNDSCHECK": "",  # whatever these tests are run with
            **more,
        },
        capture_output=True,
        check=True,
        text=True,
        timeout=300,
    )
    found, processor = done.stdout.split()
    return Path(found), processor


@pytest.fixture
def copy(tmp_path):
    target = tmp_path / "copy"
    shutil.copytree(
        PACKAGE / "kernels", target / "shoal" / "kernels", ignore=lambda *_: ["__pycache__"]
    )
    (target / "shoal" / "__init__.py").write_text("")
    return target


def test_importing_kernels_deletes_no_file(copy, tmp_path):
    theirs = tmp_path / "cache"
    (theirs / "kernels-of-old" / "kernels_1").mkdir(parents=True)
    old = [theirs / "other.nbi", theirs / "kernels-of-old" / "kernels_1" / "scan.load_query.nbi"]
    for file in old:
        file.write_text("compiled by somebody")
    found, filled = import_kernels(copy, theirs)
    assert found.parent == theirs
    assert not filled
    assert [file.read_text() for file in old] == ["compiled by somebody"] * 2


def test_a_changed_helper_is_never_taken_from_the_cache(copy, tmp_path):
    plain = {"NUMBA_BOUNDSCHECK": "0"}
    before, _ = import_kernels(copy, tmp_path, **plain)
    again, _ = import_kernels(copy, tmp_path, **plain)
    helper = copy / "shoal" / "kernels" / "codes.py"
    helper.write_text(helper.read_text() + "\n# changed\n")
    after, _ = import_kernels(copy, tmp_path, **plain)
    checked, _ = import_kernels(copy, tmp_path, NUMBA_BOUNDSCHECK="1")
    assert before == again
    assert len({before, after, checked}) == 3
    assert before.is_dir()


SAVE_A_VARIANT = """
import sys
import numpy as np
from shoal.kernels.callers import trust
from shoal.kernels.groups import link_members
trust(__name__)
kind = np.dtype(sys.argv[1])
three = np.zeros(3, np.int64)
link_members(np.zeros(3, kind), three.copy(), three.copy(), three.copy(), three.copy())
print(sum(link_members.stats.cache_hits.values()))
"""


def test_processes_that_compile_at_the_same_time_lose_no_variant(copy, tmp_path):
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    kinds = ("int8", "int16", "int32", "int64")[: share(4, least=2)]
    for hits in ("0", "1"):
        started = [
            subprocess.Popen(
                [sys.executable, "-c", SAVE_A_VARIANT, kind],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            for kind in kinds
        ]
        assert [process.communicate(timeout=300)[0].strip() for process in started] == [hits] * len(
            kinds
        )
    assert len(list((tmp_path / "cache").glob("kernels-*/*/groups.link_members*.nbc"))) == len(
        kinds
    )


LOAD_TWO = """
import sys
import numpy as np
from shoal.kernels import jit

@jit.array_kernel
def doubled(numbers):
    return numbers * 2

@jit.kernel
def total(numbers):
    found = 0
    for i in range(numbers.shape[0]):
        found += numbers[i]
    return found

three = np.arange(3)
print(total(doubled(three)), sum(doubled.stats.cache_hits.values()), end=" ")
print("numba.np.linalg" in sys.modules, end=" ")
print(total(np.ones(3, sys.argv[1])))
"""


def test_finished_code_is_read_without_what_compiling_needs_and_more_can_be_compiled(tmp_path):
    script = tmp_path / "two.py"  # numba keeps what is made in a file
    script.write_text(LOAD_TWO)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = [
        subprocess.run(
            [sys.executable, str(script), kind],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        ).stdout.split()
        for kind in ("float32", "float32", "float64")
    ]
    compiled, read, read_then_compiled = said
    assert compiled == ["6", "0", "True", "3.0"]
    assert read == read_then_compiled == ["6", "1", "False", "3.0"]


def test_without_a_place_to_write_kernels_last_as_long_as_the_process(copy, tmp_path):
    (copy / "shoal" / "kernels" / "__pycache__").write_text("a file, so no folder can be made")
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path)}
    found, _ = import_kernels(copy, "", **nowhere, PYTHONDONTWRITEBYTECODE="1")
    assert found.parent == tmp_path
    assert not found.exists()


def test_kernels_of_an_image_that_can_only_be_read_are_used(tmp_path, monkeypatch):
    image, home = tmp_path / "image", tmp_path / "home"
    finished = image / (cache._name(cache.PROCESSOR)) / "kernels_1"
    finished.mkdir(parents=True)
    (finished / "scan.load_query-1.nbi").write_text("compiled")
    can_write = cache._can_write
    monkeypatch.setattr(
        cache, "_can_write", lambda folder: home in folder.parents and can_write(folder)
    )
    monkeypatch.setattr(cache, "_parents", lambda: [image, home])
    folder, temporary = cache._find()
    assert folder.parent == home
    assert not temporary
    assert (folder / "kernels_1" / "scan.load_query-1.nbi").read_text() == "compiled"
    monkeypatch.setattr(cache, "_can_write", lambda _: False)
    folder, temporary = cache._find()
    assert temporary
    assert (folder / "kernels_1" / "scan.load_query-1.nbi").read_text() == "compiled"


COMMON = "x86-64-v3"
HOST = llvm.get_host_cpu_name()


@pytest.mark.skipif(
    not cache._NEEDS.issubset(get_host_cpu_features().split(",")), reason="an older processor"
)
def test_code_that_a_wheel_brings_is_used_where_it_fits_and_numba_has_been_told_nothing(
    copy, tmp_path
):
    nothing, _ = chosen_folder(copy, tmp_path / "1")
    own, of_host = chosen_folder(copy, tmp_path / "1", NUMBA_CPU_NAME=COMMON, NUMBA_CPU_FEATURES="")
    assert (of_host, nothing.name != own.name) == (COMMON, True)
    brought = copy / "shoal" / "kernels" / "compiled" / own.name / "code"
    brought.mkdir(parents=True)
    (brought / "scan.load_query-1.nbi").write_text("compiled")

    used, processor = chosen_folder(copy, tmp_path / "2")
    assert (used.name, processor) == (own.name, COMMON)
    assert (used / "code" / "scan.load_query-1.nbi").read_text() == "compiled"

    compiled_before = "import numba; numba.njit(lambda: 1)()"
    for first, more, expected in (
        (compiled_before, {}, HOST),
        ("", {"NUMBA_CPU_NAME": "generic"}, "generic"),
        ("", {"NUMBA_ENABLE_AVX": "0"}, HOST),  # as on a processor without
        ("", {"NUMBA_BOUNDSCHECK": "1"}, HOST),
    ):
        other, processor = chosen_folder(copy, tmp_path / "3", first, **more)
        assert processor == expected
        assert not list(other.glob("*/*.nbi"))


def test_where_nothing_can_be_written_to_kernels_are_compiled_and_not_kept(monkeypatch):
    def refuse(**_: object):
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(cache, "_can_write", lambda _: False)
    monkeypatch.setattr(cache.tempfile, "mkdtemp", refuse)
    assert cache._find() == (None, True)
    monkeypatch.setattr(jit, "FOLDER", None)

    @jit.kernel
    def twice(number):
        return 2 * number

    assert twice(21) == 42
    assert not twice.stats.cache_path


def test_a_cache_that_somebody_cleared_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache" / "kernels-1")
    with cache.one_writer():
        assert (tmp_path / "cache" / "kernels-1" / ".lock").exists()


LOOK = """
import sys, time
from pathlib import Path
from shoal.kernels.cache import one_at_a_time
mark = Path(sys.argv[1])
with one_at_a_time():
    print("together" if mark.exists() else "alone")
    mark.touch()
    time.sleep(0.3)
    mark.unlink(missing_ok=True)
"""


def test_of_processes_that_start_side_by_side_one_has_kernels_compiled_and_the_others_wait(
    tmp_path,
):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-c", LOOK, str(tmp_path / "mark")]
    workers = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [worker.communicate()[0].strip() for worker in workers] == ["alone", "alone"]


def test_stale_folders_go_only_when_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_parents", lambda: [tmp_path, tmp_path / "missing"])
    for name in ("kernels-1", "kernels-2", cache.FOLDER.name, "something else"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.nbc").write_text("")
    assert cache.remove_stale() == 2
    assert {path.name for path in tmp_path.iterdir()} == {cache.FOLDER.name, "something else"}
