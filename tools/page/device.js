// What a device on a Link does: the marker that it holds, the force that it shows, and what is wrong with it.
import { row } from "./rows.js";

export class Device {
  constructor(box) { this.box = box; this.word = null; }

  begin(scene) {
    this.word = document.createElement("span");
    this.box.replaceChildren(...(scene.device ? [row(scene.device, this.word)] : []));
  }

  words({ device }) {
    if (!device || !this.word) return;
    this.word.textContent = device.failure || (device.holds ? `holds, ${device.force.toPrecision(2)} N` : "lets go");
    this.word.title = device.failure;
  }
}
