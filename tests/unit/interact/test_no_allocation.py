"""The loop in real time takes no memory and no Python: seen in its code, by the allocator, and by the system.

Each in a process of its own, in which a mass with friction falls on the ground, bounces, is braked by commands,
conditions and times, and is pushed by forces that change.
"""

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the loop needs Linux, and this looks at ELF, glibc and /proc", allow_module_level=True)

# what code may name outside of itself: mathematics, and filling and copying of memory that is there
KNOWN = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p",
         "pow", "sqrt", "cbrt", "fmod", "floor", "ceil", "fabs", "fma", "erf", "hypot", "sincos", "copysign", "round",
         "memcpy", "memset", "memmove"}  # fmt: skip
# of the entrance through which Python calls the code of a model, beside that which the loop calls
ENTRANCE = {"PyObject_CallNoArgs", "PyObject_Vectorcall", "Py_IncRef"}

COMMON = """
import ctypes, json, struct, sys, threading, time
import polhode as ph
from polhode.compile import native

objects = []
real_init = native.Loaded.__init__
def kept(self, code):
    objects.append(code)
    real_init(self, code)
native.Loaded.__init__ = kept

def machine(rate):
    build = ph.Builder("mass", gravity=(0, 0, -9.81))
    build.body("slide", joint=ph.prismatic("x", name="x"), mass=0.1)
    build.body("mass", parent="slide", joint=ph.prismatic("z", name="z"), mass=1)
    build.body("arm", parent="mass", joint=ph.revolute("y", name="a", damping=0.1), mass=0.2, com=(0, 0, -0.1),
               inertia=(1e-3,) * 3)
    build.contact("mass", name="ground", friction=0.5, restitution=0.6)
    build.brake("a_dot", name="brake", active=False, capacity=0.2)
    build.lock("a", name="lock", active=False)
    build.switch(when="a > 0.5 and a_dot > 0", engage="brake")
    build.switch(when="a < 0.1 or x > 100", release="brake")
    for k in range(40):
        build.switch(at=0.05 + 0.1 * k, **{"release" if k % 2 else "engage": "lock"})
    dyn = ph.formulate(build.build()).compile()
    return ph.realtime(dyn, {"z": 0.05}, rate=rate, record=False, tau={"a_dot": 0.1})

def poke(m, k):
    m.tau = {"x_dot": 8.0 * (-1) ** k, "z_dot": 30.0 if k % 5 == 0 else 0.0, "a_dot": 0.4 * (-1) ** (k // 3)}
"""

SYMBOLS = (
    COMMON
    + """
def undefined(code):
    at, = struct.unpack_from("<Q", code, 40)
    size, many = struct.unpack_from("<HH", code, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", code, at + k * size) for k in range(many)]
    found = set()
    for head in heads:
        if head[1] == 2:  # a table of symbols
            names = heads[head[6]][4]
            for place in range(head[4], head[4] + head[5], 24):
                name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", code, place)
                if section == 0 and name:
                    found.add(code[names + name : code.index(0, names + name)].decode())
    return sorted(found)

m = machine(1000)
m.step(5)
print(json.dumps([undefined(code) for code in objects]))
"""
)

ALLOCATOR = (
    COMMON
    + """
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
library = ctypes.CDLL(None)
library.mallinfo2.restype = Info
m = machine(1000)
block = m._block
address = ctypes.addressof(block)

def used(ticks):
    block.next, block.ask, block.left = time.monotonic_ns() - 1, 0, ticks
    block.period = 1
    before = library.mallinfo2()
    code = m._ticks(address)
    after = library.mallinfo2()
    return code, [after.uordblks - before.uordblks, after.hblkhd - before.hblkhd, after.arena - before.arena]

def command(k):
    on, off = ((), ("brake",)) if k % 2 else (("brake",), ())
    m._commands.send(ph.interact.commands.Command(engage=on, release=off))

nothing = [used(0)[1] for _ in range(5)][-1]
found = []
for k in range(100):
    poke(m, k)
    command(k)
    found.append(used(100))
    m._tidy()
print(json.dumps({"ticks": m.ticks, "events": int(m._commands.block.many), "past": int(m._commands.block.past),
                  "codes": sorted({code for code, _ in found}), "nothing": nothing,
                  "spent": [spent for _, spent in found]}))
"""
)

CLOCK = (
    COMMON
    + """
m = machine(2000)
returned, real = [], m._came_back
m._came_back = lambda code: returned.append(code) or real(code)

def faults():
    with open(f"/proc/self/task/{m._thread.native_id}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[7])

def resident():
    with open("/proc/self/statm") as file:
        return 4096 * (int(file.read().split()[1]))

def go(until):
    k = 0
    while m.ticks < until and time.monotonic() < end:
        poke(m, k)
        (m.engage if k % 2 else m.release)("brake")
        time.sleep(0.004)
        k += 1

end = time.monotonic() + 100
m.start()
go(3000)
before = m.ticks, faults(), resident(), len(returned)
go(13_000)
after = m.ticks, faults(), resident(), len(returned)
m.stop()
print(json.dumps({"before": before, "after": after, "failure": m.failure, "events": len(m.events)}))
"""
)


def said(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_native_code_names_no_function_that_could_take_memory():
    """The loop, the kernels it calls and the code of the model: what is not named cannot be called."""
    found = said(SYMBOLS)
    assert len(found) > 5  # pieces of code
    named = {name for names in found for name in names}
    assert named, "a machine that turns needs sines"
    assert named <= KNOWN | ENTRANCE, f"named outside of the code: {sorted(named - KNOWN - ENTRANCE)}"
    assert any(not set(names) & ENTRANCE for names in found)  # the loop and its kernels have none


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library has no mallinfo2 (glibc 2.33)")
def test_ten_thousand_ticks_with_all_that_happens_take_no_memory():
    found = said(ALLOCATOR)
    assert found["ticks"] == 10_000
    assert found["events"] > 150
    assert found["past"] == 40  # switches by time
    assert found["codes"] == [0]
    assert {tuple(spent) for spent in found["spent"]} == {tuple(found["nothing"])}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc to look at threads")
def test_the_thread_of_the_loop_touches_no_new_memory_and_no_python():
    found = said(CLOCK)
    assert not found["failure"]
    before, after = found["before"], found["after"]
    assert after[0] - before[0] >= 9_900, "the machine is too busy for 2 kHz"
    assert found["events"] > 500
    assert after[3] == before[3] == 0  # the native loop was entered once, and did not come back
    assert after[1] - before[1] <= 8  # pages that it touched for the first time, in 10,000 ticks
    assert after[2] - before[2] < 4e6  # of the whole process, bytes
