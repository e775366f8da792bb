// Bundle the page into the package. The first line of the bundle says from which sources it was made: a test compares.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const to = "../../src/polhode/interact/page", katex = "node_modules/katex", hash = createHash("sha256");
for (const name of readdirSync(".").filter(each => /\.(js|json|html)$/.test(each)).sort()) hash.update(readFileSync(name));
hash.update(readFileSync("../../src/polhode/view/unpack.js"));
const options = {
  bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "inline", banner: { js: `// sources ${hash.digest("hex")}` },
};
await build({ ...options, entryPoints: ["page.js"], outfile: `${to}/page.js`, external: ["./typeset.js"] });

// KaTeX is a file of its own, which the page fetches when equations are first looked at; of its fonts, those that our equations need
const FONTS = ["Main-Regular", "Math-Italic", "Size1-Regular", "Size2-Regular", "Size3-Regular", "Size4-Regular"];
const faces = FONTS.map(name => `@font-face{font-family:KaTeX_${name.split("-")[0]};src:url(fonts/KaTeX_${name}.woff2) format("woff2");` +
  `font-style:${name.endsWith("Italic") ? "italic" : "normal"};font-weight:400}`);
const style = faces.join("") + readFileSync(`${katex}/dist/katex.min.css`, "utf8").replaceAll(/@font-face\{.*?\}/g, "");
await build({ ...options, entryPoints: ["typeset.js"], outfile: `${to}/typeset.js`, define: { STYLE: JSON.stringify(style) } });
rmSync(`${to}/fonts`, { recursive: true, force: true });
mkdirSync(`${to}/fonts`);
for (const name of FONTS) copyFileSync(`${katex}/dist/fonts/KaTeX_${name}.woff2`, `${to}/fonts/KaTeX_${name}.woff2`);
copyFileSync(`${katex}/LICENSE`, `${to}/fonts/LICENSE-KaTeX.txt`);
copyFileSync("index.html", `${to}/index.html`);
