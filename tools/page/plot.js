// Curves over the last seconds, on a canvas of their own.
export const SECONDS = 10;
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Plot {
  constructor(canvas, inks = ["--kinetic", "--potential", "--ink"]) { this.canvas = canvas; this.inks = inks; this.rows = []; }

  add(t, ...values) {
    const last = this.rows[this.rows.length - 1];
    if (last && t < last[0]) this.rows = [];
    if (!last || t !== last[0]) this.rows.push([t, ...values]);
    while (this.rows.length && this.rows[0][0] < t - SECONDS) this.rows.shift();
  }

  get range() {
    let low = Infinity, high = -Infinity;
    for (const row of this.rows) for (let k = 1; k < row.length; k++) if (row[k] !== null) { low = Math.min(low, row[k]); high = Math.max(high, row[k]); }
    return [low, high];
  }

  draw() {
    const { canvas, rows } = this, ratio = devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = canvas, pen = canvas.getContext("2d");
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0); pen.clearRect(0, 0, w, h);
    if (rows.length < 2) return;
    const [low, high] = this.range;
    if (low > high) return;
    const span = high - low, end = rows[rows.length - 1][0], x = t => w * (1 - (end - t) / SECONDS);
    const y = v => span > 0 ? h - 4 - (h - 8) * (v - low) / span : h / 2;
    if (low <= 0 && high >= 0) { pen.lineWidth = 1; pen.strokeStyle = css("--line"); pen.beginPath(); pen.moveTo(0, y(0)); pen.lineTo(w, y(0)); pen.stroke(); }
    [...this.inks.entries()].reverse().forEach(([k, ink]) => {      // the last, a sum, is a broad line behind the others
      const sum = k === 2;
      pen.strokeStyle = css(ink); pen.lineWidth = sum ? 4 : 1.6; pen.globalAlpha = sum ? 0.4 : 1; pen.beginPath();
      let down = false;
      for (const row of rows) {
        if (row[k + 1] === null) { down = false; continue; }
        if (down) pen.lineTo(x(row[0]), y(row[k + 1])); else pen.moveTo(x(row[0]), y(row[k + 1]));
        down = true;
      }
      pen.stroke(); pen.globalAlpha = 1;
    });
  }
}
