// Rows of the side panel: a name, and what sets it.
export function row(name, ...children) {
  const made = document.createElement("div"), label = document.createElement("span");
  made.className = "row"; made.dataset.name = name; label.textContent = label.title = name;
  made.append(label, ...children);
  return made;
}

// A number and a slider; `set` is called with what a hand chose, `first` is what a double click takes it back to.
export function slider(name, { first = 0, low = -10, high = 10, unit = "", set }) {
  const make = type => Object.assign(document.createElement("input"), { type, step: "any" });
  const number = make("number"), bar = make("range");
  bar.min = low; bar.max = high; number.value = bar.value = first;
  const send = value => { if (Number.isFinite(value)) set(value); };
  number.setAttribute("aria-label", name); bar.setAttribute("aria-label", `${name}, slider`);
  number.onchange = () => send(number.valueAsNumber);
  bar.oninput = () => { number.value = bar.value; told(bar.valueAsNumber); send(bar.valueAsNumber); };
  bar.ondblclick = () => send(first);
  bar.onkeydown = event => {   // an arrow key goes a hundredth of the way
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (!way) return;
    event.preventDefault();
    const [from, to] = [+bar.min, +bar.max], step = (to - from) / 100;
    bar.value = Math.min(Math.max(Math.round((bar.valueAsNumber - from) / step + way) * step + from, from), to);
    bar.oninput();
  };
  const made = row(name, number, bar);
  if (unit) { made.querySelector("span").append(" ", Object.assign(document.createElement("small"), { textContent: unit })); number.setAttribute("aria-description", `in ${unit}`); }
  const told = value => bar.setAttribute("aria-valuetext", `${+value.toPrecision(4)}${unit && ` ${unit}`}`);
  told(first);
  made.show = value => {
    if (value < +bar.min) { bar.min = value; if (low === -high) bar.max = -value; }
    if (value > +bar.max) { bar.max = value; if (low === -high) bar.min = -value; }
    if (document.activeElement !== number && +number.value !== value) number.value = +value.toPrecision(6);
    if (!bar.matches(":active")) { bar.value = value; told(value); }
  };
  return made;
}
