// Forces and torques as arrows and arcs, on top of the machine, with a scale, and as a list of numbers.
import * as THREE from "three";
import { short } from "./amounts.js";

const WIDE = 10, LONGEST = 1.2, USUAL = 0.5, FADES = 0.7, TURN = 5 * Math.PI / 3, STEPS = 40, LISTED = 12, Z = new THREE.Vector3(0, 0, 1);
const dark = matchMedia("(prefers-color-scheme: dark)");
const inks = () => dark.matches ? { force: "#e7a0f0", hand: "#ff8a80" } : { force: "#8e24aa", hand: "#c62828" };

// up to 1, 2 or 5 times a power of ten
export function round(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [1, 2, 5, 10].find(k => k * power >= x * (1 - 1e-9));
}
export function amount(x, unit) {
  const size = Math.abs(x), [scale, prefix] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : size < 1e-1 && size > 0 ? [1e-3, "m"] : [1, ""];
  if (size >= 1e12) return short(x, unit);
  return unit ? `${+(x / scale).toPrecision(3)} ${prefix}${unit}` : `${+x.toPrecision(3)}`;
}

export class Forces {
  constructor(list, legend) { this.list = list; this.legend = legend; this.bar = legend.querySelector("i"); this.arc = legend.querySelector("u"); this.shown = false; this.told = 0; this.acting = []; }

  begin(scene, machine) {
    this.scene = scene; this.machine = machine; this.size = scene.size; this.drawn = []; this.acting = []; this.ever = 0; this.most = { force: 0, torque: 0 };
    this.root = machine.add(new THREE.Group());
    const look = () => new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.9, depthTest: false });
    this.looks = { force: look(), hand: look() };
    const tint = () => { for (const [name, ink] of Object.entries(inks())) this.looks[name].color.set(ink); };
    dark.onchange = tint; tint();
    const width = 0.006 * this.size;
    this.shaft = new THREE.CylinderGeometry(width, width, 1, 10).rotateX(Math.PI / 2).translate(0, 0, 0.5);
    this.head = new THREE.ConeGeometry(3 * width, 8 * width, 16).rotateX(Math.PI / 2);
    this.tip = 8 * width; this.radius = 0.085 * this.size;
    this.arcs = Array.from({ length: STEPS + 1 }, (_, k) => new THREE.TorusGeometry(this.radius, 0.8 * width, 8, 48, Math.max(k, 1) / STEPS * TURN));
    this.take(new Float32Array(0));
  }

  show(yes) { this.shown = yes; this.legend.hidden ||= !yes; this.ever = 0; this.most = { force: 0, torque: 0 }; if (this.root) this.take(new Float32Array(0)); }

  // what one unit is drawn as: the weight of the machine is a readable length; without a weight, the most that there was of late
  get scales() {
    const { weight } = this.scene, force = weight || this.most.force, torque = weight * this.size / 4 || this.most.torque;
    return { newton: force ? USUAL * this.size / round(force) : 0, arc: torque ? round(torque) : 0 };
  }

  take(floats) {
    const found = [];
    for (let k = 0; k + WIDE <= floats.length; k += WIDE) {
      const vector = i => new THREE.Vector3(...floats.subarray(k + i, k + i + 3));
      found.push({ name: this.scene.forces[floats[k]], at: vector(1), force: vector(4), torque: vector(7) });
    }
    this.acting = this.shown ? found : [];
    const now = performance.now(), fades = FADES ** Math.min((now - (this.taken ?? now)) / 1000, 1);   // a second, however rarely pictures come
    this.taken = now;
    if (this.acting.length) { this.most.force *= fades; this.most.torque *= fades; }
    for (const { force, torque, at } of this.acting) if (!Number.isNaN(at.x)) {
      this.most.force = Math.max(this.most.force, force.length()); this.most.torque = Math.max(this.most.torque, torque.length());
    }
    this.ever = Math.max(this.ever, this.most.force, this.most.torque);
    const { newton, arc } = this.scales;
    this.cut = false; this.turns = false;
    let used = 0;
    for (const each of this.acting) if (!Number.isNaN(each.at.x)) {
      const look = ["hand", "device"].includes(each.name) ? "hand" : "force", wish = each.force.length() * newton, twist = each.torque.length();
      if (wish > 0.004 * this.size) { this.cut ||= wish > LONGEST * this.size; this.arrow(this.get(used++, each.name), look, each.at, each.force.clone().normalize(), Math.min(wish, LONGEST * this.size)); }
      if (arc && twist > 0.01 * arc) { this.cut ||= twist > 1.001 * arc; this.turns = true; this.turn(this.get(used++, each.name), look, each.at, each.torque.clone().normalize(), Math.min(twist / arc, 1)); }
    }
    for (let k = used; k < this.drawn.length; k++) this.drawn[k].visible = false;
    if (!this.acting.length || performance.now() - this.told > 200) this.tell();
  }

  get(k, name) {
    if (!this.drawn[k]) {
      const group = new THREE.Group();
      group.add(new THREE.Mesh(), new THREE.Mesh());
      for (const mesh of group.children) { mesh.renderOrder = 10; mesh.frustumCulled = false; }
      this.root.add(group); this.drawn[k] = group;
    }
    this.drawn[k].visible = true; this.drawn[k].name = name;
    return this.drawn[k];
  }

  arrow(group, look, at, way, length) {
    const [shaft, head] = group.children, tip = Math.min(this.tip, 0.6 * length);
    shaft.geometry = this.shaft; head.geometry = this.head; shaft.material = head.material = this.looks[look];
    group.position.copy(at); group.quaternion.setFromUnitVectors(Z, way);
    shaft.rotation.set(0, 0, 0); shaft.scale.set(1, 1, length - tip);
    head.rotation.set(0, 0, 0); head.position.set(0, 0, length - tip / 2); head.scale.setScalar(tip / this.tip);
    group.userData = { kind: "force", way: way.toArray(), length };
  }

  turn(group, look, at, axis, part) {        // counterclockwise about the axis
    const [arc, head] = group.children, k = Math.max(Math.round(part * STEPS), 1), angle = k / STEPS * TURN;
    arc.geometry = this.arcs[k]; head.geometry = this.head; arc.material = head.material = this.looks[look];
    group.position.copy(at); group.quaternion.setFromUnitVectors(Z, axis);
    arc.rotation.set(0, 0, 0); arc.scale.setScalar(1);
    head.position.set(this.radius * Math.cos(angle), this.radius * Math.sin(angle), 0); head.scale.setScalar(0.8);
    head.quaternion.setFromUnitVectors(Z, new THREE.Vector3(-Math.sin(angle), Math.cos(angle), 0));
    group.userData = { kind: "torque", way: axis.toArray(), angle };
  }

  // the numbers, the largest first
  tell() {
    this.told = performance.now();
    const known = new Map();
    for (const { name, at, force, torque } of this.acting) {
      const least = 1e-6 * Math.max(this.scene.weight, this.ever);
      const words = Number.isNaN(at.x) ? [amount(force.x, "")] : [[force, "N"], [torque, "N m"]].filter(([v]) => v.length() > least).map(([v, unit]) => amount(v.length(), unit));
      if (words.length && !known.has(name)) known.set(name, [Math.max(force.length(), torque.length()), words.join(" · ")]);
    }
    const all = [...known].sort(([, [a]], [, [b]]) => b - a), rows = all.slice(0, LISTED).sort(([a], [b]) => this.scene.forces.indexOf(a) - this.scene.forces.indexOf(b));
    if (this.list.children.length !== rows.length + (all.length > LISTED)) this.list.replaceChildren(...Array.from({ length: rows.length + (all.length > LISTED) }, line));
    rows.forEach(([name, [, said]], k) => {
      const [label, value] = this.list.children[k].children;
      if (label.textContent !== name) label.textContent = label.title = name;
      value.textContent = said;
    });
    if (all.length > LISTED) this.list.lastChild.firstChild.textContent = `and ${all.length - LISTED} more`;
  }

  // the scale, as long as it is at the middle of the view
  draw(camera, target, height) {
    const { newton, arc } = this.scales;
    this.legend.hidden = !this.shown || !newton;
    if (this.legend.hidden) return;
    const pixels = height / (2 * camera.position.distanceTo(target) * Math.tan(camera.fov * Math.PI / 360)) * newton;   // of one newton
    const shown = round(40 / pixels);
    this.bar.style.width = `${(shown * pixels).toFixed(1)}px`;
    const said = `${amount(shown, "N")}`, turn = this.turns ? `full arc ${amount(arc, "N m")}` : "", cut = this.cut ? "longer ones are cut" : "";
    this.bar.nextElementSibling.textContent = said; this.arc.textContent = [turn, cut].filter(Boolean).join(", ");
  }
}

function line() {
  const made = document.createElement("div");
  made.className = "row"; made.append(document.createElement("span"), document.createElement("b"));
  return made;
}
