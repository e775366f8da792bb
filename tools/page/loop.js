// The loop beside the machine: how late its ticks began, how long they took, deadlines that it missed.
import { row } from "./rows.js";

const time = s => s < 1e-3 ? `${+(1e6 * s).toPrecision(2)} µs` : s < 1 ? `${+(1e3 * s).toPrecision(2)} ms` : `${+s.toPrecision(2)} s`;

export class Loop {
  constructor(box, pace) { this.box = box; this.pace = pace; this.rows = {}; }

  begin() {
    const made = name => { this.rows[name] = document.createElement("b"); return row(name, this.rows[name]); };
    this.note = Object.assign(document.createElement("p"), { className: "key" });
    this.box.replaceChildren(...["late, half of all ticks", "late, 99 %", "late at worst", "a tick takes", "the longest took", "missed deadlines"].map(made), this.note);
  }

  words({ loop }) {
    const { rows } = this, { late, worst, busy, longest, missed, ticks, period, rights } = loop;
    const said = [time(late[0]), time(late[1]), time(worst), time(busy), time(longest), missed.toLocaleString("en")];
    Object.values(rows).forEach((cell, k) => { cell.textContent = ticks ? said[k] : "–"; });
    this.note.textContent = `${ticks.toLocaleString("en")} ticks of ${time(period)}; ${rights || "not started"}`;
    this.pace.textContent = ticks && rights ? `late ${time(late[1])} (99 %)${missed ? `, ${missed.toLocaleString("en")} missed` : ""}` : "";
  }
}
