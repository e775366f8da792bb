// What is drawn beside the machine: forces, axes, trails, the grid. The choice is kept over a reload.
import { Axes } from "./axes.js";

const WHAT = { forces: "Forces", frames: "Frames", trails: "Trails", grid: "Grid" }, MOST = 8;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Show {
  constructor(box, choice, chosen, forces, machineOf, send, cell) {
    Object.assign(this, { box, choice, chosen, forces, machineOf, send, cell, axes: new Axes(), boxes: {}, state: null });
    for (const [what, said] of Object.entries(WHAT)) {
      const label = document.createElement("label"), tick = Object.assign(document.createElement("input"), { type: "checkbox", id: `show-${what}` });
      tick.onchange = () => { this.state[what] = tick.checked; this.act(); };
      label.append(tick, said); box.append(label); this.boxes[what] = tick;
    }
    choice.onchange = () => { const name = choice.value; choice.value = ""; if (name) { this.state.trailed.push(name); this.state.trails = true; this.act(); } };
  }

  begin(scene) {
    const machine = this.machineOf();
    this.place = `polhode shows of ${scene.title}`;
    this.axes.begin(scene, machine); this.forces.begin(scene, machine);
    this.state = { forces: false, frames: false, trails: !calm.matches, grid: true, trailed: [], ...this.remembered() };
    const moving = scene.axes.filter(each => each.frame && scene.hosts[each.frame]);
    this.known = new Map(moving.map(each => [each.name, each]));
    const group = (label, kind) => {
      const made = Object.assign(document.createElement("optgroup"), { label });
      made.append(...moving.filter(each => each.kind === kind).map(each => new Option(each.name, each.name)));
      return made.children.length ? [made] : [];
    };
    this.choice.replaceChildren(new Option("Add a trail", ""), ...group("Bodies, at their centres of mass", "body"), ...group("Markers", "marker"));
    this.choice.disabled = !moving.length;
    this.act();
  }

  remembered() {
    try { const found = JSON.parse(localStorage.getItem(this.place)); return found && Array.isArray(found.trailed) ? found : {}; } catch { return {}; }
  }

  act() {
    const { state, forces, axes, known } = this, machine = this.machineOf();
    state.trailed = [...new Set(state.trailed)].filter(name => known.has(name)).slice(0, MOST);
    for (const what in WHAT) this.boxes[what].checked = state[what];
    try { localStorage.setItem(this.place, JSON.stringify(state)); } catch { /* it is not kept then */ }
    forces.show(state.forces); axes.show(state.frames); machine.grid.visible = state.grid; this.cell.hidden = !state.grid;
    machine.trails.choose(state.trailed.map(name => {
      const { frame, pose, middle } = known.get(name);
      return { bodies: [frame], points: [middle ?? pose.slice(0, 3).map(row => row[3])] };
    }));
    machine.trails.show(state.trails); machine.tint();
    for (const option of this.choice.querySelectorAll("optgroup option")) option.disabled = state.trailed.includes(option.value);
    this.chosen.replaceChildren(...state.trailed.map(name => {
      const button = Object.assign(document.createElement("button"), { textContent: `${name} ×`, title: `No trail of ${name}` });
      button.setAttribute("aria-label", button.title);
      button.onclick = () => { state.trailed = state.trailed.filter(each => each !== name); this.act(); this.choice.focus(); };
      return button;
    }));
    this.send({ do: "show", names: state.forces ? ["forces"] : [] });
  }
}
