"""The decorators of all kernels.

Kernels and helpers neither make nor keep arrays, so they are compiled without counting references
to them. Counting takes longer than scanning a small block: a scan is given some forty arrays, and
16 rows took 430 ns with it and take 110 ns without; and it takes longer to compile. What has to
make arrays is decorated as such, and nothing else calls it.

Helpers are parts of the kernels that call them: translated once, optimised there, never alone. Left
to itself, numba optimises every function and makes machine code of it, with all that it calls
inside; then its callers do so again. A helper three calls below a kernel is worked on four times,
and nobody ever runs it alone. So a helper's code is only kept for linking, and the kernel that it
ends up in is optimised once. Half of the time of a first run went into what is left out here.
Translated helpers are kept on disk, too: another process that compiles a kernel finds them.

`Compiler` and passes are numba's documented way to change what it does; what a library of code
does when it is finished is not documented. `tests/kernels/test_kernel_cache.py` notices when a
release of numba changes that.
"""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import threading
from types import CodeType, FunctionType
from typing import Any

import llvmlite.binding as llvm
from numba import njit
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import AnnotateTypes

from shoal.kernels.cache import FOLDER, NUMBA, HelperLocator, Locator, one_writer
from shoal.kernels.callers import ROOMS, check_caller

_LOCK = threading.Lock()
_UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""Turns counting off. It is not documented; `tests/kernels/test_kernel_cache.py` notices when it is
gone or does something else."""


class _Kernel(CPUDispatcher):
    """A kernel of this package, which reads what it is given without looking."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        check_caller(self.py_func.__name__)
        return super().__call__(*arguments, **named)


class _Helper(CPUDispatcher):
    """A helper that Python has called by mistake: without an entry point that would be a crash."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        del arguments, named
        msg = f"{self.py_func.__name__} is for kernels only; Python scans by `Scanner.costs_with`"
        raise TypeError(msg)


class _KeptHelper(_Helper):
    """A helper of which only code for linking is made."""

    def compile(self, sig: Any) -> Any:
        """Compile the helper, or read what another process has made of it."""
        _keep_part(self)
        return super().compile(sig)


def kernel(function: Any) -> Any:
    """Compile a function that Python calls: on first use, cached on disk, without the GIL."""
    return _cached(function, no_cfunc_wrapper=True, **WHOLE, **_UNCOUNTED)


def helper(function: Any) -> Any:
    """Compile a function that only kernels call: without the entry points from Python."""
    return _inside(function, **PART, **_UNCOUNTED)


def called_helper(function: Any) -> Any:
    """Compile a helper that is called and never copied into its callers.

    For what is long and runs rarely, beside scans: copies of it are most of the code of a kernel.
    """
    return _inside(function, **CALLED, **_UNCOUNTED)


def inlined_helper(function: Any) -> Any:
    """Compile a helper into each function that calls it: for what runs once per block.

    Passing forty arrays costs about as much as scanning a small block does.
    """
    return _inside(function, **PART, **_UNCOUNTED, forceinline=True)


def array_kernel(function: Any) -> Any:
    """Compile a kernel that makes arrays, or calls a helper that does."""
    return _cached(function)


def array_helper(function: Any) -> Any:
    """Compile a helper that makes arrays."""
    return _inside(function)


def _inside(function: Any, **options: Any) -> Any:
    found = _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    if not NUMBA.DISABLE_JIT:  # then it is a plain function
        found.__class__ = _KeptHelper if "pipeline_class" in options else _Helper
    return found


def _compiled(function: Any, **options: Any) -> Any:
    return njit(nogil=True, boundscheck=False, **options)(function)


def _cached(function: Any, **options: Any) -> Any:
    """Compile a function that is kept in our folder, whatever others use."""
    found = _compiled(function, **options)
    if function.__module__.startswith(ROOMS) and not NUMBA.DISABLE_JIT:
        found.__class__ = _Kernel
    if FOLDER is not None and not NUMBA.DISABLE_JIT:
        _keep(found, Locator)
    return found


def _keep(dispatcher: Any, locator: type[Locator]) -> None:
    """Keep what is compiled of a function in our folder."""
    with _LOCK:
        theirs = NUMBA.CACHE_DIR, NUMBA.CACHE_LOCATOR_CLASSES
        NUMBA.CACHE_DIR = str(FOLDER)  # numba reads both while it makes a cache
        NUMBA.CACHE_LOCATOR_CLASSES = f"{locator.__module__}.{locator.__name__}"
        try:
            dispatcher.enable_caching()
        finally:
            NUMBA.CACHE_DIR, NUMBA.CACHE_LOCATOR_CLASSES = theirs
    _keep_plainly(dispatcher)


def _keep_part(helper: Any) -> None:
    """Keep what is translated of a helper, beside the kernels."""
    if FOLDER is not None and isinstance(helper._cache, NullCache):  # noqa: SLF001
        _keep(helper, HelperLocator)
        store: Any = helper._cache  # noqa: SLF001
        store._impl = _PartCache(helper.py_func)  # noqa: SLF001


def _keep_plainly(dispatcher: Any) -> None:
    """Let one process at a time write to the cache, and read it without numba's whole library.

    Numba reads the list of a kernel's variants, adds one and writes it back. Two processes that do
    so at once can give two variants the same file. Before it reads finished code, it imports all
    that code could be compiled with, SciPy included, which takes a quarter of a small release;
    finished code needs numba's counting of references, and nothing else of that.
    The parts we wrap here are not documented.
    """
    store = dispatcher._cache  # noqa: SLF001
    save, load = store.save_overload, store._load_overload  # noqa: SLF001
    guard = store._guard_against_spurious_io_errors  # noqa: SLF001

    def save_in_turn(*arguments: Any) -> Any:
        with one_writer():
            return save(*arguments)

    def load_alone(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        with guard():
            return load(signature, context)

    store.save_overload = save_in_turn
    store.load_overload = load_alone


def unrolled(function: Any) -> Any:
    """Unroll loops over tuples before a kernel or helper is compiled.

    Levels of trees stand in arrays of one, two or four bytes, and numba cannot loop over arrays of
    different types. So a loop over a tuple that is written out in the source,

        for codes, own in ((cols.lev8, query.code8), (cols.lev16, query.code16)):

    becomes one copy of its body for each of them, with the names replaced by what they stand for:
    what one would write by hand, with the same machine code. A helper for each type, or numba's
    own ways, take 10 to 50 per cent longer to compile.
    """
    lines, first = inspect.getsourcelines(function)
    tree = ast.increment_lineno(ast.parse("".join(lines)), first - 1)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    definition.body = _unroll(definition.body)
    flags = __future__.annotations.compiler_flag
    module = compile(tree, inspect.getfile(function), "exec", flags, dont_inherit=True)
    # from Python 3.14 on there is code of the annotations beside that of the function
    codes = (each for each in module.co_consts if isinstance(each, CodeType))
    code = next(each for each in codes if each.co_name == function.__name__)
    found = FunctionType(code, function.__globals__, function.__name__)
    found.__doc__, found.__module__ = function.__doc__, function.__module__
    return found


def _unroll(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements with copies of their bodies in the place of loops over tuples."""
    found: list[ast.stmt] = []
    for each in statements:
        for part in ("body", "orelse"):
            if hasattr(each, part):
                setattr(each, part, _unroll(getattr(each, part)))
        if not (isinstance(each, ast.For) and isinstance(each.iter, ast.Tuple)):
            found.append(each)
            continue
        for line in each.iter.elts:
            names = [ast.unparse(name) for name in _parts(each.target)]
            stand_for = dict(zip(names, _parts(line), strict=True))
            found += [_replace(copy.deepcopy(one), stand_for) for one in each.body]
    return found


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _replace(node: Any, stand_for: dict[str, ast.expr]) -> Any:
    """Replace names by what they stand for."""
    if isinstance(node, ast.Name):
        return stand_for.get(node.id, node)
    for part, value in ast.iter_fields(node) if isinstance(node, ast.AST) else ():
        if isinstance(value, ast.AST):
            setattr(node, part, _replace(value, stand_for))
        elif isinstance(value, list):
            value[:] = [_replace(one, stand_for) for one in value]
    return node


class _Part(JITCodeLibrary):
    """The code of a helper and of what it calls, for others to link."""

    called = False

    def finalize(self) -> None:
        """Collect what is called, and leave all work to the kernel."""
        self._raise_if_finalized()
        if self.called:
            for function in self._final_module.functions:
                if not function.is_declaration:
                    function.add_function_attribute("noinline")
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)  # noqa: SLF001 - as numba does
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)  # noqa: SLF001
        self._finalize_dynamic_globals()
        self._finalized = True

    def serialize_using_object_code(self) -> Any:
        """Return what is kept: code for linking."""
        return self.serialize_using_bitcode()

    def read(self, code: bytes) -> None:
        """Take the code that was kept."""
        self._final_module = llvm.parse_bitcode(code)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return none: there is no machine code."""
        del name
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _Part:
        """What would be told of the function's environment: nobody needs to be."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: an environment is for machine code."""


class _CalledPart(_Part):
    called = True


class _PartCache(CompileResultCacheImpl):
    """Reads the code of a helper as it was kept: for linking, without machine code."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return a helper that another process has translated."""
        code, description, own, signature, _, lifted, annotation, begin, environments = payload
        for each in begin:
            each()
        library = _Part(target_context.codegen(), code[0])
        library.read(code[-1])
        return compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=own,
            entry_point=target_context.get_executable(library, description, own),
            fndesc=description,
            type_annotation=annotation,
            signature=signature,
            objectmode=False,
            lifted=lifted,
            reload_init=begin,
            referenced_envs=environments,
        )


class _Whole(JITCodeLibrary):
    """The code of a kernel: optimised in one go, since there are no references to prune."""

    def _optimize_final_module(self) -> None:
        manager, builder = self._codegen._module_pass_manager()  # noqa: SLF001
        manager.run(self._final_module, builder)


def _compiler(library: type[Any], cached: bool) -> dict[str, Any]:
    """Return the option that makes numba put code into such a library."""

    @register_pass(mutates_CFG=False, analysis_only=True)
    class Choose(AnalysisPass):
        _name = f"shoal{library.__name__}"

        def __init__(self) -> None:
            AnalysisPass.__init__(self)

        def run_pass(self, state: Any) -> bool:
            name = state.func_id.func_qualname
            state.library = library(state.targetctx.codegen(), name)
            if cached:
                state.library.enable_object_caching()
            return False

    class Chosen(Compiler):
        def define_pipelines(self) -> Any:
            pipelines = super().define_pipelines()
            for pipeline in pipelines:
                pipeline.add_pass_after(Choose, AnnotateTypes)
                pipeline.finalize()
            return pipelines

    return {"pipeline_class": Chosen}


CALLED = _compiler(_CalledPart, cached=False)
"""Options of a helper that is called and never copied into its callers."""

PART = _compiler(_Part, cached=False)
"""Options of a helper that LLVM may copy into its callers."""

WHOLE = _compiler(_Whole, cached=True)
"""Options of a kernel."""
