"""IR as WebAssembly: what Node computes with it is what native code and NumPy do."""

import base64
import json
import shutil
import subprocess

import numpy as np
import pytest

from polhode.compile import compile
from polhode.compile.wasm import module, portable, renamed, written
from polhode.graph import (
    acos,
    asin,
    atan,
    atan2,
    cos,
    exp,
    log,
    maximum,
    minimum,
    select,
    sign,
    sin,
    sqrt,
    symbol,
    symbols,
    tan,
    tanh,
)

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="NODE IS MISSING: WebAssembly is not run")

DRIVER = """
const given = GIVEN, code = Buffer.from(given.code, "base64"), module = new WebAssembly.Module(code);
const memory = new WebAssembly.Memory({ initial: 64 });
const table = new WebAssembly.Table({ initial: given.table, element: "anyfunc" });
const stack = new WebAssembly.Global({ value: "i32", mutable: true }, 1 << 20);
const env = { __linear_memory: memory, __indirect_function_table: table, __stack_pointer: stack, exp2: x => 2 ** x };
for (const { name, kind } of WebAssembly.Module.imports(module)) if (kind === "function") env[name] ??= Math[name];
const call = new WebAssembly.Instance(module, { env }).exports, place = Object.values(given.places);
const real = new Float64Array(memory.buffer), out = [];
RUN
console.log(JSON.stringify(out.map(e => Number.isFinite(e) ? e : String(e))));
"""


def run(made, run, **given):
    """What a script says that calls a module."""
    known = {"code": base64.b64encode(made.code).decode(), "table": made.table, "places": dict(made.places)} | given
    program = DRIVER.replace("GIVEN", json.dumps(known)).replace("RUN", run)
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return np.array([float(e) for e in json.loads(done.stdout)])


# a function of one argument and one output, at states that follow one another
EACH = """
const a = 2 << 20, y = a + 8 * given.width, work = y + 8 * given.many;
for (const state of given.states) {
  state.forEach((e, i) => { real[a / 8 + i] = e; });
  call.f(a, y, work);
  for (let i = 0; i < given.many; i++) out.push(real[y / 8 + i]);
}
"""


def computed(function, states):
    text, _ = written(function, "f")
    made = module([text], ["f"], ["f"])
    (many,) = (port.size for port in function.outputs)
    given = {"width": states.shape[1], "many": many, "states": states.tolist()}
    return run(made, EACH, **given).reshape(len(states), many)


@needs_node
def test_it_computes_what_native_code_does():
    x, y = symbols("x y")
    rows = [x + y, x - y, x * y, x / y, -x, sqrt(x * x + 1), tan(x), asin(tanh(x)), acos(tanh(y)), atan(x), atan2(x, y)]
    rows += [exp(-(x**2)), log(1 + y**2), tanh(x), abs(x), sign(y), minimum(x, y), maximum(x, y)]
    rows += [select(x < y, x, 2 * y), x**3, 1.0 + 0 * x, x]
    f = compile({"x": [x, y]}, {"f": rows})
    states = np.random.default_rng(1).normal(size=(50, 2)) * 3
    np.testing.assert_allclose(computed(f, states), f(states), rtol=1e-14, atol=1e-14)


@needs_node
def test_sines_are_right_without_fused_instructions():
    """Also next to multiples of pi/2, and for large angles; against NumPy."""
    x = symbol("x")
    f = compile({"x": [x]}, {"f": [sin(x), cos(x)]})
    near = np.arange(-40, 41) * np.pi / 2
    far = np.array([1e3, 12345.678, 9.9e5, 1e6 * np.pi / 3, 1e9, 1e22])
    angles = np.concatenate([near, near + 1e-9, np.linspace(-7, 7, 999), far, -far])
    found = computed(f, angles[:, None])
    np.testing.assert_allclose(found, np.stack([np.sin(angles), np.cos(angles)], axis=1), rtol=0, atol=3e-16)
    small = near[np.abs(near) > 0]  # relative accuracy where it cancels
    cut = np.where(np.arange(-40, 41)[np.abs(near) > 0] % 2 == 0, 0, 1)
    exact = np.where(cut == 0, np.sin(small), np.cos(small))
    np.testing.assert_allclose(computed(f, small[:, None])[np.arange(len(small)), cut], exact, rtol=1e-10, atol=0)


@needs_node
def test_a_function_that_is_long_is_whole():
    """Cut into pieces over a workspace, as long ones are."""
    x = symbols("x0 x1 x2")
    rows, value = [], x[0]
    for k in range(300):
        value = sin(value + x[k % 3]) + 0.1 * k
        rows.append(value)
    f = compile({"x": list(x)}, {"f": rows})
    states = np.array([[0.1, -0.4, 0.7], [1.0, 2.0, 3.0]])
    np.testing.assert_allclose(computed(f, states), f(states), rtol=1e-12)


DOUBLED = "define double @doubled(double %x) {\n %y = fmul double %x, 2.0\n ret double %y\n}"
SHIFTED = """@unit = internal constant [2 x double] [double 1.0, double 10.0]
define internal double @part(double %x, i64 %k) {
  %there = getelementptr [2 x double], ptr @unit, i64 0, i64 %k
  %by = load double, ptr %there
  %y = fadd double %x, %by
  ret double %y
}
define double @shifted(double %x) {
  %y = call double @part(double %x, i64 1)
  ret double %y
}"""
# calls what a word in memory is the address of; a helper is called like one of another module
THROUGH = """define internal double @part(i64 %word, double %x) {
  %there = inttoptr i64 %word to ptr
  %code = load i64, ptr %there
  %function = inttoptr i64 %code to ptr
  %y = call double %function(double %x)
  ret double %y
}
define double @through(i64 %word, double %x) {
  %y = call double @part(i64 %word, double %x)
  ret double %y
}"""


@needs_node
def test_modules_are_one_and_call_each_other_by_address():
    made = module([DOUBLED, SHIFTED, THROUGH], ["through", "doubled"], ["shifted", "doubled"])
    script = """
const words = new BigInt64Array(memory.buffer), at = 2 << 20;
for (const each of place) { words[at / 8] = BigInt(each); out.push(call.through(BigInt(at), 3.0)); }
out.push(call.doubled(5.0), Object.keys(call).length);
"""
    np.testing.assert_array_equal(run(made, script), [13.0, 6.0, 10.0, 2])
    assert made.end >= 16 + 8  # the constants, and the table of what is called
    assert b"linking" not in made.code


@needs_node
def test_what_is_on_the_stack_has_offsets_of_64_bits():
    """A structure with addresses, of which IR knows where its members are for addresses of 64 bits."""
    text = """define double @f(double %x) {
  %room = alloca { ptr, ptr, [2 x double] }, align 8
  %mark = alloca double, align 8
  store double 7.0, ptr %mark
  %there = getelementptr i8, ptr %room, i64 24
  store double %x, ptr %there
  %first = getelementptr i8, ptr %room, i64 16
  store double 0.5, ptr %first
  %a = load double, ptr %there
  %b = load double, ptr %mark
  %y = fadd double %a, %b
  ret double %y
}"""
    assert "alloca { i64, i64, [2 x double] }" in portable(text)
    np.testing.assert_array_equal(run(module([text], ["f"], ["f"]), "out.push(call.f(1.5));"), [8.5])


def test_a_name_is_changed_where_it_is_whole():
    assert renamed("call @kernel(ptr @kernel_2)", "kernel", "loop") == "call @loop(ptr @kernel_2)"


def test_functions_that_browsers_lack_are_refused():
    text = DOUBLED.replace("fmul double %x, 2.0", "call double @lgamma(double %x)") + "declare double @lgamma(double)"
    with pytest.raises(RuntimeError, match=r"needs the function 'lgamma', which browsers do not have"):
        module([text], ["f"], ["f"])
