// The machine as three.js draws it: shapes fixed to frames, ties between frames, trails behind them.
import * as THREE from "three";
import { meshOf } from "./mesh.js";
import { Trails } from "./trails.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const BESIDE = ["spring", "rope", "line", "tube", "arrow", "rod", "box", "cylinder", "mesh", "mount"], FAR = 4;  // sizes
const Z = new THREE.Vector3(0, 0, 1), SPHERES = ["sphere", "mass", "pin"];

export class Machine {
  constructor(scene) {
    this.scene = scene;
    this.root = new THREE.Scene();
    this.groups = scene.bodies.map(() => this.add(new THREE.Group()));
    this.moving = [];      // called after each frame
    this.solid = [];       // what can be taken hold of
    this.owned = [];       // what is only there while its constraint acts
    this.tinted = [];      // materials with the colour of a role, which is another one in the dark
    this.trails = new Trails(this);
    this.lights();
    for (const part of scene.parts) this.part(part);
    this.ground();
    dark.addEventListener("change", () => this.tint());
    this.tint();
  }

  add(thing) { this.root.add(thing); return thing; }

  lights() {
    const sun = this.add(new THREE.DirectionalLight(0xffffff, 2.2));
    sun.position.set(0.5, -0.8, 1.6);
    this.add(new THREE.HemisphereLight(0xffffff, 0x8899aa, 1.5));
  }

  material(part, options = {}, kind = THREE.MeshStandardMaterial) {
    const rough = kind === THREE.MeshStandardMaterial ? { roughness: 0.55, metalness: 0.05 } : {};
    const made = new kind({ ...rough, ...options });
    this.tinted.push([made, part]);
    return made;
  }

  tint() {
    const roles = dark.matches ? { joint: "#c9d2da", stand: "#56616c", quiet: "#97a3b0", accent: "#6aa7e8", grid: "#3b4550" }
                               : { joint: "#dfe5ea", stand: "#b6bfc8", quiet: "#8b95a0", accent: "#2f6fb5", grid: "#c3ccd5" };
    const { palette, depths } = this.scene;
    for (const [material, part] of this.tinted) material.color.set(part.color?.slice(0, 7) || roles[part.role] || palette[Math.max(0, depths[part.bodies[0]]) % palette.length]);
  }

  part(part) {
    const made = this.shape(part) ?? this.tie(part);
    if (made && part.owner) this.owned.push([made, part.owner]);
  }

  // ---- shapes: meshes in the axes of the shape, fixed to a frame
  shape(part) {
    const { kind, size: [a, b, c] } = part, least = 0.004 * this.scene.size;
    const turned = geometry => geometry.rotateX(Math.PI / 2);  // three's cylinders are along y
    const tube = (length, width) => turned(new THREE.CylinderGeometry(width / 2, width / 2, length, 20));
    const things = [];
    const mesh = (geometry, options) => { const m = new THREE.Mesh(geometry, this.material(part, options)); things.push(m); return m; };
    if (kind === "rod") mesh(tube(a, Math.max(b, least)).translate(0, 0, a / 2));
    else if (kind === "cylinder") mesh(tube(a, Math.max(b, least)));
    else if (kind === "mesh") things.push(meshOf(part, options => this.material(part, options)));
    else if (kind === "box") mesh(new THREE.BoxGeometry(a, b, c));
    else if (SPHERES.includes(kind)) mesh(new THREE.SphereGeometry(Math.max(a, least), 24, 16), kind === "sphere" && part.role === "body" ? { transparent: true, opacity: 0.45 } : {});
    else if (kind === "ring") mesh(new THREE.TorusGeometry(a, Math.max(b / 2, least / 2), 10, 64));
    else if (kind === "wheel") {
      mesh(new THREE.TorusGeometry(a, Math.max(b / 2, least), 10, 64));
      mesh(new THREE.CircleGeometry(a, 48), { transparent: true, opacity: 0.25, side: THREE.DoubleSide, depthWrite: false });
      for (const turn of [0, Math.PI / 2]) mesh(new THREE.CylinderGeometry(least, least, 2 * a, 8).rotateZ(turn));
    } else if (kind === "disc") mesh(turned(new THREE.CylinderGeometry(a, a, least, 48)));
    else if (kind === "mount") mesh(new THREE.BoxGeometry(1.6 * a, 1.6 * a, 0.5 * a).translate(0, 0, 0.5 * a));
    else if (kind === "marker") {
      const r = 0.012 * this.scene.size, points = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].flatMap(d => [-r, r].map(s => new THREE.Vector3(...d).multiplyScalar(s)));
      things.push(new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(points), this.material(part, {}, THREE.LineBasicMaterial)));
    } else if (kind === "trail") return this.trails.add(part);
    else return null;
    const group = new THREE.Group();
    group.matrixAutoUpdate = false;
    group.matrix.set(...part.pose.flat());
    group.add(...things);
    this.groups[part.bodies[0]].add(group);
    this.take(group, part.bodies[0]);
    return group;
  }

  take(thing, frame) {
    if (!frame || this.scene.hosts[frame] === 0 || this.scene.bodies[frame].startsWith("foot of ")) return;
    thing.traverse(each => { if (each.isMesh) { each.userData.frame = frame; this.solid.push(each); } });
  }

  forget(material) { this.tinted = this.tinted.filter(([each]) => each !== material); material.dispose(); }

  line(part, count, options = {}, kind = THREE.LineBasicMaterial) {
    const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    const line = this.add(new THREE.Line(geometry, this.material(part, options, kind)));
    line.frustumCulled = false;
    return line;
  }

  // ---- ties: through points of several frames, drawn anew in each picture
  tie(part) {
    const { kind, bodies, size } = part, n = bodies.length, world = part.points.map(() => new THREE.Vector3());
    const locate = () => part.points.forEach((p, k) => this.groups[bodies[k]].localToWorld(world[k].set(...p)));
    if (kind === "patch") {
      const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * n), 3));
      geometry.setIndex(Array.from({ length: n - 2 }, (_, k) => [0, k + 1, k + 2]).flat());
      const mesh = this.add(new THREE.Mesh(geometry, this.material(part, { side: THREE.DoubleSide, flatShading: true })));
      mesh.frustumCulled = false;
      this.follow(bodies, () => { locate(); this.write(geometry, world); geometry.computeVertexNormals(); });
      return mesh;
    }
    if (["line", "tube", "arrow"].includes(kind)) {  // bars from point to point
      const group = this.add(new THREE.Group()), width = Math.max(size[0], 0.004 * this.scene.size);
      for (let k = 1; k < n; k++) {
        const bar = new THREE.Mesh(new THREE.CylinderGeometry(width / 2, width / 2, 1, 12).rotateX(Math.PI / 2), this.material(part));
        group.add(bar);
        if (kind === "tube") this.take(bar, bodies[k]);
      }
      this.follow(bodies, () => { locate(); group.children.forEach((bar, k) => stretch(bar, world[k], world[k + 1])); });
      return group;
    }
    const count = kind === "spring" ? 161 : kind === "rope" ? 33 : n;
    const line = kind === "rail" ? this.line(part, count, { dashSize: 0.03 * this.scene.size, gapSize: 0.03 * this.scene.size }, THREE.LineDashedMaterial)
                                 : this.line(part, count, kind === "ghost" ? { transparent: true, opacity: 0.5 } : {});
    const points = Array.from({ length: count }, () => new THREE.Vector3());
    const place = { spring: () => coil(points, world, size[0]), rope: () => hang(points, world, size[0]) }[kind] ?? (() => world.forEach((p, k) => points[k].copy(p)));
    this.follow(bodies, () => { locate(); place(); this.write(line.geometry, points); if (kind === "rail") line.computeLineDistances(); });
    return line;
  }

  follow(bodies, draw) {
    if (bodies.some(b => b)) this.moving.push(draw);
    else this.first = [...(this.first ?? []), draw];  // of the world alone: once
  }

  write(geometry, points) {
    const position = geometry.attributes.position;
    points.forEach((p, k) => position.setXYZ(k, p.x, p.y, p.z));
    position.needsUpdate = true;
  }

  ground() {
    const { size, floor } = this.scene, power = 10 ** Math.floor(Math.log10(size / 3)), step = [1, 2, 5, 10].map(x => x * power).findLast(x => x <= size / 3) ?? power;
    this.cell = +step.toPrecision(1);
    const n = 24, at = [], seen = [];               // in short pieces, which fade away
    for (let i = -n; i <= n; i++) for (let j = -n; j < n; j++) for (const [a, b] of [[[i, j], [i, j + 1]], [[j, i], [j + 1, i]]]) for (const [x, y] of [a, b]) {
      at.push(x * step, y * step, floor - 1e-3 * size); seen.push(1, 1, 1, 0.6 * Math.max(0, 1 - Math.hypot(x, y) / n));
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(at, 3)).setAttribute("color", new THREE.Float32BufferAttribute(seen, 4));
    const grid = this.grid = this.add(new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false })));
    this.tinted.push([grid.material, { role: "grid", bodies: [0] }]);
  }

  // ---- each picture: places and quaternions w, x, y, z of all frames
  place(poses, head) {
    this.groups.forEach((group, k) => {
      const [x, y, z, w, i, j, l] = poses.subarray(7 * k, 7 * k + 7);
      group.position.set(x, y, z); group.quaternion.set(i, j, l, w); group.updateMatrixWorld(true);
    });
    (this.first ?? []).forEach(draw => draw()); this.first = null;
    for (const draw of this.moving) draw(head);
  }

  acts(modes) { for (const [thing, owner] of this.owned) thing.visible = !["open", "released"].includes(modes[owner] ?? "open"); }

  middle(frame) {          // of what is drawn of a body
    const box = new THREE.Box3();
    for (const mesh of this.solid) if (mesh.userData.frame === frame) box.expandByObject(mesh);
    return box.getCenter(new THREE.Vector3());
  }

  extent() {               // a box around what moves, and around what it is tied to or runs against, if that is not far away
    const box = new THREE.Box3(), { parts, size } = this.scene;
    for (const mesh of this.solid) box.expandByObject(mesh);
    if (box.isEmpty()) box.setFromCenterAndSize(new THREE.Vector3(), new THREE.Vector3(1, 1, 1).multiplyScalar(size));
    const beside = box.clone();
    for (const { kind, bodies, points } of parts) if (BESIDE.includes(kind)) bodies.forEach((b, k) => beside.expandByPoint(this.groups[b].localToWorld(new THREE.Vector3(...points[k]))));
    const wide = each => each.getSize(new THREE.Vector3()).length();
    return wide(beside) < 2 * FAR * Math.max(wide(box), size) ? beside : box;
  }
}

function stretch(bar, a, b) {
  const way = b.clone().sub(a), length = way.length();
  bar.position.copy(a).addScaledVector(way, 0.5);
  bar.scale.set(1, 1, Math.max(length, 1e-9));
  if (length > 0) bar.quaternion.setFromUnitVectors(Z, way.divideScalar(length));
}

function coil(points, [a, b], radius) {
  const way = b.clone().sub(a), length = way.length() || 1, axis = way.clone().divideScalar(length);
  const side = new THREE.Vector3(Math.abs(axis.x) < 0.9 ? 1 : 0, Math.abs(axis.x) < 0.9 ? 0 : 1, 0).cross(axis).normalize(), other = axis.clone().cross(side);
  points.forEach((p, k) => {
    const s = k / (points.length - 1), turn = 2 * Math.PI * 9 * s, r = s < 0.06 || s > 0.94 ? 0 : radius;
    p.copy(a).addScaledVector(way, s).addScaledVector(side, r * Math.cos(turn)).addScaledVector(other, r * Math.sin(turn));
  });
}

function hang(points, [a, b], length) {
  const apart = a.distanceTo(b), sag = apart >= (1 - 1e-4) * length ? 0 : Math.sqrt(length * length - apart * apart) * (0.5 - 0.067 * apart / length);
  points.forEach((p, k) => { const s = k / (points.length - 1); p.copy(a).lerp(b, s); p.z -= 4 * sag * s * (1 - s); });
}
