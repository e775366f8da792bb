"""What a tape is turned into, one file or folder for each target.

Another target is one more module with a `Kernel`, and its place in `TARGETS`.
"""

from .c import CKernel
from .javascript import JavaScriptKernel
from .kernel import Kernel
from .llvm import LlvmKernel
from .python import NumpyKernel

_KINDS: tuple[type[Kernel], ...] = (LlvmKernel, CKernel, NumpyKernel, JavaScriptKernel)
TARGETS: dict[str, type[Kernel]] = {kind.target: kind for kind in _KINDS}

__all__ = ["TARGETS", "Kernel"]
