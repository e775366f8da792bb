// Formulas by KaTeX; a bundle of its own, fetched when they are first looked at.
import katex from "katex";

document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));

export function typeset(box, tex) { katex.render(tex, box, { displayMode: true, throwOnError: false, strict: "ignore", maxSize: 20, maxExpand: 1000 }); }
