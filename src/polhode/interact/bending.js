// Sections of bodies that deform: at p + Phi d + 1/2 g d d in the body, turned by exp(skew(Psi d)), with amplitudes d.
// bent  : of each body its place, the first frame of its sections and how many, places of d in q, rows of their rates
// poses : rotation by rows and place of each frame, (n, 12), those of bodies known; rates : of all d by the speeds
function makeBending(bent, nu) {
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const turned = (R, a) => [0, 1, 2].map(i => R[3 * i] * a[0] + R[3 * i + 1] * a[1] + R[3 * i + 2] * a[2]);
  // of section s in its body: where it is, its rotation vector, and both by each amplitude
  function section(each, s, q) {
    const n = each.modes.length, d = each.modes.map(k => q[k]), at = [0, 1, 2].map(i => each.p[3 * s + i]), th = [0, 0, 0];
    const by = d.map(() => [0, 0, 0]), turns = d.map(() => [0, 0, 0]);
    for (let i = 0; i < 3; i++) for (let a = 0; a < n; a++) {
      const k = (3 * s + i) * n + a; let second = 0, along = 0;
      if (each.g.length) for (let b = 0; b < n; b++) { along += each.g[k * n + b] * d[b]; second += (each.g[k * n + b] + each.g[((3 * s + i) * n + b) * n + a]) / 2 * d[b]; }
      by[a][i] = each.Phi[k] + second; turns[a][i] = each.Psi[k];
      at[i] += (each.Phi[k] + along / 2) * d[a]; th[i] += each.Psi[k] * d[a];
    }
    return { at, th, by, turns };
  }
  function rotated(th, a) {                       // exp(skew(th)) a
    const t = Math.hypot(...th), f = t ? Math.sin(t) / t : 1, g = t ? 2 * (Math.sin(t / 2) / t) ** 2 : 0.5, b = cross(th, a), c = cross(th, b);
    return a.map((e, i) => e + f * b[i] + g * c[i]);
  }
  function spun(th, a) {                          // the angular velocity of exp(skew(th)) where th has the rate a
    const t = Math.hypot(...th), f = t ? 2 * (Math.sin(t / 2) / t) ** 2 : 0.5, g = t > 1e-3 ? (t - Math.sin(t)) / t ** 3 : (1 - t * t / 20) / 6;
    const b = cross(th, a), c = cross(th, b);
    return a.map((e, i) => e + f * b[i] + g * c[i]);
  }
  function place(q, X) {
    for (const each of bent) for (let s = 0; s < each.count; s++) {
      const R = X.subarray(12 * each.body - 12, 12 * each.body), to = 12 * (each.first + s - 1), { at, th } = section(each, s, q), w = turned(R, at);
      for (let j = 0; j < 3; j++) {
        const unit = [0, 0, 0]; unit[j] = 1; turned(R, rotated(th, unit)).forEach((e, i) => { X[to + 3 * i + j] = e; });
        X[to + 9 + j] = R[9 + j] + w[j];
      }
    }
  }
  // which body a frame is on, and its section there
  const owner = frame => bent.find(each => frame >= each.first && frame < each.first + each.count);
  // J of a body, (6, nu), becomes that of a section of it
  function carry(frame, q, X, rates, J) {
    const each = owner(frame), R = X.subarray(12 * each.body - 12, 12 * each.body), { at, th, by, turns } = section(each, frame - each.first, q);
    const arm = turned(R, at), moved = by.map(a => turned(R, a)), spins = turns.map(a => turned(R, spun(th, a)));
    for (let j = 0; j < nu; j++) {
      const w = [J[j], J[nu + j], J[2 * nu + j]], v = cross(w, arm);
      for (let i = 0; i < 3; i++) {
        J[(3 + i) * nu + j] += v[i];
        each.modes.forEach((_, a) => { const rate = rates[(each.row + a) * nu + j]; J[(3 + i) * nu + j] += moved[a][i] * rate; J[i * nu + j] += spins[a][i] * rate; });
      }
    }
  }
  return { place, owner, carry };
}
