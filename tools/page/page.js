// The live page of `polhode view`: draws what the server sends, and sends what hands do.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Machine } from "./machine.js";
import { Plot } from "./plot.js";

const $ = id => document.getElementById(id), canvas = $("canvas");
const renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
const camera = new THREE.PerspectiveCamera(28, 1, 0.01, 1000);
camera.up.set(0, 0, 1);
const orbit = new OrbitControls(camera, canvas), plot = new Plot($("plot"));
let machine = null, scene = null, head = { running: 0, t: 0 }, modes = {}, held = null, fresh = false, fitted = false, socket = null;

// ---- the socket: text for what changes now and then, bytes for pictures
function connect() {
  const at = new URL("socket", location.href); at.protocol = at.protocol.replace("http", "ws"); at.search = location.search;
  socket = new WebSocket(at); socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) return picture(data);
    const found = JSON.parse(data);
    if (found.scene) begin(found.scene);
    if (found.words) words(found.words);
    if (found.refused) say(found.refused);
  };
  socket.onclose = () => { held = null; say("The connection is lost. Trying again."); setTimeout(connect, 1000); };
}
function send(message) { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); }
let quiet = 0;
function say(text, keep = false) { $("said").textContent = text; clearTimeout(quiet); if (text && !keep) quiet = setTimeout(() => say(""), 6000); }

function begin(found) {
  scene = found; fitted = false; machine = new Machine(scene); hand.begin();
  document.title = `${scene.title} · Polhode`; $("title").textContent = scene.title;
  $("switches").replaceChildren(...scene.switches.map(switchFor));
  $("inputs").replaceChildren(...scene.inputs.map(sliderFor));
  say("");
}
function picture(data) {
  const numbers = new Float64Array(data, 0, scene.head.length);
  scene.head.forEach((name, k) => { head[name] = numbers[k]; });
  machine.place(new Float32Array(data, 8 * scene.head.length), head);
  plot.add(head.t, head.kinetic, head.potential);
  if (!fitted) { fit(); fitted = true; }
  fresh = true;
}
let failure = "";
function words(found) {
  modes = found.modes; machine.acts(modes);
  for (const row of $("switches").children) {
    const button = row.querySelector("button"), word = modes[row.dataset.name];
    button.textContent = word; button.setAttribute("aria-checked", word !== "released");
  }
  for (const row of $("inputs").children) row.show(found.inputs[row.dataset.name]);
  $("late").textContent = found.lateness;
  if (found.failure !== failure) { failure = found.failure; say(failure, true); }
}

// ---- what can be set
function row(name, ...children) {
  const made = document.createElement("div"), label = document.createElement("span");
  made.className = "row"; made.dataset.name = name; label.textContent = label.title = name;
  made.append(label, ...children);
  return made;
}
function switchFor(name) {
  const button = document.createElement("button");
  button.className = "switch"; button.setAttribute("role", "switch"); button.setAttribute("aria-label", name);
  button.onclick = () => send({ do: modes[name] === "released" ? "engage" : "release", name });
  return row(name, button);
}
function sliderFor(name) {
  const make = type => Object.assign(document.createElement("input"), { type, step: "any", value: 0 });
  const number = make("number"), slider = Object.assign(make("range"), { min: -10, max: 10 });
  const set = value => { if (Number.isFinite(value)) send({ do: "input", name, value }); };
  number.setAttribute("aria-label", name); slider.setAttribute("aria-label", `${name}, slider`);
  number.onchange = () => set(number.valueAsNumber);
  slider.oninput = () => { number.value = slider.value; set(slider.valueAsNumber); };
  slider.ondblclick = () => set(0);
  const made = row(name, number, slider);
  made.show = value => {
    const reach = Math.max(+slider.max, Math.abs(value)); slider.min = -reach; slider.max = reach;
    if (document.activeElement !== number && +number.value !== value) number.value = +value.toPrecision(6);
    if (!slider.matches(":active")) slider.value = value;
  };
  return made;
}
$("play").onclick = () => send({ do: head.running ? "pause" : "play" });
$("step").onclick = () => send({ do: "step" });
$("reset").onclick = () => send({ do: "reset" });
$("fit").onclick = fit;
$("speed").onchange = () => send({ do: "speed", value: +$("speed").value });
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  const turn = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
  if (event.key === " " && !event.target.matches("button")) $("play").click();
  else if (event.key === ".") $("step").click();
  else if (event.key === "r") $("reset").click();
  else if (event.key === "f") fit();
  else if (turn && event.target === canvas) turnBy(...turn);
  else return;
  event.preventDefault();
});

// ---- where it is seen from
function fit() {
  if (!machine) return;
  const { center, radius } = machine.extent(), { yaw, pitch, size } = scene, r = Math.max(radius, 0.75 * size);
  const narrow = Math.min(1, camera.aspect), far = 1.15 * r / Math.sin(camera.fov * Math.PI / 360) / narrow;
  const tilt = Math.max(pitch, 0.15);
  orbit.target.copy(center);
  camera.position.set(Math.sin(yaw) * Math.cos(tilt), -Math.cos(yaw) * Math.cos(tilt), Math.sin(tilt)).multiplyScalar(far).add(center);
  camera.near = far / 100; camera.far = far * 30; camera.updateProjectionMatrix(); orbit.update();
}
function turnBy(across, up) {
  const way = new THREE.Spherical().setFromVector3(camera.position.clone().sub(orbit.target).applyAxisAngle(new THREE.Vector3(1, 0, 0), -Math.PI / 2));
  way.theta += across; way.phi = Math.min(Math.max(way.phi + up, 0.05), Math.PI - 0.05);
  camera.position.setFromSpherical(way).applyAxisAngle(new THREE.Vector3(1, 0, 0), Math.PI / 2).add(orbit.target); orbit.update();
}

// ---- a hand: what is taken is pulled in the plane that faces the viewer
const hand = {
  ray: new THREE.Raycaster(), plane: new THREE.Plane(), line: null,
  begin() {
    held = null;
    const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3));
    this.line = machine.add(new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: "#e0473e" })));
    this.line.frustumCulled = this.line.visible = false;
  },
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
    if (!machine || event.button || held) return;
    const hit = this.find(event);
    if (!hit) return;
    event.stopImmediatePropagation();              // the view stays
    canvas.setPointerCapture(event.pointerId); canvas.focus({ preventScroll: true });
    const frame = hit.object.userData.frame, local = machine.groups[frame].worldToLocal(hit.point.clone());
    this.plane.setFromNormalAndCoplanarPoint(camera.getWorldDirection(new THREE.Vector3()), hit.point);
    held = { pointer: event.pointerId, frame, local, target: hit.point.clone(), sent: true };
    send({ do: "grab", frame, point: local.toArray() });
  },
  move(event) {
    if (!held || event.pointerId !== held.pointer) return;
    this.aim(event.clientX, event.clientY);
    if (this.ray.ray.intersectPlane(this.plane, held.target)) held.sent = false;
  },
  up(event) { if (held && event.pointerId === held.pointer) { held = null; send({ do: "drop" }); } },
  draw() {
    if (held && !held.sent) { held.sent = true; send({ do: "drag", point: held.target.toArray() }); }
    if (!this.line) return;
    this.line.visible = Boolean(held);
    if (held) machine.write(this.line.geometry, [machine.groups[held.frame].localToWorld(held.local.clone()), held.target]);
  },
};
canvas.addEventListener("pointerdown", event => hand.down(event), { capture: true });
canvas.addEventListener("pointermove", event => hand.move(event));
for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, event => hand.up(event));

// ---- pictures
function draw() {
  requestAnimationFrame(draw);
  const { clientWidth: w, clientHeight: h } = canvas, ratio = Math.min(devicePixelRatio || 1, 2);
  if (canvas.width !== Math.floor(w * ratio) || canvas.height !== Math.floor(h * ratio)) {
    renderer.setPixelRatio(ratio); renderer.setSize(w, h, false); camera.aspect = w / Math.max(h, 1); camera.updateProjectionMatrix();
  }
  if (!machine) return;
  hand.draw();
  renderer.render(machine.root, camera);
  if (!fresh) return;
  fresh = false; plot.draw();
  $("clock").textContent = `${head.t.toFixed(2)} s`;
  $("play").textContent = head.running ? "Pause" : "Play"; $("step").disabled = Boolean(head.running);
  if (document.activeElement !== $("speed")) $("speed").value = head.speed;
  const joules = x => `${+x.toPrecision(4)} J`;
  $("energies").innerHTML = `<b style="color:var(--kinetic)">kinetic</b> ${joules(head.kinetic)} · <b style="color:var(--potential)">potential</b> ${joules(head.potential)} · <b style="color:var(--ink)">total</b> ${joules(head.kinetic + head.potential)}`;
}

// what scripts may look at: the numbers of the last picture, where frames are, and where a point of one is on the page
window.polhode = {
  get head() { return { ...head }; },
  get modes() { return { ...modes }; },
  get scene() { return scene; },
  place(frame) { return machine.groups[frame].position.toArray(); },
  pixel(frame, point = [0, 0, 0]) {
    camera.updateMatrixWorld();
    const p = machine.groups[frame].localToWorld(new THREE.Vector3(...point)).project(camera), { left, top, width, height } = canvas.getBoundingClientRect();
    return [left + (p.x + 1) / 2 * width, top + (1 - p.y) / 2 * height];
  },
};
connect(); draw();
