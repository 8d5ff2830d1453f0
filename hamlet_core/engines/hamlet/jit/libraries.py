"""What a kernel is compiled into: its parts are translated one by one, and become machine code with it, all at once.

Numba optimises each function and generates machine code for it before it compiles the functions that call it, and these
take a copy of it through both again. Of a part that lies five calls below a kernel six machine codes are made; Python can
call one of them, the kernel's. Parts in libraries of their own kind skip all that until the kernel takes them in.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

from llvmlite import binding
from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

_SEVERAL_MAY_DEFINE = "linkonce_odr"
"""How numba links what it inlines; as `internal` functions LLVM would inline more, and take half as long again."""


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A kernel that Python can call, with all its parts."""

    _linking_libraries: list[Any]

    def add_linking_library(self, library: Any) -> None:
        """Call what another library defines."""
        if isinstance(library, PartLibrary):
            self._linking_libraries.append(library)
        else:
            super().add_linking_library(library)

    def finalize(self) -> None:
        """Take in the parts, and make machine code."""
        parts = list(self._parts())
        for part in parts:
            self._final_module.link_in(part.module(), preserve=True)
            self._reload_init.update(part._reload_init)  # noqa: SLF001 - our own class
        self._linking_libraries = [
            library
            for caller in (self, *parts)
            for library in caller._linking_libraries  # noqa: SLF001 - our own class
            if not isinstance(library, PartLibrary)
        ]
        super().finalize()

    def _optimize_functions(self, module: binding.ModuleRef) -> None:
        """Each function by itself, with one manager for all; numba makes one for each, and for each that is only named."""
        module.data_layout = self._codegen._data_layout  # noqa: SLF001 - as numba's libraries do
        passes, builder = self._codegen._function_pass_manager()  # noqa: SLF001 - as above
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _parts(self) -> Iterator[PartLibrary]:
        """All parts that it calls, or that these call: each once."""
        seen: set[PartLibrary] = set()
        callers: list[KernelLibrary] = [self]
        while callers:
            for library in callers.pop()._linking_libraries:  # noqa: SLF001 - our own class
                if isinstance(library, PartLibrary) and library not in seen:
                    seen.add(library)
                    callers.append(library)
                    yield library


class PartLibrary(KernelLibrary):
    """A part, not optimised: for kernels to take in."""

    def module(self) -> binding.ModuleRef:
        """Its code as one of several that may be linked."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = _SEVERAL_MAY_DEFINE
        return self._final_module

    def finalize(self) -> None:
        """Machine code of its own, for callers that are no kernels: numba would drop what kernels have named one of several."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.linkonce_odr:
                function.linkage = binding.Linkage.external
        super().finalize()


@register_pass(mutates_CFG=False, analysis_only=False)
class _PartEntry(LoweringPass):  # type: ignore[misc]
    """Lets kernels call a part: what numba does with functions that have machine code, without an address of it."""

    _name = "part_entry"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Name the part to those that are compiled after it."""
        part, library = state.cr.fndesc, state.library
        entry = _dynfunc.make_function(part.lookup_module(), part.qualname, "", 0, state.cr.env, (library,))
        state.targetctx.insert_user_function(entry, part, [library])
        state.cr = state.cr._replace(cfunc=entry)
        return True


_STEPS = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    DeadBranchPrune,
    GenericRewrites,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
)
"""Numba's steps for functions that allocate nothing: without those for closures, `with` blocks and whole arrays."""


_FOUND: dict[Any, Any] = {}
"""Signatures by function and types of arguments."""


class _Typing:
    """Numba's typing context, which here remembers what it found.

    Kernels ask thousands of times what the sum of two integers is, and each time NumPy's rules for arrays come first.
    """

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._context, name)
        setattr(self, name, found)
        return found

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        """The signature that a function has for these types of arguments."""
        known = self._context._lookup_global(function) or function  # noqa: SLF001 - as the context does itself
        if isinstance(known, types.Dispatcher):  # one part for all integers: constants, too
            arguments = tuple(map(types.unliteral, arguments))
        if named or not isinstance(known, types.Function):
            return self._context.resolve_function_type(function, arguments, named)
        if (known, arguments) not in _FOUND:
            found = self._context.resolve_function_type(function, arguments, named)
            _FOUND[known, arguments] = found
        return _FOUND[known, arguments]


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Numba's steps; a function without a wrapper for Python is a part."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function, and those that it calls: a million small objects, through which Python does not look for waste."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if collects:
                gc.enable()

    def define_pipelines(self) -> list[Any]:
        """The steps for the function at hand, and the library that it goes to."""
        state = self.state
        is_part = state.flags.no_cpython_wrapper
        kind = PartLibrary if is_part else KernelLibrary
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        state.typingctx = _Typing(state.typingctx)
        if state.flags.nrt:
            (steps,) = super().define_pipelines()
        else:
            steps = PassManager("kernel")
            for step in _STEPS:
                steps.add_pass(step)
        if is_part:
            state.flags.no_compile = True
            steps.add_pass_after(_PartEntry, NativeLowering)
        else:
            state.library.enable_object_caching()
        steps.finalize()
        return [steps]
