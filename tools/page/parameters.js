// Sliders for the parameters that are not compiled in: from nothing to twice what each is at first.
import { slider } from "./rows.js";

export class Parameters {
  constructor(box, send) { this.box = box; this.send = send; }

  begin(scene) {
    this.box.replaceChildren(...Object.entries(scene.parameters).map(([name, first]) => slider(name, {
      first, low: first > 0 ? 0 : first < 0 ? 2 * first : -1, high: first > 0 ? 2 * first : first < 0 ? 0 : 1,
      set: value => this.send({ do: "parameter", name, value }),
    })));
  }

  words(found) { for (const row of this.box.children) row.show(found.parameters[row.dataset.name]); }
}
