"""What is no number, has no such name or another shape is refused where it enters, in one message."""

import numpy as np
import pytest

import polhode as ph

NAN, INF = np.nan, np.inf
P = {"m": 1.0, "L": 1.0}


def pendulum():
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta"), mass="m", com=(0, 0, "-L"))
    build.state("i", rate="theta")
    build.force("theta_dot", "i")
    return ph.formulate(build.build()).compile()


def run(q0=None, p=P, **options):
    return ph.simulate(pendulum(), q0, t_end=1.0, p=p, **options)


def call(p):
    return pendulum().forward_dynamics([0.0], [0.0], [0.0], z=[0.0], p=p)


def run_to(t_end):
    return ph.simulate(pendulum(), t_end=t_end, p=P)


def many(q0, **options):
    return ph.simulate_many(pendulum(), q0, t_end=0.5, step=0.01, p=P, **options)


def call_with(q):
    return pendulum().forward_dynamics(q, [0.0], [0.0], z=[0.0], p=P)


def resting():
    return ph.equilibrium(pendulum(), p=P)


REFUSED = {
    "q0 nan": (lambda: run({"theta": NAN}), "q0: 'theta' is NaN or infinite, expected a number."),
    "u0 infinite": (lambda: run(u0=[INF]), "u0: 'theta_dot' is NaN or infinite"),
    "z0 nan": (lambda: run(z0={"i": NAN}), "z0: 'i' is NaN or infinite"),
    "z0 name": (lambda: run(z0={"j": 1}), "z0: there is no 'j'. There is 'i'."),
    "tau nan": (lambda: run(tau=[NAN]), "tau: 'theta_dot' is NaN or infinite"),
    "tau shape": (lambda: run(tau=[1, 2]), r"tau has shape (2,), expected (1,): theta_dot."),
    "tau text": (lambda: run(tau="theta"), "tau is 'theta', expected numbers, a mapping, a function or Sampled."),
    "tau name": (lambda: run(tau={"theta_dot": "k*thet"}), "tau of 'theta_dot' has 'k', expected coordinates"),
    "tau close": (lambda: run(tau={"theta_dot": "2*thet"}), "Did you mean 'theta'"),
    "control": (lambda: run(tau=lambda t, q, u: "x"), "The control gave 'x' at t = 0, expected forces"),
    "p mistyped": (lambda: run(p={"mm": 1, "L": 1}), "p: there is no parameter 'mm'. Did you mean 'm'?"),
    "p missing": (lambda: run(p={"m": 1}), "No value for parameter 'L'. Give p={'L': ...}"),
    "p nan": (lambda: run(p={"m": NAN, "L": 1}), "p: 'm' is NaN or infinite"),
    "call p mistyped": (lambda: call({"mm": 1, "L": 1}), "forward_dynamics: 'mm' is no parameter of the equations."),
    "call p text": (lambda: call("m=2"), "forward_dynamics: p is 'm=2', expected numbers, in an array or by name"),
    "call p no number": (lambda: call({"m": "a", "L": 1}), "the parameters L=1, m='a', expected numbers"),
    "call p infinite": (lambda: call({"m": INF, "L": 1}), "parameter 'm' is NaN or infinite"),
    "set tau": (lambda: setattr(ph.Simulation(pendulum(), p=P), "tau", [NAN]), "tau: 'theta_dot' is NaN or infinite"),
    "assemble t": (lambda: ph.assemble(pendulum(), p=P, t=NAN), "t is nan, expected a time."),
    "pair and speeds": (lambda: run(([0.1], [0.0]), u0=[1.0]), "q0 is a pair of coordinates and speeds, and u0"),
    "degrees": (lambda: run({"theta": "30 deg"}), "'theta' is '30 deg', expected a number. Angles are in radians"),
    "span": (lambda: run_to((0, 1)), "t_end is (0, 1), expected a time after t0 = 0. Give t0=0 and t_end=1."),
    "scipy's": (lambda: run(method="RK45"), "Method 'RK45' is unknown. SciPy's is nearest to 'dopri5' here."),
    "all p": (lambda: run(p={}), "No value for parameters 'L', 'm'. Give p={'L': ..., 'm': ...}"),
    "equilibrium": (lambda: run(resting()), "expected numbers, in an array or by name. Hand on what it begins with"),
    "call by name": (lambda: call_with({"theta": 1}), "here values go by their order, not by name"),
    "marker": (lambda: pendulum().jacobian([0.1]), "jacobian: marker is [0.1], expected the name of a marker or body."),
    "assemble": (lambda: ph.assemble(pendulum().equations), "found Equations. Compile them: equations.compile()."),
    "two runs?": (lambda: many((np.zeros(1), np.ones(1))), "q0 is a pair of arrays, which may be coordinates"),
    "check": (lambda: ph.check(pendulum().equations.model, values={"m": None}), "'m' is None, expected a"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_message(name):
    wrong, text = REFUSED[name]
    with pytest.raises((ValueError, TypeError, KeyError)) as caught:
        wrong()
    assert text in str(caught.value.args[0])


def test_a_state_is_handed_on_with_its_speeds():
    dyn = pendulum()
    state = ph.assemble(dyn, {"theta": 0.3}, {"theta_dot": 2.0}, p=P)
    apart = run(state.q, u0=state.u)
    assert np.array_equal(run(state).q, apart.q)
    assert np.array_equal(run(apart.at(0.5)).u[0], apart.at(0.5)[1])
    assert np.array_equal(ph.Simulation(dyn, state, p=P).u, [2.0])
    together = many(state)
    assert together.q.shape[0] == 1
    assert np.array_equal(together.q, many(state.q, u0=state.u).q)
    assert many([[0.1], [0.2]]).q.shape[0] == many(([0.1], [0.2])).q.shape[0] == 2
    table = ph.study(dyn, {"q.theta": [0.1]}, {"t_end": 0.1, "q0": state, "p": P}, "initial(theta_dot)")
    assert table["initial(theta_dot)"].tolist() == [2.0]
