// Steps of the classical Runge-Kutta method for dx = flow(t, x, tau, p), x = [q, u, ...], with tau and p as they are
// during a step; quaternions, whose first entries are at `units`, are brought to length after each. Where constraints
// hold, `holding` brings states back to them; see there. A step says how independent their rows are, 0 where they are not.
function makeStepper(flow, n, units, holding) {
  const [k1, k2, k3, k4, y] = [0, 0, 0, 0, 0].map(() => new Float64Array(n)), at = new Float64Array(1);
  const ahead = (x, h, k) => { for (let i = 0; i < n; i++) y[i] = x[i] + h * k[i]; };
  return function step(t, x, h, tau, p) {         // x is moved from t to t + h
    at[0] = t; const own = flow(at, x, tau, p, k1, true);
    ahead(x, h / 2, k1); at[0] = t + h / 2; flow(at, y, tau, p, k2, false);
    ahead(x, h / 2, k2); flow(at, y, tau, p, k3, false);
    ahead(x, h, k3); at[0] = t + h; flow(at, y, tau, p, k4, false);
    for (let i = 0; i < n; i++) x[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    for (const first of units) {
      const l = Math.hypot(x[first], x[first + 1], x[first + 2], x[first + 3]);
      for (let i = first; i < first + 4; i++) x[i] /= l;
    }
    return !holding ? 1 : holding.settle(at, x, p) ? own : 0;
  };
}
