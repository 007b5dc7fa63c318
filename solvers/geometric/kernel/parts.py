"""Functions that numba only ever inlines: they are neither optimised nor turned into machine code by themselves.

numba optimises and emits every compiled function, also one that exists only to be inlined into another. A loop
made of forty such functions, nested five deep, is then compiled about twice. Here a function keeps its plain
intermediate code, and only the loop that it ends up in is optimised. This uses classes inside numba, so it is done
for the series of versions that were tried; with any other numba functions are compiled in the ordinary way: slower
to compile, the same afterwards.
"""

from __future__ import annotations

import weakref
from typing import Any

import numba
from numba.core import codegen, compiler, compiler_machinery, typed_passes

TRIED = ("0.68.",)


class _Code(codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into other code and never run by itself."""

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironment(self._codegen)

    def _optimize_final_module(self) -> None:
        """Leave that to the code this is linked into."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._final_module.__library = weakref.proxy(self)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: Python cannot call it."""
        self._ensure_finalized()
        return 0


class _WithoutEnvironment:
    """A code generator that stores no environment for a function without machine code."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def set_env(self, name: str, env: Any) -> None:
        """Store nothing: there is no place for it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@compiler_machinery.register_pass(mutates_CFG=False, analysis_only=True)
class _KeepAsPart(compiler_machinery.LoweringPass):  # type: ignore[misc]
    """Let what follows write into code that is never run by itself."""

    _name = "dse_keep_as_part"

    def __init__(self) -> None:
        compiler_machinery.LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Replace the code library of a function before it is lowered."""
        state.library = _Code(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class _Parts(compiler.CompilerBase):  # type: ignore[misc]
    """numba's ordinary steps, and one more."""

    def define_pipelines(self) -> list[Any]:
        """Return the one list of steps."""
        steps = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.add_pass_after(_KeepAsPart, typed_passes.AnnotateTypes)
        steps.finalize()
        return [steps]


HOW: dict[str, Any] = {"pipeline_class": _Parts} if numba.__version__.startswith(TRIED) else {}
"""What ``numba.njit`` is told for a function that is only inlined."""
