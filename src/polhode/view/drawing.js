// Draws a scene: points of parts, a camera, painting, and hands that turn the view. The page around it has `scene`, and
// the functions outlook(), points that should be seen; there(when), whether a part is there now; paths(), which draws
// trails; draw(), which puts all bodies where they are now and calls picture().
const $ = id => document.getElementById(id);
const canvas = $("canvas"), pen = canvas.getContext("2d"), { size, parts } = scene;
// the points of all parts, each in its body; a part knows where its own are
const owner = [], local = [];
for (const part of parts) { part.at = part.points.map(([x, y, z], j) => (local.push(x, y, z), owner.push(part.bodies[j]) - 1)); part.body = part.bodies[0]; part.host = scene.hosts[part.body]; }
const count = owner.length, all = kind => parts.filter(part => part.kind === kind);
const now = new Float32Array(3 * count);          // the points at the time shown
const screen = new Float32Array(3 * count);       // x, y in pixels and scale, pixels a metre
const shade = new Float32Array(3 * count);        // their shadows on the ground

const dark = matchMedia("(prefers-color-scheme: dark)");
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let inks, edge;
function readInks() {
  inks = { ink: css("--ink"), paper: css("--paper"), quiet: css("--dim"), accent: css("--accent"), joint: "#dfe5ea", stand: dark.matches ? "#5d6873" : "#b6bfc8" };
  edge = dark.matches ? "#0e1216" : "#26303a";
}
readInks(); dark.addEventListener("change", () => { readInks(); draw(); });
const color = part => part.color || inks[part.role] || scene.palette[Math.max(0, scene.depths[part.body]) % scene.palette.length];

function put(X, k, out, o) {                      // point k of a body with pose X
  const x = local[3 * k], y = local[3 * k + 1], z = local[3 * k + 2];
  for (let d = 0; d < 3; d++) out[o + d] = X[3 * d] * x + X[3 * d + 1] * y + X[3 * d + 2] * z + X[9 + d];
}
let framed = [];                                  // their poses
function place(X) {                               // all points, by the poses of the bodies
  framed = X;
  for (let k = 0; k < count; k++) put(X[owner[k]], k, now, 3 * k);
}

// ---- camera: looks at target from a distance, up is z ----
const FOV = Math.tan(14 * Math.PI / 180);         // half the height of the picture
const camera = { yaw: scene.yaw, pitch: scene.pitch, target: [0, 0, 0], distance: 1 };
let width = 1, height = 1, follow = scene.follow, fitted = true, basis;
let offset = [0, 0, 0];                           // of the target, from the machine if it is followed
function axes() {
  const cy = Math.cos(camera.yaw), sy = Math.sin(camera.yaw), cp = Math.cos(camera.pitch), sp = Math.sin(camera.pitch);
  basis = { right: [cy, sy, 0], up: [-sy * sp, cy * sp, cp], back: [sy * cp, -cy * cp, sp] };
}
const dot = (a, x, y, z) => a[0] * x + a[1] * y + a[2] * z;
function project(x, y, z, out, k) {
  const [tx, ty, tz] = camera.target; x -= tx; y -= ty; z -= tz;
  const depth = camera.distance - dot(basis.back, x, y, z);
  const scale = height / 2 / FOV / Math.max(depth, 0.02 * camera.distance);
  out[k] = width / 2 + dot(basis.right, x, y, z) * scale;
  out[k + 1] = height / 2 - dot(basis.up, x, y, z) * scale;
  out[k + 2] = depth > 0.05 * camera.distance ? scale : 0;
}
function middle(points) {                         // of the box around points [x, y, z, x, ...]
  const lo = [1e9, 1e9, 1e9], hi = [-1e9, -1e9, -1e9];
  for (let k = 0; k < points.length; k++) { const v = points[k], d = k % 3; if (v < lo[d]) lo[d] = v; if (v > hi[d]) hi[d] = v; }
  return lo.map((v, d) => points.length ? (v + hi[d]) / 2 : 0);
}
function fit() {                                  // stand where everything that will happen can be seen
  axes(); fitted = true;
  const seen = outlook();
  if (!follow) for (const { at: [p] } of all("mount")) seen.push(now[3 * p], now[3 * p + 1], scene.floor);
  const wide = FOV * width / height * 0.86, high = FOV * 0.77, each = see => {
    for (let k = 0; k < seen.length; k += 3) {
      const x = seen[k] - target[0], y = seen[k + 1] - target[1], z = seen[k + 2] - target[2];
      see(dot(basis.right, x, y, z), dot(basis.up, x, y, z), dot(basis.back, x, y, z));
    }
  };
  let target = follow ? [0, 0, 0] : middle(seen), need = size;
  for (let round = 0; round < 3; round++) {       // what is seen moves to the middle, then the distance follows
    need = 1e-6 * size; let left = 1e9, right = -1e9, low = 1e9, top = -1e9;
    each((r, u, b) => { need = Math.max(need, b + Math.abs(r) / wide, b + Math.abs(u) / high); });
    each((r, u, b) => { const s = 1 / (need - b); left = Math.min(left, r * s); right = Math.max(right, r * s); low = Math.min(low, u * s); top = Math.max(top, u * s); });
    if (!follow) target = target.map((v, d) => v + (basis.right[d] * (left + right) + basis.up[d] * (low + top)) / 2 * need);
  }
  camera.distance = Math.max(need, 1.2 * size); offset = target;
}

// ---- drawing ----
let trails = all("trail").length > 0, names = false;
function line(ax, ay, bx, by, w, style) {
  pen.lineWidth = w; pen.strokeStyle = style; pen.beginPath(); pen.moveTo(ax, ay); pen.lineTo(bx, by); pen.stroke();
}
function disc(x, y, r, fill, rim, w) {
  pen.beginPath(); pen.arc(x, y, Math.max(r, 0.5), 0, 2 * Math.PI); pen.fillStyle = fill; pen.fill();
  if (rim) { pen.lineWidth = w; pen.strokeStyle = rim; pen.stroke(); }
}
function outline(points, to = pen, where = screen, closed = true) { to.beginPath(); for (const p of points) to.lineTo(where[3 * p], where[3 * p + 1]); if (closed) to.closePath(); }
function nice(x) { const p = 10 ** Math.floor(Math.log10(x)); return (x / p < 2 ? 1 : x / p < 5 ? 2 : 5) * p; }
function ground() {
  const cell = nice(size / 3), reach = Math.max(6 * size, camera.distance * 0.9), n = Math.min(40, Math.ceil(reach / cell));
  const [tx, ty] = camera.target, cx = Math.round(tx / cell), cy = Math.round(ty / cell), out = new Float32Array(6);
  pen.strokeStyle = inks.quiet;
  const pieces = 16, radius = n * cell;
  for (let along = 0; along < 2; along++) for (let i = -n; i <= n; i++) {
    const fixed = ((along ? cy : cx) + i) * cell, strong = ((along ? cy : cx) + i) % 5 === 0;
    for (let s = 0; s < pieces; s++) {
      const a = ((along ? cx : cy) + n * (2 * s / pieces - 1)) * cell, b = ((along ? cx : cy) + n * (2 * (s + 1) / pieces - 1)) * cell;
      const m = (a + b) / 2, fade = 1 - Math.hypot(fixed - (along ? ty : tx), m - (along ? tx : ty)) / radius;
      if (fade <= 0) continue;
      along ? project(a, fixed, scene.floor, out, 0) : project(fixed, a, scene.floor, out, 0);
      along ? project(b, fixed, scene.floor, out, 3) : project(fixed, b, scene.floor, out, 3);
      if (!out[2] || !out[5]) continue;
      pen.globalAlpha = fade * fade * (strong ? 0.55 : 0.28);
      pen.lineWidth = 1; pen.beginPath(); pen.moveTo(out[0], out[1]); pen.lineTo(out[3], out[4]); pen.stroke();
    }
  }
  pen.globalAlpha = 1;
  return cell;
}
const veil = document.createElement("canvas"), dim = veil.getContext("2d");
function shadows(ratio) {                         // opaque on a canvas of their own, so that crossings are not darker
  veil.width = canvas.width; veil.height = canvas.height;
  dim.setTransform(ratio, 0, 0, ratio, 0, 0); dim.lineCap = dim.lineJoin = "round";
  dim.strokeStyle = dim.fillStyle = dark.matches ? "#000" : "#1b2733";
  for (let k = 0; k < count; k++) project(now[3 * k], now[3 * k + 1], scene.floor, shade, 3 * k);
  for (const { kind, role, at, size: [first, w], when } of parts) {
    if (!there(when)) continue;
    if (role === "stand" || role === "joint" || at.some(p => !shade[3 * p + 2])) continue;
    if (["rod", "line", "wheel", "tube"].includes(kind)) {
      dim.lineWidth = Math.max((w ?? first) * shade[3 * at[0] + 2], 1.5); outline(at, dim, shade, kind === "wheel"); dim.stroke();
    } else if (kind === "box" || kind === "mesh") { outline(hull(at), dim, shade); dim.fill(); }
    else if (kind === "sphere") {
      const [x, y, s] = shade.subarray(3 * at[0]), r = first * s;
      dim.beginPath(); dim.ellipse(x, y, r, r * Math.abs(Math.sin(camera.pitch)), 0, 0, 2 * Math.PI); dim.fill();
    }
  }
  pen.globalAlpha = dark.matches ? 0.4 : 0.13; pen.drawImage(veil, 0, 0, width, height); pen.globalAlpha = 1;
}
function hull(corners, on = shade) {              // the outermost of the shadows of some points, in order
  const order = [...corners].sort((a, b) => on[3 * a] - on[3 * b] || on[3 * a + 1] - on[3 * b + 1]);
  const turn = (a, b, c) => (on[3 * b] - on[3 * a]) * (on[3 * c + 1] - on[3 * a + 1]) - (on[3 * b + 1] - on[3 * a + 1]) * (on[3 * c] - on[3 * a]);
  const side = list => { const out = []; for (const p of list) { while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], p) <= 0) out.pop(); out.push(p); } out.pop(); return out; };
  return [...side(order), ...side(order.reverse())];
}
const FACES = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];
function depthOf(points) { let sum = 0; for (const p of points) sum += dot(basis.back, now[3 * p], now[3 * p + 1], now[3 * p + 2]); return sum / points.length; }
function light([a, b, , d]) {                     // of a face, by how it is turned
  const e = k => now[3 * b + k] - now[3 * a + k], f = k => now[3 * d + k] - now[3 * a + k];
  const n = [e(1) * f(2) - e(2) * f(1), e(2) * f(0) - e(0) * f(2), e(0) * f(1) - e(1) * f(0)], l = Math.hypot(...n) || 1;
  return Math.abs(n[2] / l) * 0.5 + Math.abs(dot(basis.right, ...n) / l) * 0.15;
}
// each kind, by its part, the pixels of its ends and its width or radius in pixels
const paint = {
  rod(part, [ax, ay, bx, by], w) {
    w = Math.max(w, 2.5); line(ax, ay, bx, by, w + 2, edge); line(ax, ay, bx, by, w, color(part));
    if (part.role === "body") { pen.globalAlpha = 0.28; line(ax, ay, bx, by, w * 0.35, "#fff"); pen.globalAlpha = 1; }
  },
  tube(part, _, w) {                              // a bar that bends
    w = Math.max(w, 2.5); outline(part.at, pen, screen, false); pen.lineJoin = "round";
    for (const [wide, ink, alpha] of [[w + 2, edge, 1], [w, color(part), 1], [w * 0.35, "#fff", 0.28]]) { pen.lineWidth = wide; pen.strokeStyle = ink; pen.globalAlpha = alpha; pen.stroke(); }
    pen.globalAlpha = 1;
  },
  ghost(part, _, w) {                             // where it would be straight
    outline(part.at, pen, screen, false); pen.globalAlpha = 0.5; pen.lineWidth = Math.max(w, 1); pen.strokeStyle = color(part); pen.stroke(); pen.globalAlpha = 1;
  },
  cylinder(part, [ax, ay, bx, by], w) {
    w = Math.max(w, 4); pen.lineCap = "butt"; line(ax, ay, bx, by, w + 2, edge);
    disc(ax, ay, w / 2, color(part), edge, 1); disc(bx, by, w / 2, color(part), edge, 1); line(ax, ay, bx, by, w, "#c4ccd4");
    const [a, b] = part.at; depthOf([a]) > depthOf([b]) ? disc(ax, ay, w / 2, "#eef2f5", edge, 1) : disc(bx, by, w / 2, "#eef2f5", edge, 1);
    pen.lineCap = "round";
  },
  sphere(part, [x, y], r) {
    if (part.role === "joint") return disc(x, y, Math.max(r, 3), color(part), edge, 1.2);
    pen.globalAlpha = 0.25; disc(x, y, r, color(part)); pen.globalAlpha = 1;
  },
  mass(part, [x, y], r) {                         // the sign for a centre of mass
    r = Math.max(r, 3); disc(x, y, r, "#fff", edge, 1.2); pen.fillStyle = color(part);
    for (const q of [0, Math.PI]) { pen.beginPath(); pen.moveTo(x, y); pen.arc(x, y, r - 0.4, q, q + Math.PI / 2); pen.closePath(); pen.fill(); }
  },
  ring(part, _, w) {
    outline(part.at); pen.globalAlpha = 0.6; pen.lineWidth = Math.max(w, 2); pen.strokeStyle = color(part); pen.stroke(); pen.globalAlpha = 1;
  },
  wheel(part, _, w) {
    outline(part.at); pen.globalAlpha = 0.15; pen.fillStyle = color(part); pen.fill(); pen.globalAlpha = 1;
    for (const j of [0, 16]) line(...pixels([part.at[j], part.at[j + 32]]), Math.max(w / 2, 1.5), inks.quiet);
    outline(part.at); pen.lineWidth = Math.max(w, 2); pen.strokeStyle = color(part); pen.stroke();
  },
  face(part) {
    outline(part.at); pen.globalAlpha = 0.62; pen.fillStyle = color(part); pen.fill();
    pen.globalAlpha = light(part.at); pen.fillStyle = "#fff"; pen.fill();
    pen.globalAlpha = 0.75; pen.lineWidth = 1.1; pen.lineJoin = "round"; pen.strokeStyle = edge; pen.stroke(); pen.globalAlpha = 1;
  },
  line(part, ends, w) { line(...ends, Math.max(w, 1.5), color(part)); },
  pin(part, [x, y], r) { disc(x, y, Math.max(r, 4), color(part), inks.paper, 1.4); },
  rope(part, [x, y, bx, by], w) {                 // hangs as a parabola, or is taut
    const [a, b] = part.at, [length, width] = part.size, apart = Math.hypot(...[0, 1, 2].map(d => now[3 * b + d] - now[3 * a + d]));
    const taut = apart >= (1 - 1e-4) * length, down = taut ? 0 : Math.sqrt(length * length - apart * apart) * (0.5 - 0.067 * apart / length) * w / width;
    pen.lineWidth = Math.max(w, 2); pen.strokeStyle = taut ? inks.accent : color(part); pen.beginPath(); pen.moveTo(x, y);
    pen.quadraticCurveTo((x + bx) / 2, (y + by) / 2 + 2 * down, bx, by); pen.stroke();
  },
  rail(part, ends) { pen.setLineDash([5, 5]); line(...ends, 1.5, color(part)); pen.setLineDash([]); },
  spring(part, [x, y, bx, by], w) {
    const dx = bx - x, dy = by - y, l = Math.hypot(dx, dy) || 1, n = 18;
    pen.lineWidth = 1.6; pen.strokeStyle = color(part); pen.lineJoin = "round"; pen.beginPath(); pen.moveTo(x, y);
    for (let i = 0; i <= n; i++) {
      const s = 0.12 + 0.76 * i / n, o = i === 0 || i === n ? 0 : (i % 2 ? w : -w);
      pen.lineTo(x + dx * s - dy / l * o, y + dy * s + dx / l * o);
    }
    pen.lineTo(bx, by); pen.stroke();
  },
  arrow(part, [x, y, bx, by], w) {
    const l = Math.hypot(bx - x, by - y), s = Math.min(1, 6 * w / (l || 1)), dx = (bx - x) * s, dy = (by - y) * s;
    line(x, y, bx - dx, by - dy, w, color(part)); pen.fillStyle = color(part); pen.beginPath(); pen.moveTo(bx, by);
    for (const o of [1, -1]) pen.lineTo(bx - dx - o * dy / 3, by - dy + o * dx / 3);
    pen.fill();
  },
  patch(part) {                                   // of the ground, lighter where it is turned to the light
    const [a, b, c, d] = part.at, e = k => now[3 * c + k] - now[3 * a + k], f = k => now[3 * d + k] - now[3 * b + k];
    const n = [e(1) * f(2) - e(2) * f(1), e(2) * f(0) - e(0) * f(2), e(0) * f(1) - e(1) * f(0)];
    const lit = Math.abs(0.45 * n[0] - 0.3 * n[1] + 0.84 * n[2]) / (Math.hypot(...n) || 1), level = dark.matches ? 25 + 45 * lit : 150 + 80 * lit;
    outline(part.at); pen.fillStyle = `rgb(${level}, ${level + 5}, ${level + 10})`; pen.fill(); pen.lineWidth = 0.6; pen.strokeStyle = inks.stand; pen.stroke();
  },
  mesh() {},                                      // all together, by meshes.js
  disc(part) { outline(part.at); pen.fillStyle = color(part); pen.fill(); pen.lineWidth = 1.2; pen.strokeStyle = inks.quiet; pen.stroke(); },
  mount(part, [x, y], r) {                        // hatched, where it hangs
    pen.globalAlpha = 0.8; pen.lineCap = "butt"; const c = color(part);
    line(x - r, y - r * 0.55, x + r, y - r * 0.55, 2, c);
    for (let i = -3; i <= 3; i++) line(x + i * r / 3.2, y - r * 0.55, x + i * r / 3.2 - r * 0.22, y - r * 0.85, 1, c);
    for (const s of [-1, 1]) line(x, y, x + s * r * 0.6, y - r * 0.55, 1.5, c);
    pen.globalAlpha = 1; pen.lineCap = "round";
  },
};
const pixels = points => points.flatMap(p => [screen[3 * p], screen[3 * p + 1]]);
// boxes are painted by their faces; what lies on the ground or the wall comes first
const painted = parts.flatMap(part => part.kind === "box" ? FACES.map(face => ({ ...part, kind: "face", at: face.map(c => part.at[c]) })) : part.kind in paint ? [part] : []);
function solids() {                               // far things first
  const bars = scene.parents.map(() => -1e9), lift = 0.004 * size;  // of each body: how near its bars are
  for (const part of painted) {
    part.near = depthOf(part.at);
    if ((part.kind === "rod" || part.kind === "tube") && part.role === "body") bars[part.host] = Math.max(bars[part.host], part.near);
  }
  for (const part of painted) {
    if (part.role === "joint") part.near = Math.max(part.near, bars[part.host], bars[scene.parents[part.host]]) + (part.kind === "sphere" ? 4 : 1) * lift;
    if (part.kind === "pin") part.near += 0.3 * size;
    if (part.kind === "mass") part.near = Math.max(part.near, bars[part.host] > -1e9 ? bars[part.host] : bars[scene.parents[part.host]]) + 3 * lift;
    if (part.kind === "sphere" && part.role === "body") part.near -= part.size[0];
    if (["disc", "mount", "ghost"].includes(part.kind)) part.near = -1e9;
    if (part.kind === "patch") part.near -= 1e6;
  }
  pen.lineCap = "round";
  let surfaces = meshes.count > 0;                // after the ground and what lies on it, before what is drawn by lines
  for (const part of painted.sort((a, b) => a.near - b.near)) {
    if (surfaces && part.near > -1e5) { surfaces = false; meshes.draw(framed); pen.lineCap = "round"; }
    if (part.at.some(p => !screen[3 * p + 2]) || !there(part.when)) continue;  // behind the viewer, or not there
    const scale = part.at.reduce((sum, p) => sum + screen[3 * p + 2], 0) / part.at.length;
    paint[part.kind](part, pixels(part.at.slice(0, 2)), (part.size[part.size.length - 1] ?? 0) * scale);
  }
  if (surfaces) meshes.draw(framed);
}
function markers() {
  const taken = [], shown = parts.filter(part => part.name);
  for (const part of names || all("marker").length <= 6 ? shown : []) {  // else too many to be looked at
    const [x, y] = pixels(part.at.slice(-1)); if (!screen[3 * part.at[0] + 2]) continue;
    if (part.kind === "marker") { line(x - 4, y, x + 4, y, 1.4, inks.ink); line(x, y - 4, x, y + 4, 1.4, inks.ink); }
    if (!names) continue;
    const w = pen.measureText(part.name).width, tx = x + 8 + w < width ? x + 8 : x - 8 - w; let ty = y - 11;
    while (taken.some(r => Math.abs(r[1] - ty) < 14 && r[0] < tx + w && tx < r[0] + r[2])) ty -= 14;
    if (y - ty > 60) continue;                    // no room near it
    taken.push([tx, ty, w]);
    pen.lineWidth = 3; pen.strokeStyle = inks.paper; pen.strokeText(part.name, tx, ty); pen.fillStyle = inks.ink; pen.fillText(part.name, tx, ty);
  }
}
function picture() {
  const ratio = devicePixelRatio || 1, c = follow ? middle(now) : [0, 0, 0];
  camera.target = offset.map((v, d) => v + c[d]);
  axes();
  for (let k = 0; k < 3 * count; k += 3) project(now[k], now[k + 1], now[k + 2], screen, k);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0); pen.clearRect(0, 0, width, height);
  const cell = ground(); shadows(ratio);
  if (trails) paths();
  solids();
  pen.font = "12px system-ui, 'DejaVu Sans', sans-serif"; pen.textBaseline = "middle"; markers();
  const label = `grid ${+cell.toPrecision(3)} m`; pen.fillStyle = inks.quiet; pen.fillText(label, width - pen.measureText(label).width - 16, height - 18);
}

// ---- hands ----
const hand = { take: () => false, move() {}, drop() {} };  // what may take hold of the machine instead
const down = new Map(); let spread = 0;
canvas.addEventListener("pointerdown", e => { canvas.setPointerCapture(e.pointerId); if (!down.size && hand.take(e)) return; down.set(e.pointerId, [e.clientX, e.clientY]); spread = 0; });
for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, e => { hand.drop(e); down.delete(e.pointerId); spread = 0; });
canvas.addEventListener("pointermove", e => {
  hand.move(e); const was = down.get(e.pointerId); if (!was) return;
  const dx = e.clientX - was[0], dy = e.clientY - was[1]; down.set(e.pointerId, [e.clientX, e.clientY]);
  fitted = false;
  if (down.size === 2) {
    const [a, b] = [...down.values()], l = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (spread) camera.distance *= spread / l; spread = l; shift(dx / 2, dy / 2);
  } else if (e.shiftKey || e.buttons & 6) shift(dx, dy);
  else { camera.yaw -= dx * 0.006; camera.pitch = Math.min(Math.max(camera.pitch + dy * 0.006, -1.5), 1.57); }
  draw();
});
function shift(dx, dy) {
  const m = camera.distance * FOV * 2 / height;
  offset = offset.map((v, d) => v - basis.right[d] * dx * m + basis.up[d] * dy * m);
}
canvas.addEventListener("wheel", e => { e.preventDefault(); fitted = false; camera.distance *= Math.exp(e.deltaY * 0.001); draw(); }, { passive: false });
canvas.addEventListener("contextmenu", e => e.preventDefault());
function look() { camera.yaw = scene.yaw; camera.pitch = scene.pitch; fit(); draw(); }  // as at first
canvas.addEventListener("dblclick", look);
function toggle(id, get, set) { const b = $(id), show = () => b.setAttribute("aria-pressed", get()); b.onclick = () => { set(!get()); show(); draw(); }; show(); }
toggle("trail", () => trails, v => { trails = v; });
toggle("names", () => names, v => { names = v; });
toggle("follow", () => follow, v => { follow = v; fit(); });
$("trail").hidden = !trails; $("names").hidden = !parts.some(part => part.name);
const ICON = { pause: '<svg width="14" height="14" fill="currentColor"><rect x="2" y="1" width="3.6" height="12" rx="1"/><rect x="8.4" y="1" width="3.6" height="12" rx="1"/></svg>',
               play: '<svg width="14" height="14" fill="currentColor"><path d="M3 1.5v11a.7.7 0 0 0 1.1.6l8.4-5.5a.7.7 0 0 0 0-1.2L4.1.9A.7.7 0 0 0 3 1.5z"/></svg>' };
function resize() {
  const r = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
  width = r.width || 1; height = r.height || 1; canvas.width = width * ratio; canvas.height = height * ratio;
}
new ResizeObserver(() => { resize(); if (fitted) fit(); draw(); }).observe(canvas);
