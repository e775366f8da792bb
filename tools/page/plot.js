// Energy over the last seconds, on a canvas of its own.
const SECONDS = 10, css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Plot {
  constructor(canvas) { this.canvas = canvas; this.rows = []; }

  add(t, kinetic, potential) {
    const last = this.rows[this.rows.length - 1];
    if (last && t < last[0]) this.rows = [];
    if (!last || t !== last[0]) this.rows.push([t, kinetic, potential, kinetic + potential]);
    while (this.rows.length && this.rows[0][0] < t - SECONDS) this.rows.shift();
  }

  draw() {
    const { canvas, rows } = this, ratio = devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = canvas, pen = canvas.getContext("2d");
    if (canvas.width !== Math.round(w * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0); pen.clearRect(0, 0, w, h);
    if (rows.length < 2) return;
    let low = Infinity, high = -Infinity;
    for (const [, ...values] of rows) for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); }
    const span = high - low || 1, end = rows[rows.length - 1][0], x = t => w * (1 - (end - t) / SECONDS), y = v => h - 4 - (h - 8) * (v - low) / span;
    if (low <= 0 && high >= 0) { pen.lineWidth = 1; pen.strokeStyle = css("--line"); pen.beginPath(); pen.moveTo(0, y(0)); pen.lineTo(w, y(0)); pen.stroke(); }
    pen.lineWidth = 1.6;
    [["--kinetic", 1], ["--potential", 2], ["--ink", 3]].forEach(([ink, k]) => {
      pen.strokeStyle = css(ink); pen.beginPath();
      for (const row of rows) pen.lineTo(x(row[0]), y(row[k]));
      pen.stroke();
    });
  }
}
