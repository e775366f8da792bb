// Meshes as pages have them: places as whole numbers, triangles, and the colours of one after the other.
export function unpack({ low, step, places, triangles, wide, groups }) {
  const whole = new Uint16Array(bytes(places)), index = wide ? new Uint32Array(bytes(triangles)) : new Uint16Array(bytes(triangles));
  const points = new Float32Array(whole.length);
  for (let k = 0; k < whole.length; k += 3) for (let d = 0; d < 3; d++) points[k + d] = low[d] + step[d] * whole[k + d];
  return { groups, ...corners(points, index) };
}
function bytes(text) {
  const found = atob(text), made = new Uint8Array(found.length);
  for (let k = 0; k < found.length; k++) made[k] = found.charCodeAt(k);
  return made.buffer;
}
// three points and normals for each triangle, (9 m): smooth where neighbours are turned little, sharp at edges
function corners(points, index) {
  const n = index.length, m = n / 3, face = new Float32Array(n), sizes = new Float32Array(m), places = new Float32Array(3 * n), normals = new Float32Array(3 * n);
  for (let k = 0; k < n; k++) { const p = 3 * index[k]; places[3 * k] = points[p]; places[3 * k + 1] = points[p + 1]; places[3 * k + 2] = points[p + 2]; }
  const start = new Uint32Array(points.length / 3 + 1);
  for (let k = 0; k < n; k++) start[index[k] + 1]++;
  for (let k = 1; k < start.length; k++) start[k] += start[k - 1];
  const next = start.slice(), around = new Uint32Array(n);  // the triangles at each vertex
  for (let t = 0; t < m; t++) {
    const a = 9 * t, ux = places[a + 3] - places[a], uy = places[a + 4] - places[a + 1], uz = places[a + 5] - places[a + 2];
    const vx = places[a + 6] - places[a], vy = places[a + 7] - places[a + 1], vz = places[a + 8] - places[a + 2];
    const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
    face[3 * t] = x; face[3 * t + 1] = y; face[3 * t + 2] = z; sizes[t] = Math.sqrt(x * x + y * y + z * z) || 1;
    for (let k = 3 * t; k < 3 * t + 3; k++) around[next[index[k]]++] = t;
  }
  for (let t = 0; t < m; t++) {
    const fx = face[3 * t], fy = face[3 * t + 1], fz = face[3 * t + 2];
    for (let k = 3 * t; k < 3 * t + 3; k++) {
      let x = 0, y = 0, z = 0;
      for (let i = start[index[k]]; i < start[index[k] + 1]; i++) {
        const o = around[i], gx = face[3 * o], gy = face[3 * o + 1], gz = face[3 * o + 2];
        if (o === t || fx * gx + fy * gy + fz * gz > 0.8 * sizes[t] * sizes[o]) { x += gx; y += gy; z += gz; }  // by area
      }
      const l = Math.sqrt(x * x + y * y + z * z) || 1;
      normals[3 * k] = x / l; normals[3 * k + 1] = y / l; normals[3 * k + 2] = z / l;
    }
  }
  return { places, normals };
}
