// Steps of the classical Runge-Kutta method for dx = flow(t, x, tau, p), x = [q, u, ...], with tau and p as they are
// during a step; quaternions, whose first entries are at `units`, are brought to length after each. Where constraints
// hold, `closing` has what brings a state back to them: factors(t, x, p), residuals(t, x, factors, p), rates(t, x, p).
function makeStepper(flow, nq, nu, n, units, closing) {
  const [k1, k2, k3, k4, y] = [0, 0, 0, 0, 0].map(() => new Float64Array(n)), at = new Float64Array(1);
  const ahead = (x, h, k) => { for (let i = 0; i < n; i++) y[i] = x[i] + h * k[i]; };
  function unit(x) {
    for (const first of units) {
      const l = Math.hypot(x[first], x[first + 1], x[first + 2], x[first + 3]);
      for (let i = first; i < first + 4; i++) x[i] /= l;
    }
  }
  const m = closing ? closing.independent.length : 0, found = new Float64Array(m + (closing?.size ?? 0));
  const K = found.subarray(m), left = new Float64Array(4 * m + 2 * nu), qdot = new Float64Array(nq);
  function worst(first) {                         // residual of independent rows, by its size
    let most = 0;
    for (let i = 0; i < m; i++) if (closing.independent[i] && left[first + i]) most = Math.max(most, Math.abs(left[first + i]) / Math.sqrt(left[2 * m + first + i]));
    return most;
  }
  // Newton's method for positions and speeds together, with the factors of the last evaluation, which was nearby, or with
  // new ones where they do not help; says how independent the rows are, 0 where a state cannot be brought back
  function close(x, p) {
    closing.factors(at, y, p, found);
    let before = Infinity, slant = Infinity, off, aslant;
    for (let round = 0; round < 30; round++) {
      closing.residuals(at, x, K, p, left);
      off = worst(0); aslant = worst(m);
      if ((off <= 2e-15 && aslant <= 3e-15) || (off > 0.5 * before && aslant > 0.5 * slant)) break;
      if (off > Math.max(0.1 * before, 1e-11) || aslant > Math.max(0.1 * slant, 30 * before, 1e-11)) {
        closing.factors(at, x, p, found); closing.residuals(at, x, K, p, left);
      }
      y.set(x); for (let i = 0; i < nu; i++) y[nq + i] = left[4 * m + i];
      closing.rates(at, y, p, qdot);
      for (let i = 0; i < nu; i++) x[nq + i] += left[4 * m + nu + i];
      for (let i = 0; i < nq; i++) x[i] += qdot[i];
      unit(x); before = off; slant = aslant;
    }
    return off <= 2e-10 && aslant <= 1e-6 ? Math.min(...found.subarray(0, m)) : 0;
  }
  return function step(t, x, h, tau, p) {         // x is moved from t to t + h
    at[0] = t; flow(at, x, tau, p, k1);
    ahead(x, h / 2, k1); at[0] = t + h / 2; flow(at, y, tau, p, k2);
    ahead(x, h / 2, k2); flow(at, y, tau, p, k3);
    ahead(x, h, k3); at[0] = t + h; flow(at, y, tau, p, k4);
    for (let i = 0; i < n; i++) x[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    unit(x);
    return closing ? close(x, p) : 1;
  };
}
