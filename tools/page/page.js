// The live page of `polhode view`: draws what the server sends, and sends what hands do.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { short } from "./amounts.js";
import { Device } from "./device.js";
import { Gamepad } from "./gamepad.js";
import { Hands } from "./hands.js";
import { Equations } from "./equations.js";
import { Forces } from "./forces.js";
import { Loop } from "./loop.js";
import { Machine } from "./machine.js";
import { Modes } from "./modes.js";
import { News } from "./news.js";
import { Parameters } from "./parameters.js";
import { Plot } from "./plot.js";
import { Quantities } from "./quantities.js";
import { row, slider } from "./rows.js";
import { Show } from "./show.js";

const $ = id => document.getElementById(id), canvas = $("canvas");
const renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
const camera = new THREE.PerspectiveCamera(28, 1, 0.01, 1000);
camera.up.set(0, 0, 1);
const orbit = new OrbitControls(camera, canvas), plot = new Plot($("plot"));
let machine = null, scene = null, head = { running: 0, t: 0 }, modes = {}, fresh = false, fitted = false, socket = null;

// ---- the socket: text for what changes now and then, bytes for pictures
function connect() {
  const at = new URL("socket", location.href); at.protocol = at.protocol.replace("http", "ws"); at.search = location.search;
  socket = new WebSocket(at); socket.binaryType = "arraybuffer";
  let had = 0;
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) { picture(data); send({ do: "seen", value: ++had }); return; }
    const found = JSON.parse(data);
    if (found.scene) begin(found.scene);
    if (found.words) words(found.words);
    if (found.refused) say(found.refused);
    for (const part of panel) for (const what in found) if (what !== "words") part[what]?.(found[what]);
  };
  socket.onclose = ({ code }) => {
    hand.begin(); hands.clear(); ended = code === 1001 || (code === 1006 && ended);
    say(ended ? "The program behind this page has ended. Once it is started again at this address, the page goes on." : "The connection is lost. Trying again.");
    setTimeout(connect, 1000);
  };
}
function send(message) { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); }
let quiet = 0, ended = false;
function say(text, keep = false, calm = false) { $("said").textContent = text; $("said").classList.toggle("calm", calm); clearTimeout(quiet); if (text && !keep) quiet = setTimeout(() => say(""), 6000); }

function begin(found) {
  scene = found; fitted = false; machine = new Machine(scene); hands.begin(machine); hand.begin();
  $("cell").textContent = `grid ${machine.cell} m`;
  document.title = `${scene.title} · Polhode`; $("title").textContent = scene.title;
  $("switches").replaceChildren(...scene.switches.map(switchFor));
  $("inputs").replaceChildren(...scene.inputs.map(name => slider(name, { low: scene.ranges[name][0], high: scene.ranges[name][1], unit: scene.efforts[name], set: value => send({ do: "input", name, value }) })));
  for (const part of panel) part.begin(scene);
  if (parent !== window) parent.postMessage("polhode: here", "*");  // a notebook, which shows a picture where nothing answers
  say("");
}
function picture(data) {
  const numbers = new Float64Array(data, 0, scene.head.length);
  scene.head.forEach((name, k) => { head[name] = numbers[k]; });
  const first = 8 * scene.head.length, floats = new Float32Array(data, first), many = 7 * scene.bodies.length;
  machine.place(floats.subarray(0, many), head); forces.take(floats.subarray(many));
  plot.add(head.t, head.kinetic, head.potential, head.kinetic + head.potential);
  if (!fitted) { fit(); fitted = true; }
  fresh = true;
}
let failure = "";
function words(found) {
  modes = found.modes; machine.acts(modes);
  for (const row of $("switches").children) {
    const button = row.querySelector("button"), word = modes[row.dataset.name];
    button.textContent = word; button.setAttribute("aria-checked", word !== "released");
    button.classList.toggle("acts", word !== "released" && word !== "open");
  }
  for (const row of $("inputs").children) row.show(found.inputs[row.dataset.name]);
  for (const part of panel) part.words?.(found);
  if (found.failure !== failure) { failure = found.failure; say(failure, true); }
}

// ---- the parts of the side panel that look after themselves
const hands = new Hands(send);
const gamepad = new Gamepad($("gamepad"), { send, hands, camera, turn: turnBy, toggle, play: () => $("play").click(), say });
const forces = new Forces($("forces"), $("scale"));
const panel = [
  new Device($("device")), gamepad,
  new Parameters($("parameters"), send), new Quantities($("plots"), $("quantity"), send), new News($("news")),
  new Show($("show"), $("trail"), $("trailed"), forces, () => machine, send, $("cell")),
  new Loop($("loop"), $("pace")),
  new Modes($("modes"), send, say), new Equations($("equations"), send),
];

// ---- what can be set
function switchFor(name) {
  const button = document.createElement("button");
  button.className = "switch"; button.setAttribute("role", "switch"); button.setAttribute("aria-label", name);
  button.onclick = () => toggle(name);
  return row(name, button);
}
function toggle(name) { send({ do: modes[name] === "released" ? "engage" : "release", name }); }
$("play").onclick = () => send({ do: head.running ? "pause" : "play" });
$("step").onclick = () => send({ do: "step" });
$("reset").onclick = () => send({ do: "reset" });
$("fit").onclick = fit;
$("speed").onchange = () => send({ do: "speed", value: +$("speed").value });
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  if (hand.key(event)) { event.preventDefault(); return; }
  const turn = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
  if (event.key === " " && !event.target.matches("button")) $("play").click();
  else if (event.key === ".") $("step").click();
  else if (event.key === "r") $("reset").click();
  else if (event.key === "f") fit();
  else if (turn && event.target === canvas) event.shiftKey ? shiftBy(...turn) : turnBy(...turn);
  else if ("+=-".includes(event.key)) zoomBy(event.key === "-" ? 1.1 : 1 / 1.1);
  else return;
  event.preventDefault();
});

// ---- where it is seen from
function fit() {
  if (!machine) return;
  const box = machine.extent(), center = box.getCenter(new THREE.Vector3()), { yaw, pitch, size } = scene, tilt = Math.max(pitch, 0.15), half = camera.fov * Math.PI / 360;
  const back = new THREE.Vector3(Math.sin(yaw) * Math.cos(tilt), -Math.cos(yaw) * Math.cos(tilt), Math.sin(tilt)), right = new THREE.Vector3(Math.cos(yaw), Math.sin(yaw), 0), up = back.clone().cross(right);
  let far = 0.86 * size / Math.sin(half) / Math.min(1, camera.aspect);   // room to move
  for (let k = 0; k < 8; k++) {                                          // and every corner within the view
    const p = new THREE.Vector3(...["x", "y", "z"].map((d, i) => box[k >> i & 1 ? "max" : "min"][d])).sub(center);
    far = Math.max(far, p.dot(back) + 1.15 * Math.max(Math.abs(p.dot(up)), Math.abs(p.dot(right)) / camera.aspect) / Math.tan(half));
  }
  orbit.target.copy(center);
  camera.position.copy(back).multiplyScalar(far).add(center);
  camera.near = far / 100; camera.far = far * 30; camera.updateProjectionMatrix(); orbit.update();
}
function turnBy(across, up) {
  const way = new THREE.Spherical().setFromVector3(camera.position.clone().sub(orbit.target).applyAxisAngle(new THREE.Vector3(1, 0, 0), -Math.PI / 2));
  way.theta += across; way.phi = Math.min(Math.max(way.phi + up, 0.05), Math.PI - 0.05);
  camera.position.setFromSpherical(way).applyAxisAngle(new THREE.Vector3(1, 0, 0), Math.PI / 2).add(orbit.target); orbit.update();
}

function zoomBy(far) { camera.position.sub(orbit.target).multiplyScalar(far).add(orbit.target); orbit.update(); }
function shiftBy(across, up) {
  const far = camera.position.distanceTo(orbit.target), way = new THREE.Vector3(across, up, 0).multiplyScalar(-0.5 * far).applyQuaternion(camera.quaternion);
  camera.position.add(way); orbit.target.add(way); orbit.update();
}

// ---- pointers: what each takes is pulled in the plane that faces the viewer; two fingers may have two bodies
const hand = {
  ray: new THREE.Raycaster(), pointers: new Map(), keys: null,
  begin() { this.pointers.clear(); this.keys = null; },
  aim(x, y) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    this.ray.setFromCamera(new THREE.Vector2(2 * (x - left) / width - 1, 1 - 2 * (y - top) / height), camera);
  },
  find(event) {            // what is under the pointer, or near it: bars are thin
    const reach = event.pointerType === "touch" ? 18 : 8;
    for (const r of [0, reach / 2, reach]) for (let k = 0; k < (r ? 8 : 1); k++) {
      this.aim(event.clientX + r * Math.cos(k * Math.PI / 4), event.clientY + r * Math.sin(k * Math.PI / 4));
      const [hit] = this.ray.intersectObjects(machine.solid, false);
      if (hit) return hit;
    }
    return null;
  },
  down(event) {
    if (!machine || event.button || this.pointers.has(event.pointerId)) return;
    const hit = this.find(event);
    if (!hit) return;
    event.stopImmediatePropagation();              // the view stays
    canvas.setPointerCapture(event.pointerId); canvas.focus({ preventScroll: true });
    const frame = hit.object.userData.frame, held = hands.grab(frame, machine.groups[frame].worldToLocal(hit.point.clone()), hit.point);
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(camera.getWorldDirection(new THREE.Vector3()), hit.point);
    if (held) this.pointers.set(event.pointerId, { held, plane });
  },
  move(event) {
    const pointer = this.pointers.get(event.pointerId), target = new THREE.Vector3();
    if (!pointer) return;
    this.aim(event.clientX, event.clientY);
    if (this.ray.ray.intersectPlane(pointer.plane, target)) hands.move(pointer.held, target);
  },
  up(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (pointer && this.pointers.delete(event.pointerId)) hands.drop(pointer.held);
  },
  key(event) {             // H takes hold of one body after the other; arrow keys pull, escape lets go
    const pulled = this.keys && hands.held.has(this.keys) ? this.keys : null;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "Escape" && hands.held.size) { for (const held of [...hands.held]) hands.drop(held); this.begin(); say("Let go.", false, true); return true; }
    if (event.key.toLowerCase() === "h" && machine && (pulled || !hands.held.size)) { this.next(pulled); return true; }
    if (!way || !pulled || event.target !== canvas) return false;
    hands.move(pulled, pulled.target.clone().add(new THREE.Vector3(...way, 0).multiplyScalar((event.shiftKey ? 0.1 : 0.025) * scene.size).applyQuaternion(camera.quaternion)));
    return true;
  },
  next(pulled) {
    const frames = [...new Set(machine.solid.map(each => each.userData.frame))].sort((a, b) => a - b);
    if (!frames.length) return;
    const frame = frames.find(each => each > (pulled?.frame ?? 0)) ?? frames[0], target = machine.middle(frame);
    if (pulled) hands.drop(pulled);
    this.keys = hands.grab(frame, machine.groups[frame].worldToLocal(target.clone()), target); canvas.focus();
    say(`${scene.bodies[frame]} is held: arrow keys pull it, with shift farther; H takes the next, escape lets go.`, false, true);
  },
};
canvas.addEventListener("pointerdown", event => hand.down(event), { capture: true });
canvas.addEventListener("pointermove", event => hand.move(event));
for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, event => hand.up(event));

// ---- pictures
function draw(now) {
  requestAnimationFrame(draw);
  const { clientWidth: w, clientHeight: h } = canvas, ratio = Math.min(devicePixelRatio || 1, 2);
  if (canvas.width !== Math.floor(w * ratio) || canvas.height !== Math.floor(h * ratio)) {
    renderer.setPixelRatio(ratio); renderer.setSize(w, h, false); camera.aspect = w / Math.max(h, 1); camera.updateProjectionMatrix();
  }
  if (!machine) return;
  gamepad.poll(now ?? 0); hands.draw(); forces.draw(camera, orbit.target, h);
  renderer.render(machine.root, camera);
  if (!fresh) return;
  fresh = false; plot.draw(); for (const part of panel) part.draw?.();
  $("clock").textContent = `${head.t.toFixed(2)} s`;
  $("play").textContent = head.running ? "Pause" : "Play"; $("step").disabled = Boolean(head.running);
  if (document.activeElement !== $("speed")) $("speed").value = head.speed;
  const [low, high] = plot.range, least = 1e-9 * Math.max(Math.abs(low), Math.abs(high)), joules = x => short(x, "J", least);
  const told = { kinetic: head.kinetic, potential: head.potential, ink: head.kinetic + head.potential };
  $("energies").innerHTML = Object.entries(told).map(([ink, x]) => `<span><b style="color:var(--${ink})">${ink === "ink" ? "total" : ink}</b> ${joules(x)}</span>`).join(" ") +
    (low < high ? ` <span>(${joules(low).replace(" J", "")} to ${joules(high)})</span>` : "");
}

// what scripts may look at: the numbers of the last picture, where frames are, and where a point of one is on the page
window.polhode = {
  get head() { return { ...head }; },
  get modes() { return { ...modes }; },
  get scene() { return scene; },
  right() { return new THREE.Vector3().setFromMatrixColumn(camera.matrixWorld, 0).toArray(); },
  get arrows() { return forces.drawn.filter(each => each.visible).map(({ name, position, userData }) => ({ name, at: position.toArray(), ...userData })); },
  get axes() { return machine.groups.flatMap(group => group.children).filter(each => each.visible && each.name).map(each => each.name); },
  get trails() { return machine.trails.all.filter(({ line }) => line.visible).map(({ frame, seen }) => [frame, seen.length]); },
  place(frame) { return machine.groups[frame].position.toArray(); },
  pixel(frame, point = [0, 0, 0]) {
    camera.updateMatrixWorld();
    const p = machine.groups[frame].localToWorld(new THREE.Vector3(...point)).project(camera), { left, top, width, height } = canvas.getBoundingClientRect();
    return [left + (p.x + 1) / 2 * width, top + (1 - p.y) / 2 * height];
  },
};
connect(); draw();
