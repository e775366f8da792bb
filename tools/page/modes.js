// The graph of modes, the active one lit: boxes of what holds, lines for what leads from one to another, and a list.
const STYLE = `
  #modes svg { display: block; margin: 6px auto 2px; } #modes .graph { overflow-x: auto; }
  #modes .mode { margin: 0; } #modes .mode b { font-weight: 600; } #modes small { display: block; color: var(--dim); font-size: 12px; }
  #modes line { stroke: var(--line); } #modes line.near { stroke: var(--dim); stroke-width: 1.4; } #modes line.went { stroke: var(--accent); stroke-width: 1.6; }
  #modes line.went:not(.near) { stroke-opacity: 0.55; }
  #modes rect { fill: var(--paper); stroke: var(--dim); } #modes g.seen rect { stroke: var(--accent); } #modes g.now rect { fill: var(--accent); stroke: var(--accent); }
  #modes g.alone rect { stroke-dasharray: 3 2; stroke: var(--line); } #modes g.go { cursor: pointer; } #modes g.go:hover rect { stroke-width: 2; }
  #modes text { font-size: 10px; fill: var(--ink); text-anchor: middle; } #modes g.now text { fill: #fff; } #modes g.alone text { fill: var(--dim); }
  @media (prefers-color-scheme: dark) { #modes g.now text { fill: #10151b; } }
  #modes text.times { font-size: 9px; fill: var(--accent); paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
  #modes summary { cursor: pointer; font-size: 12px; color: var(--dim); margin-top: 4px; } #modes ol { margin: 4px 0 0; padding: 0; list-style: none; }
  #modes li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 8px; align-items: center; font-size: 13px; padding: 2px 0; } #modes li[aria-current] { font-weight: 600; }
  #modes li button { font: inherit; font-weight: 400; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 7px; padding: 1px 8px; cursor: pointer; }
`;
const MARKS = { slips: "~", slides: "~", lower: "−", upper: "+" }, IDLE = ["open", "released"], WIDTH = 256, LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", LISTED = 64, NAMED = 6;
const svg = (tag, given, ...inside) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...inside); return made;
};
const html = (tag, given, ...inside) => { const made = Object.assign(document.createElement(tag), given); made.append(...inside); return made; };
const times = k => k === 1 ? "once" : `${k} times`, many = (k, one) => `${k.toLocaleString("en")} ${one}${k === 1 ? "" : "s"}`;

export class Modes {
  constructor(box, send, say) {
    document.head.append(html("style", { textContent: STYLE }));
    this.box = box; this.send = send; this.say = say;
    this.name = html("p", { className: "mode" }); this.graph = html("div", { className: "graph" });
    this.list = html("ol", {}); this.summary = html("summary", {}); this.more = html("details", {}, this.summary, this.list);
    box.append(this.name, this.graph, this.more);
    addEventListener("resize", () => this.rest());
  }

  begin(scene) {
    this.known = new Map(); this.rest();
    const section = this.box.closest("section"), said = Object.keys(scene.graph.words).length ? "Modes" : "Operations";
    section.querySelector("h2").textContent = said; section.setAttribute("aria-label", said);
    this.given = scene.graph; this.names = Object.keys(this.given.words); this.sign = ""; this.asked = "";
    this.why = new Map(this.given.leads.map(([a, b, why]) => [`${a} ${b}`, why]));
    this.graph.hidden = this.more.hidden = !this.names.length;
  }

  words({ modes, seen }) {
    const sign = JSON.stringify([modes, seen]);
    if (sign === this.sign) return;
    this.sign = sign; this.now = this.names.map(name => modes[name]); this.seen = seen;
    if (this.asked !== this.here && !this.known.has(this.here)) { this.asked = this.here; this.send({ do: "count" }); }
    this.redraw(); this.title();
  }

  get here() { return JSON.stringify(this.now); }

  count(found) {
    const at = JSON.stringify(this.names.map(name => found.mode[name]));
    this.known.set(at, found);
    if (at !== this.here && this.asked === this.here) this.send({ do: "count" });  // it was another mode by then
    this.title();
  }

  title() {                // the mode in words, and what its motion costs
    const { names } = this, costs = this.known.get(this.here), some = ({ multiplications: a, additions: b, others: c }) => `${many(a, "multiplication")}, ${many(b, "addition")}` + (c ? `, ${c} other${c === 1 ? "" : "s"}` : "");
    const lines = names.length ? [html("b", { textContent: this.brief(), title: this.words_of(this.now) })] : [];
    if (costs) {
      const by = names.length ? ` by equations of this mode alone, with ${many(costs.speeds.length, "speed")}` + (costs.speeds.length && costs.speeds.length <= 6 ? `: ${costs.speeds.join(", ")}` : "") : "";
      if (costs.own) lines.push(html("small", { textContent: `${some(costs.own)} for the rates${by}.`, title: "Others are divisions, changes of sign, roots, sines and cosines." }));
      if (names.length) lines.push(html("small", { textContent: (costs.own ? "" : `No equations of its own: ${costs.why}. `) + `This loop serves all modes: ${some(costs.every)}, then what holds is solved for.` }));
    }
    else if (names.length) lines.push(html("small", { textContent: "Its operations are being counted." }));
    this.name.replaceChildren(...lines);
    this.stay(this.name);
  }

  // what is below stays where it is while modes come and go: a box that was high remains so
  stay(box) { if (this.given.leads.length) box.style.minHeight = `${Math.max(parseFloat(box.style.minHeight) || 0, box.scrollHeight)}px`; }
  rest() { for (const box of [this.name, this.graph]) box.style.minHeight = ""; }

  brief() {                // where much holds, how much of it does what
    const words = this.now.filter(word => !IDLE.includes(word)), of = word => words.filter(other => other === word).length;
    return words.length > NAMED ? [...new Set(words)].map(word => `${of(word)} ${word}`).join(", ") : this.words_of(this.now);
  }

  words_of(words) {
    const active = this.names.flatMap((name, k) => IDLE.includes(words[k]) ? [] : [`${name} ${words[k]}`]);
    return active.join(", ") || "nothing holds";
  }

  // ---- which modes there are: all of few, else those that were seen, and those next to where the machine is
  nodes() {
    const { names, now, seen } = this, all = seen.words, found = new Map(), add = (words, visits = 0) => {
      const id = JSON.stringify(words), known = found.get(id) ?? { id, words, visits: 0 };
      known.visits += visits; found.set(id, known); return known;
    };
    const order = seen.modes.map(row => add(names.map((name, k) => all[name][row[k]]), row[names.length]));
    add(now);
    if (this.given.whole) names.reduce((some, name) => some.flatMap(words => this.given.words[name].map(word => [...words, word])), [[]]).forEach(words => add(words));
    else names.forEach((name, k) => all[name].forEach(word => { if (this.why.has(`${now[k]} ${word}`)) add(now.map((old, i) => i === k ? word : old)); }));
    const level = node => node.words.filter(word => !IDLE.includes(word)).length, rank = node => node.words.map((word, k) => all[names[k]].indexOf(word));
    for (const node of found.values()) { node.level = level(node); node.rank = rank(node); }
    const sorted = [...found.values()].sort((a, b) => a.level - b.level || compare(b.rank, a.rank));
    return { sorted, order };
  }

  edges(nodes, order) {    // pairs that differ in one constraint, and ways that were gone
    const found = new Map(), add = (a, b) => {
      const [from, to] = a < b ? [a, b] : [b, a], id = `${from} ${to}`;
      if (!found.has(id)) found.set(id, { from, to, times: 0 });
      return found.get(id);
    };
    nodes.forEach((a, i) => nodes.forEach((b, j) => {
      const [k, ...more] = differ(a.words, b.words);
      if (k !== undefined && !more.length && this.why.has(`${a.words[k]} ${b.words[k]}`)) add(i, j);
    }));
    for (const [a, b, count] of this.seen.ways) add(nodes.indexOf(order[a]), nodes.indexOf(order[b])).times += count;
    return [...found.values()];
  }

  // ---- what leads to a mode from here: commands, or what happens by itself
  leads(node) {
    const steps = differ(this.now, node.words).map(k => ({ name: this.names[k], to: node.words[k], why: this.why.get(`${this.now[k]} ${node.words[k]}`) }));
    return { steps, free: steps.length > 0 && steps.every(({ why }) => why === "engage" || why === "release") };
  }

  go(node) {
    const { steps, free } = this.leads(node), own = steps.filter(({ why }) => why !== "engage" && why !== "release");
    if (!steps.length) return;
    if (!free) { this.say(`${own.map(({ name, to, why }) => `${name} ${why ?? `becomes ${to}`}`).join(", ")} by itself: no command leads there.`); return; }
    for (const wanted of ["release", "engage"]) for (const { name, why } of steps) if (why === wanted) this.send({ do: why, name });
  }

  redraw() {
    if (!this.names.length) return;
    const { sorted, order } = this.nodes(), rows = new Map(), put = node => rows.set(node.level, [...(rows.get(node.level) ?? []), node]);
    sorted.forEach(put);
    const widest = Math.max(...[...rows.values()].map(row => row.length));
    const boxed = widest <= 3 && this.names.length <= 4;
    const lines = node => boxed ? this.lines(node) : [this.letters(node)];
    for (const node of sorted) {
      node.lines = lines(node); node.high = 8 + 12 * node.lines.length;
      node.wide = Math.min(118, boxed ? (WIDTH - 8 * (widest - 1)) / widest : 4 + Math.max(16, 7.5 * node.lines[0].length));
    }
    let top = 1;
    for (const row of rows.values()) {
      const fit = boxed ? row.length : Math.max(1, Math.floor((WIDTH + 8) / (Math.max(...row.map(node => node.wide)) + 8))), parts = Math.ceil(row.length / fit), per = Math.ceil(row.length / parts);
      for (let k = 0; k < row.length; k += per) {
        const part = row.slice(k, k + per), high = Math.max(...part.map(node => node.high));
        part.forEach((node, i) => { node.x = WIDTH / 2 + (i - (part.length - 1) / 2) * (boxed ? WIDTH + 8 : WIDTH) / (boxed ? widest : Math.max(per, 2)); node.y = top + high / 2; });
        top += high + (boxed ? 26 : 16);
      }
    }
    const height = top - (boxed ? 25 : 15), here = sorted.find(node => node.id === this.here), drawn = svg("svg", { width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
    drawn.setAttribute("aria-label", `Graph of ${many(sorted.length, "mode")}. Now: ${this.words_of(this.now)}. The list below has them all.`);
    const labels = [];
    for (const { from, to, times: gone } of this.edges(sorted, order)) {
      const a = sorted[from], b = sorted[to], near = a === here || b === here;
      drawn.append(svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: `${near ? "near" : ""} ${gone ? "went" : ""}` }));
      if (gone) labels.push(this.beside(a, b, `${gone}`, sorted, labels));
    }
    for (const node of sorted) {
      const { free } = this.leads(node), now = node === here, state = now ? "now" : node.visits ? "seen" : free ? "" : "alone";
      const group = svg("g", { class: `${state} ${free ? "go" : ""}`, "data-mode": this.words_of(node.words) });
      group.append(svg("title", {}, `${this.words_of(node.words)}${now ? " (now)" : ""}${node.visits ? `, entered ${times(node.visits)}` : ""}`));
      group.append(svg("rect", { x: node.x - node.wide / 2, y: node.y - node.high / 2, width: node.wide, height: node.high, rx: 6 }));
      node.lines.forEach((line, k) => group.append(svg("text", { x: node.x, y: node.y + 12 * (k - (node.lines.length - 1) / 2) + 3.5 }, line)));
      group.onclick = () => this.go(node);
      drawn.append(group);
    }
    drawn.append(...labels);
    this.graph.replaceChildren(drawn, ...(boxed ? [] : [html("small", {}, ...this.legend())]));
    this.stay(this.graph);
    this.listed(sorted, here);
  }

  beside(a, b, text, nodes, labels) {      // a number on a line, where no box and no other number is
    const wide = 3 * text.length + 2, [top, low] = a.y < b.y ? [a, b] : [b, a], from = top.y + top.high / 2, to = low.y - low.high / 2;
    const along = y => top.x + (low.x - top.x) * (low.y === top.y ? 0.5 : (y - top.y) / (low.y - top.y));
    const free = ({ x, y }) => nodes.every(node => Math.abs(x - node.x) > node.wide / 2 + wide || Math.abs(y - node.y) > node.high / 2 + 5) &&
      labels.every(each => Math.abs(x - each.getAttribute("x")) > 2 * wide || Math.abs(y + 3 - each.getAttribute("y")) > 9);
    const places = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9].map(part => { const y = from + part * (to - from); return { x: along(y), y }; });
    const { x, y } = places.find(free) ?? places[0];
    return svg("text", { x, y: y + 3, class: "times" }, text);
  }

  letters(node) {          // what holds in it, in letters; where that is nearly everything, what does not
    const letter = k => LETTERS[k] ?? "?", on = [], off = [];
    node.words.forEach((word, k) => IDLE.includes(word) ? off.push(letter(k)) : on.push(letter(k) + (MARKS[word] ?? "")));
    if (on.length <= 6) return on.join("") || "–";
    return off.length <= 4 && on.every(each => each.length === 1) ? `all${off.length ? " but " : ""}${off.join("")}` : `${on.slice(0, 6).join("")}…`;
  }

  legend() {               // what letters and marks stand for
    const used = Object.entries(MARKS).filter(([word]) => Object.values(this.seen.words).some(words => words.includes(word))), said = [];
    for (const [k, name] of this.names.slice(0, LETTERS.length).entries()) said.push(k ? " · " : "", html("strong", { textContent: LETTERS[k] }), ` ${name}`);
    if (this.names.length > LETTERS.length) said.push(" · …");
    for (const [word, mark] of used) said.push("; ", html("strong", { textContent: mark }), ` ${word}`);
    return said;
  }

  lines(node) {            // what holds in it, a line each
    const most = Math.max(10, Math.floor(84 / 5.4)), cut = text => text.length > most ? `${text.slice(0, most - 1)}…` : text;
    const found = this.names.flatMap((name, k) => IDLE.includes(node.words[k]) ? [] : [cut(node.words[k] === "engaged" || node.words[k] === "holds" ? name : `${name} ${node.words[k]}`)]);
    return found.length ? found : ["nothing holds"];
  }

  listed(nodes, here) {
    const focused = this.list.contains(document.activeElement) ? document.activeElement.closest("li").dataset.mode : null;
    const kept = nodes.slice(0, LISTED);
    this.summary.textContent = this.given.whole ? `All ${nodes.length} modes, as a list` : `${many(nodes.length, "mode")} seen or near, of ${this.given.many.toLocaleString("en")}, as a list`;
    this.list.replaceChildren(...kept.map(node => {
      const words = this.words_of(node.words), { steps, free } = this.leads(node), item = html("li", {}, html("span", { textContent: words + (node.visits ? `, entered ${times(node.visits)}` : "") }));
      item.dataset.mode = words;
      if (node === here) { item.setAttribute("aria-current", "true"); item.append(html("span", { textContent: "now" })); }
      else if (free) item.append(html("button", { textContent: "go", onclick: () => this.go(node), ariaLabel: steps.map(({ why, name }) => `${why} ${name}`).join(", ") }));
      return item;
    }));
    if (focused !== null) [...this.list.children].find(item => item.dataset.mode === focused)?.querySelector("button")?.focus();
  }
}

function differ(a, b) { return a.flatMap((word, k) => word === b[k] ? [] : [k]); }
function compare(a, b) { for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return a[k] - b[k]; return 0; }
