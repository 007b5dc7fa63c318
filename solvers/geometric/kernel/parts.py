"""Functions that numba only ever inlines, and the loops over points that they end up in: compiled with less effort.

numba optimises and emits every compiled function, also one that exists only to be inlined into another. A loop
made of forty such functions, nested five deep, is then compiled about twice. Here a function keeps its plain
intermediate code, and only the loop that it ends up in is optimised: lightly, since loops over a few limits and
variables gain nothing by being vectorised. Steps for what such functions do not have (closures, array expressions,
branches on types) are left out. This uses classes inside numba, so it is done for the series of versions that were
tried; with any other numba functions are compiled in the ordinary way: slower to compile, as fast afterwards.
"""

from __future__ import annotations

import weakref
from functools import lru_cache
from typing import Any, ClassVar

import numba
from numba.core import (
    codegen,
    compiler,
    compiler_machinery,
    typed_passes,
    types,
    typing,
    untyped_passes,
)

TRIED = ("0.68.",)
EFFORT = 1
"""LLVM's level of optimisation: from 2 on loops take a tenth longer to compile and are no faster."""


class _Whole(codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code of a loop over points."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        steps, builder = self._codegen._function_pass_manager(opt=EFFORT)
        for function in module.functions:
            if not function.is_declaration:
                steps.run(function, builder)

    def _optimize_final_module(self) -> None:
        for how in ({"opt": 0, "cost": "cheap"}, {"opt": EFFORT}):
            steps, builder = self._codegen._module_pass_manager(loop_vectorize=False, **how)
            steps.run(self._final_module, builder)


class _Code(_Whole):
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


class _Flags(compiler.Flags):  # type: ignore[misc]
    """What numba is told, the same object wherever it is the same: numba looks up thousands of times what it told."""

    number: int

    def __hash__(self) -> int:
        return self.number

    def copy(self) -> _Flags:
        """Return itself: nobody changes it."""
        return self


@lru_cache
def _one_of(flags: compiler.Flags) -> _Flags:
    """Return the one object that tells the same."""
    found = _Flags(flags)
    found.number = hash(flags)
    return found


class _Typing(typing.Context):  # type: ignore[misc]
    """numba's own context for types, remembering the type of each operation with operands of the same types."""

    def __init__(self, own: typing.Context) -> None:
        self.__dict__ = {**own.__dict__, "known": {}}

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the signature; a function that is compiled looks up its own."""
        if kws or isinstance(func, types.Dispatcher):
            return super().resolve_function_type(func, args, kws)
        found = self.known.get((func, args))
        if found is None:
            found = self.known[func, args] = super().resolve_function_type(func, args, kws)
        return found


_typing = lru_cache(_Typing)

STEPS = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    typed_passes.NopythonTypeInference,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class _Loops(compiler.CompilerBase):  # type: ignore[misc]
    """What numba does to a loop."""

    code: ClassVar[type] = _Whole

    def __init__(
        self, context: Any, target: Any, library: Any, args: Any, returned: Any, flags: Any, local: Any
    ) -> None:
        super().__init__(_typing(context), target, library, args, returned, _one_of(flags), local)

    def define_pipelines(self) -> list[Any]:
        """Return the one list of steps, which write to the kind of code that this is for."""
        self.state.library = self.code(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        steps = compiler_machinery.PassManager("dse")
        for step in STEPS:
            steps.add_pass(step, step._name)
        steps.finalize()
        return [steps]


class _Parts(_Loops):
    """What numba does to a function that is only inlined."""

    code = _Code


KNOWN = numba.__version__.startswith(TRIED)
PART: dict[str, Any] = {"pipeline_class": _Parts} if KNOWN else {}
LOOP: dict[str, Any] = {"pipeline_class": _Loops} if KNOWN else {}
"""What ``numba.njit`` is told for a function that is only inlined, and for the loop that it ends up in."""
