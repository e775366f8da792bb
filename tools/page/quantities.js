// Plots of chosen quantities: each on a strip of its own, as they have units of their own. The choice is kept over a reload.
import { short } from "./amounts.js";
import { Plot } from "./plot.js";

const MOST = 6, INKS = ["--accent", "--kinetic"];

export class Quantities {
  constructor(box, choice, send) { this.box = box; this.choice = choice; this.send = send; this.strips = []; this.known = []; choice.onchange = () => this.add(); }

  begin(scene) {
    this.place = `polhode plots of ${scene.title}`;
    this.units = scene.units;
    this.known = Object.values(scene.quantities).flat();
    const first = new Option("Add a quantity", ""), groups = Object.entries(scene.quantities).filter(([, names]) => names.length).map(([label, names]) => {
      const made = Object.assign(document.createElement("optgroup"), { label });
      made.append(...names.map(name => new Option(name, name)));
      return made;
    });
    this.choice.replaceChildren(first, ...groups);
    this.choose(this.strips.length ? this.strips.map(strip => strip.name) : this.remembered());
  }

  remembered() {
    try { const found = JSON.parse(localStorage.getItem(this.place)); return Array.isArray(found) ? found : []; } catch { return []; }
  }
  remember(names) { try { localStorage.setItem(this.place, JSON.stringify(names)); } catch { /* it is not kept then */ } }

  add() {
    const name = this.choice.value; this.choice.value = "";
    if (name) this.choose([...this.strips.map(strip => strip.name), name]);
  }

  choose(names) {
    names = [...new Set(names)].filter(name => this.known.includes(name)).slice(0, MOST);
    const before = new Map(this.strips.map(strip => [strip.name, strip]));
    this.strips = names.map(name => before.get(name) || this.strip(name));
    this.box.replaceChildren(...this.strips.map(strip => strip.row));
    for (const option of this.choice.querySelectorAll("optgroup option")) option.disabled = names.includes(option.value);
    this.choice.disabled = names.length >= MOST;
    this.choice.options[0].text = names.length >= MOST ? `${MOST} are shown, which is all that fit` : "Add a quantity";
    this.remember(names);
    this.send({ do: "watch", names });
  }

  strip(name) {
    const row = document.createElement("div"), label = document.createElement("span"), value = document.createElement("b");
    const away = document.createElement("button"), canvas = document.createElement("canvas"), range = document.createElement("small");
    row.className = "strip"; row.dataset.name = name; label.textContent = label.title = name;
    away.textContent = "×"; away.title = `Do not plot ${name}`; away.setAttribute("aria-label", away.title);
    away.onclick = () => this.choose(this.strips.map(strip => strip.name).filter(each => each !== name));
    canvas.setAttribute("role", "img"); canvas.setAttribute("aria-label", `${name} over the last ten seconds`);
    row.append(label, value, away, canvas, range);
    return { name, unit: this.units[name] ?? "", row, value, range, plot: new Plot(canvas, [INKS[0]]), last: null };
  }

  watched({ t, values }) {
    if (values.length !== this.strips.length) return;   // of a choice that is no more
    this.strips.forEach((strip, k) => { strip.plot.add(t, values[k]); strip.last = values[k]; });
  }

  draw() {
    for (const { plot, value, range, last, unit } of this.strips) {
      plot.draw();
      const [low, high] = plot.range;
      const most = Math.max(Math.abs(low), Math.abs(high)), least = 1e-4 * (high - low);
      if (low <= high) { value.textContent = short(last, unit, 1e-6 * most); range.textContent = `${short(low, "", least)} to ${short(high, unit, least)}`; }
    }
  }
}
