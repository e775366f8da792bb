"""The numpy target: a readable Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .naming import Names, comment
from .signature import Call, Signature
from .tape import Tape

_TEXT = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "neg": "-{}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "sqrt": "np.sqrt({})",
    "sin": "np.sin({})",
    "cos": "np.cos({})",
    "tan": "np.tan({})",
    "asin": "np.arcsin({})",
    "acos": "np.arccos({})",
    "atan2": "np.arctan2({} + 0.0, {} + 0.0)",
    "exp": "np.exp({})",
    "log": "np.log({})",
    "tanh": "np.tanh({})",
    "abs": "np.abs({})",
    "sign": "np.sign({})",
    "min": "np.minimum({}, {})",
    "max": "np.maximum({}, {})",
    "lt": "np.less({}, {}) * 1.0",
    "le": "np.less_equal({}, {}) * 1.0",
    "eq": "np.equal({}, {}) * 1.0",
    "select": "np.where({} != 0, {}, {})",
}


class NumpyKernel:
    """Python source, run on whole batches at once."""

    def __init__(self, tape: Tape, signature: Signature) -> None:
        self.source = _source(tape, signature)
        space: dict[str, Any] = {"np": np}
        exec(self.source, space)  # our own text: every name in it was made by Names
        self._function = space[signature.name]

    def entry(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        return slow

    def run(self, call: Call, threads: int) -> None:
        with np.errstate(all="ignore"):  # IEEE values, no warnings, as in the other targets
            self._function(*call.inputs, *call.outputs)


def _source(tape: Tape, signature: Signature) -> str:
    names = Names(["np", signature.name], reserved=r"t\d+")
    arguments = [names.fresh(port.name) for port in signature.inputs]
    outputs = [names.fresh(port.name) for port in signature.outputs]
    lines = [
        f"def {signature.name}({', '.join(arguments + outputs)}):",
        f'    """{comment(str(signature))}',
        "",
        "    Arrays of shape (states, entries); the outputs are written in place.",
        '    """',
    ]
    written: list[str] = []
    for op, args, data in zip(tape.ops, tape.args, tape.data, strict=True):
        if op == "const":
            text = repr(data) if np.isfinite(data) else f"np.{'nan' if data != data else 'inf'}"
            written.append(f"({'-' if data == -np.inf else ''}{text})" if data < 0 or data != data else text)
        elif op == "input":
            argument, element = data
            name = names.fresh(signature.inputs[argument].entries[element].value)
            lines.append(f"    {name} = {arguments[argument]}[:, {element}]")
            written.append(name)
        else:
            name = f"t{len(written)}"
            lines.append(f"    {name} = {_TEXT[op].format(*[written[a] for a in args])}")
            written.append(name)
    for output, values in zip(outputs, tape.outputs, strict=True):
        lines.extend(f"    {output}[:, {k}] = {written[i]}" for k, i in enumerate(values))
    return "\n".join(lines) + "\n"
