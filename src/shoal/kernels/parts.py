"""Helpers as parts of the kernels that call them: translated once, optimised there, never alone.

Left to itself, numba optimises every function and makes machine code of it, with all that it calls
inside; then its callers do so again. A helper three calls below a kernel is worked on four times,
and nobody ever runs it alone. So a helper's code is only kept for linking, and the kernel that it
ends up in is optimised once. Half of the time of a first run went into what is left out here.

`Compiler` and passes are numba's documented way to change what it does; what a library of code
does when it is finished is not documented. `tests/kernels/test_kernel_cache.py` notices when a
release of numba changes that.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import AnnotateTypes


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
