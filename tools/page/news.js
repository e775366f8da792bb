// Says aloud, to those who listen to the page, what constraints do since a while; what comes and goes at once is not said.
const STAYS = 0.7, MANY = 3;   // s; constraints that are named at once

export class News {
  constructor(box) { this.box = box; this.said = null; this.since = new Map(); }

  begin() { this.said = null; this.since.clear(); }

  words({ modes }) { this.modes = modes; this.look(); clearTimeout(this.later); if (this.since.size) this.later = setTimeout(() => this.words(this), 1000 * STAYS); }

  look() {
    const { modes } = this, now = performance.now() / 1000;
    if (!this.said) { this.said = { ...modes }; return; }
    const news = [];
    for (const [name, word] of Object.entries(modes)) {
      if (this.said[name] === word) { this.since.delete(name); continue; }
      const known = this.since.get(name);
      if (known?.word !== word) this.since.set(name, { word, t: now });
      else if (now - known.t > 0.9 * STAYS) { news.push(`${name}: ${word}`); this.said[name] = word; this.since.delete(name); }
    }
    if (news.length) this.box.textContent = news.slice(0, MANY).join(", ") + (news.length > MANY ? ` and ${news.length - MANY} more` : "");
  }
}
