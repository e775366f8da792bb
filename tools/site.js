// The search: sections that have all words, those with them in their headings first. The index is loaded when it is first asked.
(() => {
  const here = document.currentScript, root = here.dataset.root;
  const field = document.querySelector("nav input[type=search]"), list = document.querySelector("nav .found");
  field.hidden = false;
  let asked = null;
  const load = () => asked ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = root + "search.js";
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  const count = (text, word) => text.split(word).length - 1;
  const score = (row, wanted) => {
    const title = row[2].toLowerCase(), heading = row[3].toLowerCase(), text = row[4].toLowerCase();
    let sum = 0;
    for (const word of wanted) {
      const n = count(text, word);
      const found = (heading === word ? 60 : 0) + (heading.startsWith(word) ? 20 : 0) + (heading.includes(word) ? 30 : 0)
        + (title.includes(word) ? 10 : 0) + (n ? 2 + Math.min(n, 8) : 0);
      if (!found) return 0;
      sum += found;
    }
    return sum - (row[0].startsWith("CHANGELOG") ? 25 : 0);
  };
  const marked = (text, word) => {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
    return (at ? "… " : "") + text.slice(at, at + 110) + (text.length > at + 110 ? " …" : "");
  };
  const show = async () => {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    document.body.classList.toggle("searching", wanted.length > 0);
    if (!wanted.length) return list.replaceChildren();
    await load();
    const rows = window.polhodeIndex.map((row) => [score(row, wanted), row]).filter(([points]) => points > 0);
    rows.sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...rows.slice(0, 20).map(([, [path, anchor, title, heading, text]]) => {
      const item = document.createElement("li"), link = document.createElement("a"), said = document.createElement("small");
      link.href = root + path + (anchor ? "#" + anchor : "");
      link.textContent = heading && heading !== title ? `${title}: ${heading}` : title;
      said.textContent = marked(text, wanted[0]);
      item.append(link, said);
      return item;
    }));
    if (!rows.length) list.append(Object.assign(document.createElement("li"), { textContent: "Nothing has all these words." }));
  };
  let waiting = 0;
  field.addEventListener("focus", () => load());
  field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(show, 80); });
  field.addEventListener("keydown", (event) => {
    const first = list.querySelector("a");
    if (event.key === "Enter" && first) location.href = first.href;
    if (event.key === "Escape") { field.value = ""; show(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, textarea")) { event.preventDefault(); field.focus(); }
  });
  list.addEventListener("click", (event) => {  // to a place on this page
    if (event.target.closest("a")) { field.value = ""; show(); document.querySelector("#menu").checked = false; }
  });
})();
