"""Coefficients of the Runge-Kutta and Rosenbrock methods, as published.

Rows count from 0: stage i starts at c[i] from the sum of A[i, j] k_j over j < i.

References:
[HairerNorsettWanner] Solving Ordinary Differential Equations I, 2nd ed. 1993,
section II.5 (DOPRI5, DOP853 and their dense output in section II.6).
[Steinebach] Construction of Rosenbrock-Wanner method Rodas5P and numerical
benchmarks within the Julia Differential Equations package, BIT 63:27, 2023.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Explicit(NamedTuple):
    """An explicit method.

    A     : the rows of the stages, of the step, of more stages for the dense output
    c     : when each stage is
    first : in each row, the first entry that counts after the one in column 0
    E     : estimates of the error, D : terms of the dense output after the first three
    edge  : `first` of their rows
    """

    A: np.ndarray
    c: np.ndarray
    first: np.ndarray
    E: np.ndarray
    D: np.ndarray
    edge: int


class Rosenbrock(NamedTuple):
    """A linearly implicit method, in the variables that need no product with the Jacobian.

    (1 / (gamma h) - J) k_i = f(t + c_i h, x + sum A_ij k_j) + sum C_ij k_j / h + h d_i df/dt

    H : terms of the dense output, [Steinebach, eq. 13]
    E : weights of what stages say of a load, 0 in all for those that change as a parabola; rough as stages are here
    """

    A: np.ndarray
    C: np.ndarray
    c: np.ndarray
    d: np.ndarray
    H: np.ndarray
    gamma: float
    E: np.ndarray


class Gauss(NamedTuple):
    """Collocation at the Gauss points of a step.

    c    : (k,), when each point is
    A    : (k, k), from the start to each point
    ends : (3, k), to the end: with all points, and as if one or three at either side were not there
    D    : (k, k), terms of the dense output
    """

    c: np.ndarray
    A: np.ndarray
    ends: np.ndarray
    D: np.ndarray


Row = tuple[float, ...]


def _table(*rows: Row) -> np.ndarray:
    """Read rows (first, a_0, a_first, a_first+1, ...)."""
    table = np.zeros((len(rows), max((int(row[0]) + len(row) - 2 for row in rows), default=0)))
    for line, (first, start, *rest) in zip(table, rows, strict=True):
        line[0] = start
        line[int(first) : int(first) + len(rest)] = rest
    return table


def _explicit(c: Row, *rows: Row, E: tuple[Row, ...] = (), D: tuple[Row, ...] = ()) -> Explicit:
    rows = ((1, 0), *rows)
    return Explicit(
        A=_table(*rows),
        c=np.array(c, dtype=float),
        first=np.array([int(row[0]) for row in rows], dtype=np.int64),
        E=_table(*E),
        D=_table(*D),
        edge=int(E[0][0]) if E else 0,
    )


NO_EXPLICIT = _explicit((0,))
_NONE = np.zeros((0, 0))
NO_ROSENBROCK = Rosenbrock(A=_NONE, C=_NONE, c=_NONE.ravel(), d=_NONE.ravel(), H=_NONE, gamma=0.0, E=_NONE.ravel())
EULER = _explicit((0, 1), (1, 1))
MIDPOINT = _explicit((0, 1 / 2, 1), (1, 1 / 2), (1, 0, 1))
RK4 = _explicit((0, 1 / 2, 1 / 2, 1, 1), (1, 1 / 2), (1, 0, 1 / 2), (2, 0, 1), (1, 1 / 6, 1 / 3, 1 / 3, 1 / 6))

# fmt: off
# Dormand and Prince 5(4): the last row is the step, its stage the first of the next
DOPRI5 = _explicit(
    (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1),
    (1, 1 / 5),
    (1, 3 / 40, 9 / 40),
    (1, 44 / 45, -56 / 15, 32 / 9),
    (1, 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (1, 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (2, 35 / 384, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    E=((2, 71 / 57600, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),),  # fifth order less fourth
    D=((2, -12715105075 / 11282082432, 87487479700 / 32700410799, -10690763975 / 1880347072,
        701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423),),
)

# Dormand and Prince 8(5,3): row 12 is the step, rows 13 to 15 serve the dense output
DOP853 = _explicit(
    (0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726, 1 / 3, 1 / 4,
     4 / 13, 127 / 195, 3 / 5, 6 / 7, 1, 1, 1 / 10, 1 / 5, 7 / 9),
    (1, 0.05260015195876773),
    (1, 0.0197250569845379, 0.0591751709536137),
    (2, 0.02958758547680685, 0.08876275643042054),
    (2, 0.2413651341592667, -0.8845494793282861, 0.924834003261792),
    (3, 0.037037037037037035, 0.17082860872947386, 0.12546768756682242),
    (3, 0.037109375, 0.17025221101954405, 0.06021653898045596, -0.017578125),
    (3, 0.03709200011850479, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402,
     0.008273789163814023),
    (3, 0.6241109587160757, -3.3608926294469414, -0.868219346841726, 27.59209969944671,
     20.154067550477894, -43.48988418106996),
    (3, 0.47766253643826434, -2.4881146199716677, -0.590290826836843, 21.230051448181193,
     15.279233632882423, -33.28821096898486, -0.020331201708508627),
    (3, -0.9371424300859873, 5.186372428844064, 1.0914373489967295, -8.149787010746927,
     -18.52006565999696, 22.739487099350505, 2.4936055526796523, -3.0467644718982196),
    (3, 2.273310147516538, -10.53449546673725, -2.0008720582248625, -17.9589318631188,
     27.94888452941996, -2.8589982771350235, -8.87285693353063, 12.360567175794303, 0.6433927460157636),
    (5, 0.054293734116568765, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
     0.3111643669578199, -0.1521609496625161, 0.20136540080403034, 0.04471061572777259),
    (6, 0.056167502283047954, 0.25350021021662483, -0.2462390374708025, -0.12419142326381637,
     0.15329179827876568, 0.00820105229563469, 0.007567897660545699, -0.008298),
    (5, 0.03183464816350214, 0.028300909672366776, 0.053541988307438566, -0.05492374857139099, 0, 0,
     -0.00010834732869724932, 0.0003825710908356584, -0.00034046500868740456, 0.1413124436746325),
    (5, -0.42889630158379194, -4.697621415361164, 7.683421196062599, 4.06898981839711,
     0.3567271874552811, 0, 0, 0, -0.0013990241651590145, 2.9475147891527724, -9.15095847217987),
    E=(  # eighth order less fifth, less third
        (5, 0.01312004499419488, -1.2251564463762044, -0.4957589496572502, 1.6643771824549864,
         -0.35032884874997366, 0.3341791187130175, 0.08192320648511571, -0.022355307863886294),
        (5, -0.18980075407240762, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
         -0.4226823213237919, -0.1521609496625161, 0.20136540080403034, 0.02265179219836082),
    ),
    D=(
        (5, -8.428938276109013, 0.5667149535193777, -3.0689499459498917, 2.38466765651207,
         2.117034582445028, -0.871391583777973, 2.2404374302607883, 0.6315787787694688,
         -0.08899033645133331, 18.148505520854727, -9.194632392478356, -4.436036387594894),
        (5, 10.427508642579134, 242.28349177525817, 165.20045171727028, -374.5467547226902,
         -22.113666853125306, 7.733432668472264, -30.674084731089398, -9.332130526430229,
         15.697238121770845, -31.139403219565178, -9.35292435884448, 35.81684148639408),
        (5, 19.985053242002433, -387.0373087493518, -189.17813819516758, 527.8081592054236,
         -11.57390253995963, 6.8812326946963, -1.0006050966910838, 0.7777137798053443,
         -2.778205752353508, -60.19669523126412, 84.32040550667716, 11.99229113618279),
        (5, -25.69393346270375, -154.18974869023643, -231.5293791760455, 357.6391179106141,
         93.40532418362432, -37.45832313645163, 104.0996495089623, 29.8402934266605,
         -43.53345659001114, 96.32455395918828, -39.17726167561544, -149.72683625798564),
    ),
)

# Rodas5P: the last stages are added with weight 1, the very last is the error
_STEP = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)
_TIMES = np.array([0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1, 1, 1])
_DISTINCT = (0, 2, 1, 7)  # stages at different times


def _apart(c: np.ndarray, which: tuple[int, ...]) -> np.ndarray:
    """Weights of some stages, as of a divided difference; a tenth in all."""
    found = np.zeros(len(c))
    for i in which:
        found[i] = 1.0 / np.prod([c[i] - c[j] for j in which if j != i])
    return np.asarray(0.1 * found / np.abs(found).sum())


RODAS5P = Rosenbrock(
    A=_table(
        (1, 0),
        (1, 3),
        (1, 2.849394379747939, 0.45842242204463923),
        (1, -6.954028509809101, 2.489845061869568, -10.358996098473584),
        (1, 2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        (1, *_STEP),
        (1, *_STEP, 1),
        (1, *_STEP, 1, 1),
        (1, *_STEP, 1, 1, 1),
    ),
    C=_table(
        (1, 0),
        (1, -14.155112264123755),
        (1, -17.97296035885952, -2.859693295451294),
        (1, 147.12150275711716, -1.41221402718213, 71.68940251302358),
        (1, 165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (1, 24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
        (1, 30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
         -28.087943162872662),
        (1, 37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
         -54.66780262877968, -9.48861652309627),
    ),
    c=_TIMES,
    d=np.array([0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734,
                2.325825639765069, 0, 0, 0]),
    H=_table(
        (1, 25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204,
         0.524948541321073, 1.1241088310450404, 0.4272876194431874, -0.17202221070155493),
        (1, -9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796,
         20.176138334709044, 15.98066361424651, -6.789040303419874, -6.710236069923372),
        (1, 11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643,
         -52.072871366152654, -59.78993625266729, -0.15582684282751913, 4.883087185713722),
    ),
    gamma=0.21193756319429014,
    E=_apart(_TIMES, _DISTINCT),
)
# fmt: on


def _gauss(count: int) -> Gauss:
    """The Gauss points of a step by Legendre polynomials. Reference: [HairerNorsettWanner, section II.7]."""
    x, w = np.polynomial.legendre.leggauss(count)
    P = np.polynomial.legendre.legvander(x, count)
    degree = np.arange(1, count)
    # integrals of the polynomials from the start, and the polynomials through a 1 at one point
    I = np.column_stack([1 + x, (P[:, 2:] - P[:, :-2]) / (2 * degree + 1)]) / 2
    A = I @ ((np.arange(count) + 0.5)[:, None] * w * P[:, :-1].T)
    c, ends = (1 + x) / 2, np.zeros((3, count))
    for row, left_out in zip(ends, (0, 1, 3), strict=True):
        used = slice(left_out, count - left_out)
        row[used] = np.linalg.solve(P[used, : count - 2 * left_out].T, np.eye(count - 2 * left_out)[0])
    # theta, theta s, theta^2 s, ... of `stepping`
    basis = np.cumprod([c if j % 2 == 0 else 1 - c for j in range(count)], axis=0).T
    return Gauss(c=c, A=A, ends=ends, D=np.linalg.solve(basis, A))


GAUSS = _gauss(12)
NO_GAUSS = Gauss(c=np.zeros(0), A=np.zeros((0, 0)), ends=np.zeros((3, 0)), D=np.zeros((0, 0)))
