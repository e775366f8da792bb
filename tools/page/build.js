// Bundle the page into the package. The first line of the bundle says from which sources it was made: a test compares.
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, readdirSync } from "node:fs";
import { build } from "esbuild";

const to = "../../src/polhode/interact/page", hash = createHash("sha256");
for (const name of readdirSync(".").filter(each => /\.(js|json|html)$/.test(each)).sort()) hash.update(readFileSync(name));
await build({
  entryPoints: ["page.js"], bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "inline", outfile: `${to}/page.js`,
  banner: { js: `// sources ${hash.digest("hex")}` },
});
copyFileSync("index.html", `${to}/index.html`);
