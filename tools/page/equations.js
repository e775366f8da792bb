// The equations of motion in the mode that the machine is in, below it: asked for when they are first looked at.
const HEADS = { N: "Kinematics", M: "Inertia", c: "Velocity and gravity terms", Q: "Forces of the model's own laws", J: "Constraints of this mode", z: "States beside motion" };
const STYLE = `
  #equations { min-width: 0; border-top: 1px solid var(--line); background: var(--paper); }
  #equations summary { padding: 7px 16px; cursor: pointer; color: var(--dim); font-size: 12px; font-weight: 650; text-transform: uppercase; letter-spacing: 0.04em; }
  #equations summary:hover { color: var(--ink); }
  #sheet { max-height: min(46dvh, 440px); overflow-y: auto; padding: 0 16px 12px; overscroll-behavior: contain; }
  #sheet h3 { margin: 12px 0 0; font-size: 13px; font-weight: 650; }
  #sheet p { margin: 2px 0; color: var(--dim); font-size: 13px; max-width: 60em; }
  .formula { overflow-x: auto; overflow-y: hidden; padding: 3px 0; }
  .formula .katex-display { margin: 0; text-align: left; }
  .formula .katex-display > .katex { padding-left: 0; font-size: 1.12em; text-align: left; }
  .forms { display: flex; flex-wrap: wrap; gap: 0 2.5em; } .forms > * { max-width: 100%; }
  @media (max-width: 720px) { #sheet { max-height: 38dvh; padding: 0 10px 8px; } #equations summary { padding: 6px 10px; } body:has(#equations[open]) aside { display: none; } }
`;
const n = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const key = words => JSON.stringify(words);

export class Equations {
  constructor(box, send) {
    document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
    this.box = box; this.sheet = box.querySelector("#sheet"); this.send = send; this.now = this.shown = this.waits = "";
    box.addEventListener("toggle", () => this.ask());
  }

  begin() { this.shown = this.waits = ""; this.ask(); }

  words(found) { this.now = key(found.modes); this.ask(); }

  ask() {                  // one at a time; where the mode has changed since, once more
    if (!this.box.open || this.waits || this.shown === this.now || !this.now) return;
    this.waits = this.now;
    if (!this.shown) this.sheet.replaceChildren(text("p", "The equations are being written."));
    this.send({ do: "equations" });
  }

  refused() { if (this.waits) { this.shown = this.waits; this.waits = ""; } }

  async equations(found) {
    const { typeset } = await import("./typeset.js");
    this.shown = key(found.mode) === this.now ? this.now : this.waits; this.waits = "";
    const place = this.sheet.scrollTop, made = [];
    const formula = (tex, label) => {
      const box = document.createElement("div");
      box.className = "formula"; box.tabIndex = 0; box.setAttribute("role", "group"); box.setAttribute("aria-label", label);
      typeset(box, tex);
      return box;
    };
    const { nq, nu, rows, of } = found.size, forms = document.createElement("div");
    made.push(text("p", `By ${found.method}: ${n(nq, "coordinate")}, ${n(nu, "speed")}, ` +
      (of ? `${rows} of ${n(of, "constraint row")} in this mode (${found.title.length > 160 ? `${found.title.slice(0, 150)}…` : found.title})` : "no constraints") +
      (found.embedded.length ? `; embedded in the speeds: ${found.embedded.join(", ")}` : "") + `. ${n(found.operations, "operation")} in all, numbers to five digits.`));
    forms.className = "forms"; forms.append(...found.form.map(tex => formula(tex, "Form of the equations")));
    const symbols = forms.cloneNode(); symbols.append(...found.symbols.map(tex => formula(tex, "Coordinates and speeds")));
    made.push(forms, symbols);
    if (found.underived) made.push(text("p", `With ${n(nu, "speed")}, M, c and Q are not written out for this page: formulate(model) has them.`));
    for (const block of found.blocks) {
      made.push(text("h3", HEADS[block.part]));
      if (block.tex) made.push(formula(block.tex, HEADS[block.part]));
      const left = block.left === block.of ? `All of it is left out: ${n(block.of, "element")}` : `${block.left} of ${n(block.of, "element")} ${block.left === 1 ? "is" : "are"} left out`;
      if (block.left) made.push(text("p", `${left} with ${n(block.operations, "operation")}.`));
      else if (block.listed) made.push(text("p", block.part === "M" ? "M is symmetric; elements that are not listed are 0." : "Elements that are not listed are 0."));
    }
    if (found.names) made.push(text("h3", "Where"), formula(found.names, "Named parts"));
    this.sheet.replaceChildren(...made);
    this.sheet.scrollTop = place;
    this.ask();
  }
}

function text(tag, words) { return Object.assign(document.createElement(tag), { textContent: words }); }
