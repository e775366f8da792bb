"""The LLVM target: native code for one state, and for several in the lanes of the processor."""

from .jit import LlvmKernel

__all__ = ["LlvmKernel"]
