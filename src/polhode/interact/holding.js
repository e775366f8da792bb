// Constraints that hold, engage and release: M udot = b + J^T lam, J udot + gamma = 0 with the rows that are engaged.
// Rows are eliminated with complete pivoting at every evaluation, in units in which a pivot of 1 is the least that
// counts, so that rows which repeat others may be among them; the equations are recombined for the speeds that are
// left. No inverse of M. As native code does it: kernels/rows.py, embed.py, table.py and settle.py.
//
// code  : table(t, x, tau, p) -> rates of q and the rest, M, b, J, gamma, E2;  residuals(t, x, p) -> phi, psi and the
//         squares of their sizes;  capture(t, x, p);  closure, moves where positions have other speeds, else rates
// holds : groups, their names, and which are engaged at first; of rows their group, holonomic, least; bodies of speeds;
//         owner of what is captured, which begins at p[captured]; held: rows and what is embedded; joints, jointBodies with a closure
function makeHolding(code, holds, nq, nu, n, units) {
  const m = holds.group.length, held = holds.held, joints = holds.joints || nu, most = Math.max(nu, joints);
  const EXACT = 2e-15, ALONG = 3e-15, GOOD = 2e-10, FAIR = 1e-6, NEAR = 1e-11, LOOSE = 2e-5, STRONG = 0.03, ANY = 1 << 30;
  const engaged = Int8Array.from(holds.engaged), active = new Int8Array(held), closing = new Int8Array(held);
  const carried = n - nu - holds.uncounted, size = carried + nu * nu + nu + 2 * m * nu + m;
  const values = new Float64Array(size), part = (from, count) => values.subarray(from, from + count);
  const rates = part(0, carried), M = part(carried, nu * nu), b = part(carried + nu * nu, nu);
  const J = part(carried + nu * nu + nu, m * nu), gamma = part(carried + nu * nu + nu + m * nu, m), E2 = part(size - m * nu, m * nu);
  const left = new Float64Array(2 * (held + m)), phi = left.subarray(0, held), psi = left.subarray(held, held + m);
  const reach2 = left.subarray(held + m, 2 * held + m), pace2 = left.subarray(2 * held + m);
  const wide = new Float64Array(joints + 2 * held * joints + held);
  const d = new Float64Array(most), inertias = new Float64Array(most), rho = new Float64Array(held);
  const table = Array.from({ length: held }, () => new Float64Array(most + 1)), peak = new Float64Array(held), places = new Int32Array(held);
  const normal = Array.from({ length: most }, () => new Float64Array(most)), right = new Float64Array(most);
  const columns = new Int32Array(most), v = new Float64Array(most), none = new Float64Array(Math.max(1, holds.forces));
  const used = new Int8Array(held), usedQ = new Int8Array(held), moved = new Float64Array(nq), trial = new Float64Array(nq + most);
  let rank = ANY, margin = 1, nearby = false;      // whether the table is that of a state nearby

  function scale(J, E2, on, bodies, nu, count) {  // d: 1 / sqrt(inertia) of each speed; rho: the size of each row in these units
    let largest = 0;
    for (let j = 0; j < nu; j++) {
      d[j] = inertias[j];
      if (!(inertias[j] > 0)) {                   // no inertia of its own: what the rows reflect to it
        d[j] = 0;
        for (let i = 0; i < count; i++) if (on[i] && J[i * nu + j] !== 0) {
          let others = 0;
          for (let k = 0; k < nu; k++) if (k !== j && inertias[k] > 0) others += J[i * nu + k] ** 2 / inertias[k];
          if (others > 0) d[j] = Math.max(d[j], J[i * nu + j] ** 2 / others);
        }
      }
      largest = Math.max(largest, d[j]);
    }
    for (let j = 0; j < nu; j++) d[j] = inertias[j] = d[j] > 0 ? d[j] : largest || 1;
    for (let i = 0; i < count; i++) if (on[i]) {  // no body counts as much lighter than what it is tied to
      let whole = 0, before = 0;
      for (let k = 0; k < nu; k++) whole += E2[i * nu + k] / inertias[k];
      for (let first = 0, end; first < nu; first = end) {
        let own = 0;
        for (end = first; end < nu && bodies[end] === bodies[first]; end++) own += E2[i * nu + end] / inertias[end];
        if (own > 0.5 * whole) {
          let others = before; for (let k = end; k < nu; k++) others += E2[i * nu + k] / inertias[k];
          if (1e-12 * whole < others && others < 1e-6 * whole) for (let j = first; j < end; j++) d[j] = Math.max(d[j], 1e-6 * E2[i * nu + j] / others);
        }
        before += own;
      }
    }
    for (let i = 0; i < count; i++) { let total = 0; for (let j = 0; j < nu; j++) total += E2[i * nu + j] / d[j]; rho[i] = Math.sqrt(total); }
    for (let j = 0; j < nu; j++) d[j] = 1 / Math.sqrt(d[j]);
  }
  // rows J v = -r as [1 -D | e] of the dependent speeds columns[0 .. rank]; beyond the expected ones a row must be strong
  function eliminate(J, E2, on, bodies, nu, count, r, expected, mark) {
    scale(J, E2, on, bodies, nu, count);
    let rows = 0; mark.fill(0); margin = Infinity;
    const peakOf = row => { let best = 0; for (let j = 0; j < nu; j++) best = Math.max(best, Math.abs(row[j])); return best; };
    for (let i = 0; i < count; i++) if (on[i] && rho[i] > 0) {
      const unit = 1 / (holds.least[i] * rho[i]), row = table[rows];
      for (let j = 0; j < nu; j++) row[j] = J[i * nu + j] * d[j] * unit;
      row[nu] = -r[i] * unit; peak[rows] = peakOf(row); places[rows++] = i;
    }
    for (let j = 0; j < nu; j++) columns[j] = j;
    const swap = (list, i, k) => { const kept = list[i]; list[i] = list[k]; list[k] = kept; };
    for (let k = 0; k < Math.min(rows, nu); k++) {
      let i = k; for (let a = k + 1; a < rows; a++) if (peak[a] > peak[i]) i = a;
      const best = peak[i], least = holds.least[places[i]];
      if (!(best > 1) || (k >= expected && !(best * least > STRONG))) return k;
      let at = k; while (Math.abs(table[i][columns[at]]) !== best) at++;
      swap(columns, k, at); swap(places, k, i); swap(table, k, i); swap(peak, k, i);
      const j = columns[k], top = table[k], by = 1 / top[j]; margin = Math.min(margin, best * least); mark[places[k]] = 1;
      for (let c = 0; c <= nu; c++) top[c] *= by;
      top[j] = 1;
      for (let a = 0; a < rows; a++) {
        const row = table[a], factor = row[j]; if (a === k || factor === 0) continue;
        for (let c = 0; c <= nu; c++) row[c] -= factor * top[c];
        row[j] = 0; if (a > k) peak[a] = peakOf(row);
      }
    }
    return Math.min(rows, nu);
  }
  // M v = b on the motions that the eliminated rows allow, by Cholesky; false where that is singular
  function recombine(mass, force, nu, rank) {
    const free = nu - rank;
    for (let i = 0; i < nu; i++) {
      right[i] = force(i); for (let k = 0; k < rank; k++) right[i] -= mass(i, columns[k]) * table[k][nu];
      for (let c = 0; c < free; c++) {
        const j = columns[rank + c]; let total = mass(i, j);
        for (let k = 0; k < rank; k++) total -= mass(i, columns[k]) * table[k][j];
        normal[i][c] = total;
      }
    }
    for (let c = 0; c < free; c++) {
      const i = columns[rank + c];
      for (let k = 0; k < rank; k++) {
        const factor = table[k][i]; if (factor === 0) continue;
        right[i] -= factor * right[columns[k]];
        for (let e = 0; e <= c; e++) normal[i][e] -= factor * normal[columns[k]][e];
      }
    }
    for (let c = 0; c < free; c++) {
      const i = columns[rank + c], row = normal[i], whole = row[c];
      for (let e = 0; e <= c; e++) {
        const other = normal[columns[rank + e]]; let total = row[e];
        for (let k = 0; k < e; k++) total -= row[k] * other[k];
        if (e < c) row[e] = total / other[e]; else if (total > 1e-14 * whole) row[c] = Math.sqrt(total); else return false;
      }
      for (let e = 0; e < c; e++) right[i] -= row[e] * right[columns[rank + e]];
      right[i] /= row[c];
    }
    for (let c = free - 1; c >= 0; c--) {
      const i = columns[rank + c]; let total = right[i];
      for (let e = c + 1; e < free; e++) total -= normal[columns[rank + e]][c] * v[columns[rank + e]];
      v[i] = total / normal[i][c];
    }
    for (let k = 0; k < rank; k++) {
      let total = table[k][nu]; for (let c = rank; c < nu; c++) total -= table[k][columns[c]] * v[columns[c]];
      v[columns[k]] = total;
    }
    for (let j = 0; j < nu; j++) v[j] *= d[j];
    return true;
  }
  const scaled = (i, j) => M[i * nu + j] * d[i] * d[j], forced = i => b[i] * d[i], nothing = () => 0, unit = (i, j) => +(i === j);
  const diagonal = () => { for (let j = 0; j < nu; j++) inertias[j] = M[j * nu + j]; };

  function flow(at, x, tau, p, dx, settled = true) {
    code.table(at, x, tau, p, values); diagonal(); nearby = holds.factored;
    const found = eliminate(J, E2, active, holds.bodies, nu, m, gamma, settled ? ANY : rank, used);
    if (settled) { if (rank !== ANY && found < rank) margin = 0; rank = found; }  // 0: a dead point
    dx.fill(0);
    if (recombine(scaled, forced, nu, found)) for (let j = 0; j < nu; j++) dx[nq + j] = v[j]; else dx.fill(NaN, nq, nq + nu);
    for (let i = 0; i < nq; i++) dx[i] = rates[i];
    for (let i = nq; i < carried; i++) dx[nu + i] = rates[i];
    return margin;
  }
  function turn(expected = rank) {                // v: the least motion that removes the residuals of speeds
    diagonal(); return recombine(scaled, nothing, nu, eliminate(J, E2, active, holds.bodies, nu, m, psi, expected, used));
  }
  function close(at, x, p) {                      // moved: the least change of q that removes those of positions
    trial.set(x.subarray(0, nq));
    let there;
    if (code.closure) {
      code.closure(at, x, p, wide); inertias.set(wide.subarray(0, joints));
      const J_q = wide.subarray(joints, joints + held * joints), E2_q = wide.subarray(wide.length - held * joints);
      there = recombine(unit, nothing, joints, eliminate(J_q, E2_q, closing, holds.jointBodies, joints, held, phi, ANY, usedQ));
    } else {
      diagonal(); there = recombine(scaled, nothing, nu, eliminate(J, E2, closing, holds.bodies, nu, m, phi, rank, usedQ));
    }
    for (let j = 0; j < joints; j++) trial[nq + j] = v[j];
    code.moves(at, trial, p, moved); return there;
  }
  function worst(residual, size2, on, among) {
    let most = 0;
    for (let i = 0; i < residual.length; i++) if (on[i] && (!among || among[i]) && residual[i] ** 2 > 1e-200) most = Math.max(most, residual[i] ** 2 / size2[i]);
    return Math.sqrt(most);
  }
  function toLength(x) {
    for (const first of units) {
      const l = Math.hypot(x[first], x[first + 1], x[first + 2], x[first + 3]); for (let i = first; i < first + 4; i++) x[i] /= l;
    }
  }
  // Newton's method for positions and speeds together, with M and J of the last stage, which was nearby, as native code
  // has them; with those of the state where they do not help. Whether the state is on its constraints then
  function settle(at, x, p) {
    if (!held) return true;
    let before = Infinity, slant = Infinity, stuck = 0;
    const measure = () => { code.residuals(at, x, p, left); return [worst(phi, reach2, closing, usedQ), worst(psi, pace2, active, used)]; };
    let [off, aslant] = measure();
    for (let round = 0; round < 30 && !(off <= EXACT && aslant <= ALONG); round++) {
      if (m && !nearby) { code.table(at, x, none, p, values); nearby = holds.factored; }
      const far = off > EXACT; if (far && !close(at, x, p)) return false;
      if (aslant > ALONG) { if (!turn()) return false; for (let j = 0; j < nu; j++) x[nq + j] += v[j]; }
      if (far) { for (let i = 0; i < nq; i++) x[i] += moved[i]; toLength(x); }
      before = off; slant = aslant; [off, aslant] = measure();
      if (off > Math.max(0.1 * before, NEAR) || aslant > Math.max(0.1 * slant, 30 * before, NEAR)) nearby = false;
      if (off > 0.5 * before && aslant > 0.5 * slant && ((off <= GOOD && aslant <= FAIR) || ++stuck > 3)) break;
    }
    return off <= GOOD && aslant <= FAIR && worst(phi, reach2, closing) <= LOOSE && worst(psi, pace2, active) <= LOOSE;
  }
  function adopt() {                              // rows of what is engaged hold, and what is embedded always does
    for (let i = 0; i < held; i++) { active[i] = i < m ? engaged[holds.group[i]] : 1; closing[i] = active[i] && holds.holonomic[i]; }
    used.set(active); usedQ.set(closing); rank = ANY; nearby = false;
  }
  // engage and release: wanted[g] is 1, -1 or 0. What engages brings its speeds along by the impulse M du = J^T Lam,
  // positions are kept; what is released lets go. Says "" or the name of what cannot be engaged, and then changes nothing
  function command(t, x, p, wanted) {
    const at = Float64Array.of(t), kept = [x, p, engaged].map(list => list.slice());
    const undo = name => { x.set(kept[0]); p.set(kept[1]); engaged.set(kept[2]); adopt(); return name; };
    if (code.capture) {
      const found = new Float64Array(holds.owner.length); code.capture(at, x, p, found);
      holds.owner.forEach((g, k) => { if (wanted[g] > 0) p[holds.captured + k] = found[k]; });
    }
    code.residuals(at, x, p, left);
    for (let i = 0; i < m; i++) if (wanted[holds.group[i]] > 0 && phi[i] ** 2 > LOOSE ** 2 * reach2[i]) return undo(holds.groups[holds.group[i]]);
    wanted.forEach((want, g) => { if (want) engaged[g] = +(want > 0); });
    adopt(); code.table(at, x, none, p, values);
    const asked = holds.groups.filter((_, g) => wanted[g] > 0).join(", ");
    if (!turn(ANY)) return undo(asked);
    for (let j = 0; j < nu; j++) x[nq + j] += v[j];
    rank = used.reduce((sum, on) => sum + on, 0);
    return settle(at, x, p) ? "" : undo(asked);
  }
  function begin(t, x, p) {                       // what is declared engaged holds, and its offsets are those of the start
    engaged.set(holds.engaged); return command(t, x, p, holds.engaged.map(Number));
  }
  adopt();
  const word = g => engaged[g] ? "engaged" : "released";
  return { flow, settle, command, begin, engaged, word, independent: () => rank };
}
