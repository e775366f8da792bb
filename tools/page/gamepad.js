// A gamepad on the page: it holds a body that was chosen, or pushes the device of a coupler, where there is one.
// A stick says how fast the hand moves, so that it moves no faster than SPEED; and the hand goes no further than REACH from
// what it holds, so that it pulls no more than that much spring.
import * as THREE from "three";
import { row } from "./rows.js";

const DEAD = 0.15, TURN = 1.5;                     // of a stick that rests; rad/s
const SPEED = 0.8, REACH = 0.5;                    // sizes of the machine a second, and sizes of the machine
const PRESSED = 0.4, RELEASED = 0.25;              // of a trigger
const BUZZ = 90, FELT = 0.08;                      // ms between rumbles, and the least that is worth one
const [A, Y, BEFORE, NEXT, START, UP, DOWN, TRIGGER] = [0, 3, 4, 5, 9, 12, 13, 7];  // of the standard mapping

export function stick(x, y) {                      // nothing where it rests, evenly from there on, no more than 1 in any direction
  const size = Math.hypot(x, y);
  if (!(size > DEAD)) return [0, 0];               // nor where it is no number
  const s = Math.min((size - DEAD) / (1 - DEAD), 1) / size;
  return [x * s, y * s];
}

export class Gamepad {
  constructor(box, { send, hands, camera, turn, toggle, play, say }) {
    Object.assign(this, { box, send, hands, camera, turn, toggle, play, say });
    this.index = null; this.hand = null; this.at = null; this.before = []; this.grips = false; this.force = 0; this.buzzed = 0; this.last = 0;
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.letGo(); });
    addEventListener("pagehide", () => this.letGo());
  }

  begin(scene) {
    this.about = scene; this.hand = this.at = null; this.grips = false;
    const { bodies, hosts } = scene, there = new Set(this.hands.machine.solid.map(mesh => mesh.userData.frame));
    this.choices = bodies.map((name, frame) => ({ name, frame })).filter(({ frame }) => there.has(frame) && hosts[frame] === frame);
    if (scene.pushed) this.choices.unshift({ name: `the device at ${scene.device}`, frame: null });
    this.body = this.select("Body of the gamepad", this.choices.map(each => each.name));
    this.body.onchange = () => this.letGo();
    this.constraint = this.select("Constraint of the gamepad", scene.switches);
    this.rumble = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    this.rumble.setAttribute("aria-label", "Rumble");
    this.index = null; this.show();                // it is looked for anew
  }

  words({ device }) { this.force = device ? device.force / (device.most ?? 20) : 0; }

  select(label, names) {
    const made = document.createElement("select");
    made.append(...names.map((name, k) => new Option(name, k))); made.setAttribute("aria-label", label);
    return made;
  }

  show(pad = null) {
    const hint = Object.assign(document.createElement("p"), { className: "key", textContent:
      "RT or A grips. Left stick: across and up; right stick: away, and turns the view. LB and RB: another body. Y switches what the cross has chosen. Start plays." });
    const known = Object.assign(document.createElement("p"), { className: "key", textContent: (pad?.id ?? "").slice(0, 80) });
    const rows = [known, row("Body", this.body), ...(this.about.switches.length ? [row("Switch", this.constraint)] : []), row("Rumble", this.rumble)];
    this.box.replaceChildren(...(this.index === null ? [] : [...rows, hint]));
  }

  // ---- each picture: what it says now
  poll(now) {
    if (!this.about) return;
    const pad = [...(navigator.getGamepads?.() ?? [])].find(each => each?.connected && each.axes.length > 1 && each.buttons.length);
    const passed = Math.min((now - this.last) / 1000, 0.05); this.last = now;
    if (!pad) { if (this.index !== null) { this.letGo(); this.index = null; this.show(); this.say("The gamepad is gone."); } return; }
    const values = pad.buttons.map(button => button.value || Number(button.pressed));
    if (pad.index !== this.index) { this.letGo(); this.index = pad.index; this.before = values; this.grips = true; this.show(pad); }
    const pressed = k => (values[k] ?? 0) > 0.5 && !((this.before[k] ?? 0) > 0.5);
    if (pad.mapping === "standard") {
      for (const [button, choice, step] of [[BEFORE, this.body, -1], [NEXT, this.body, 1], [UP, this.constraint, -1], [DOWN, this.constraint, 1]])
        if (pressed(button)) this.another(choice, step);
      if (pressed(Y) && this.about.switches.length) this.toggle(this.about.switches[this.constraint.value]);
      if (pressed(START)) this.play();
    }
    this.before = values;
    const held = Math.max(values[A] ?? 0, pad.mapping === "standard" ? values[TRIGGER] ?? 0 : 0);
    const grips = held > (this.grips ? RELEASED : PRESSED);
    if (grips && !this.grips) this.grip();         // anew: what was held down when it came does not grip
    if (!grips && this.grips) this.letGo();
    this.grips = grips;
    this.move(stick(pad.axes[0], pad.axes[1]), stick(pad.axes[2] ?? 0, pad.axes[3] ?? 0), passed);
    this.feel(pad, now);
  }

  another(choice, step) {
    const many = choice.options.length;
    if (many) { choice.selectedIndex = (choice.selectedIndex + step + many) % many; choice.onchange?.(); }
  }

  grip() {
    const chosen = this.choices[this.body.selectedIndex];
    if (!chosen) return;
    if (chosen.frame === null) { this.at = new THREE.Vector3(); return; }
    const { machine } = this.hands, middle = machine.middle(chosen.frame);
    this.hand = this.hands.grab(chosen.frame, machine.groups[chosen.frame].worldToLocal(middle.clone()), middle);
  }

  letGo() {
    if (this.hand) this.hands.drop(this.hand);
    if (this.at) this.send({ do: "push", point: this.at.toArray(), grip: false });
    if (this.hand || this.at) this.actuator?.reset?.()?.catch?.(() => {});
    this.hand = this.at = null;
  }

  move([across, down], [aside, towards], passed) {
    if (aside) this.turn(-aside * TURN * passed, 0);
    if (this.hand && !this.hands.held.has(this.hand)) this.hand = null;      // the connection was lost, and with it the hand
    const to = this.hand?.target ?? this.at;
    if (!to) return;
    const [right, up, back] = [0, 1, 2].map(k => new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, k));
    const wish = right.multiplyScalar(across).addScaledVector(up, -down).addScaledVector(back, towards).clampLength(0, 1);
    const next = to.clone().addScaledVector(wish, SPEED * this.about.size * passed), reach = REACH * this.about.size;
    if (this.at) {
      this.at.copy(next.clampLength(0, 4 * reach));
      this.send({ do: "push", point: this.at.toArray(), grip: true });       // each time: it is stale where it says nothing
    } else {
      const from = this.hands.point(this.hand), away = next.clone().sub(from);
      if (away.length() > reach) next.copy(from).add(away.clampLength(0, reach));
      if (next.distanceToSquared(to) > 0) this.hands.move(this.hand, next);
    }
  }

  feel(pad, now) {                                 // the pull, as weakly as motors off their axes can tell it
    this.actuator = pad.vibrationActuator;
    const pull = this.hand ? this.hands.point(this.hand).distanceTo(this.hand.target) / (REACH * this.about.size) : this.at ? this.force : 0;
    if (!this.rumble.checked || !(pull > FELT) || now - this.buzzed < BUZZ) return;
    this.buzzed = now;
    const size = Math.min(pull, 1);
    this.actuator?.playEffect?.("dual-rumble", { duration: 1.5 * BUZZ, strongMagnitude: size * size, weakMagnitude: size / 2 })?.catch?.(() => {});
  }
}
