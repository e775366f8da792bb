"""The numpy target: a readable Python function."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..naming import Names, comment
from ..signature import Call, Signature
from ..tape import Tape
from .kernel import Kernel

_SUM, _PRODUCT, _ATOM = range(3)  # how tightly a piece of text binds
_INFIX = {"add": ("+", _SUM), "sub": ("-", _SUM), "mul": ("*", _PRODUCT), "div": ("/", _PRODUCT)}
_CALL = {
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
    "select": "np.where({}, {}, {})",
}
_COMPARE = {"lt": "{} < {}", "le": "{} <= {}", "eq": "{} == {}"}
_LINE = 80  # a value used once is written where it is used, up to this length


class NumpyKernel(Kernel):
    """Python source, run on whole batches at once."""

    target = "numpy"

    @cached_property
    def source(self) -> str:
        return _source(self.tape, self.signature)

    @cached_property
    def _function(self) -> Any:
        space: dict[str, Any] = {"np": np}
        exec(self.source, space)  # our own text: every name in it was made by Names
        return space[self.signature.name]

    def run(self, call: Call, threads: int) -> None:
        with np.errstate(all="ignore"):  # IEEE values, no warnings, as in the other targets
            self._function(*call.inputs, *call.outputs)


def _number(value: float) -> tuple[str, int]:
    if np.isfinite(value):
        return repr(value), _ATOM if value >= 0 else _SUM
    return ("np.nan", _ATOM) if np.isnan(value) else (f"{'-' if value < 0 else ''}np.inf", _SUM)


def _write(op: str, args: list[tuple[str, int]]) -> tuple[str, int]:
    """The text of one operation and how tightly it binds."""

    def at(k: int, least: int) -> str:
        text, tight = args[k]
        return text if tight >= least else f"({text})"

    if op in _INFIX:
        sign, tight = _INFIX[op]
        return f"{at(0, tight)} {sign} {at(1, tight + 1)}", tight
    if op == "neg":
        return f"-{at(0, _ATOM)}", _SUM
    texts = [at(0, _PRODUCT), at(1, _PRODUCT)] if op == "atan2" else [text for text, _ in args]
    return _CALL[op].format(*texts), _ATOM


def _source(tape: Tape, signature: Signature) -> str:
    names = Names([signature.name], reserved=r"t\d+")
    arguments = [names.fresh(port.name) for port in signature.inputs]
    outputs = [names.fresh(port.name) for port in signature.outputs]
    lines = [
        f"def {signature.name}({', '.join(arguments + outputs)}):",
        f'    """{comment(str(signature))}',
        "",
        "    Arrays of shape (states, entries); the outputs are written in place.",
        '    """',
    ]
    inputs: dict[int, str] = {}
    uses = [0] * len(tape.ops)
    for used in [*tape.args, *tape.outputs]:
        for i in used:
            uses[i] += 1
    for i, (op, data) in enumerate(zip(tape.ops, tape.data, strict=True)):
        if op == "input":
            argument, element = data
            name = names.fresh(signature.inputs[argument].entries[element].value)
            lines.append(f"    {name} = {arguments[argument]}[:, {element}]")
            inputs[i] = name
    written: list[tuple[str, int]] = []
    conditions: dict[int, tuple[str, int]] = {}
    for i, (op, args, data) in enumerate(zip(tape.ops, tape.args, tape.data, strict=True)):
        if op == "const":
            written.append(_number(data))
        elif op == "input":
            written.append((inputs[i], _ATOM))
        else:
            pieces = [written[a] for a in args]
            if op in _COMPARE:
                condition = _COMPARE[op].format(*[text for text, _ in pieces])
                conditions[i] = (condition, _ATOM)
                text, tight = f"np.where({condition}, 1.0, 0.0)", _ATOM
            else:
                if op == "select" and args[0] in conditions:
                    pieces[0] = conditions[args[0]]
                text, tight = _write(op, pieces)
            if uses[i] > 1 or len(text) > _LINE:
                lines.append(f"    t{i} = {text}")
                text, tight = f"t{i}", _ATOM
            written.append((text, tight))
    for output, values in zip(outputs, tape.outputs, strict=True):
        lines.extend(f"    {output}[:, {k}] = {written[i][0]}" for k, i in enumerate(values))
    return "\n".join(lines) + "\n"
