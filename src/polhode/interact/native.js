// The loop of real time as WebAssembly, see webassembly.py: one call takes one step. Its memory begins as it was laid out
// when this file was made; forces, parameters and commands go in as they do natively, and x and what constraints do come out.
// given : code and memory, packed; first, bytes of memory; at: where things are; sizes; constraints, with their rows
function makeNative(given, count) {
  const { at, sizes, constraints } = given, names = constraints.map(each => each.name), engaged = new Int8Array(names.length);
  const LEFT = 0n, DUE = 4n, EVENT = 3n, OK = 0n, IDLE = -1n, HELD = 1n, SLIDES = 2n, EQUAL = 0, TANGENT = 2;
  const memory = new WebAssembly.Memory({ initial: Math.ceil(given.bytes / 65536) });
  const bytes = new Uint8Array(memory.buffer), real = new Float64Array(memory.buffer), whole = new BigInt64Array(memory.buffer);
  const stack = new WebAssembly.Global({ value: "i32", mutable: true }, given.first);
  let code, fresh, failure = "";
  async function unpacked(text) {
    const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
  }
  async function load() {
    fresh = await unpacked(given.memory);
    const module = await WebAssembly.compile(await unpacked(given.code)), wanted = WebAssembly.Module.imports(module);
    const table = new WebAssembly.Table({ initial: given.table, element: "anyfunc" });
    const env = { __linear_memory: memory, __stack_pointer: stack, __indirect_function_table: table, exp2: x => 2 ** x };
    for (const { name, kind } of wanted) if (kind === "function") env[name] ??= Math[name];
    code = (await WebAssembly.instantiate(module, { env })).exports;
  }
  function put(list, name, many) {                // forces or parameters, which the next tick takes
    for (let i = 0; i < many; i++) real[at[`${name}_in`] / 8 + i] = list[i];
    whole[at[`${name}_count`] / 8] += 2n;
  }
  function shown(x) {
    for (let i = 0; i < count; i++) x[i] = real[at.x / 8 + i];
    for (let g = 0; g < names.length; g++) engaged[g] = Number(whole[at.engaged / 8 + g]);
  }
  function step(t, x, h, tau, p) {                // 1, or 0 where it cannot go on
    put(tau, "tau", sizes.tau); put(p, "p", sizes.p);
    whole[at.next / 8] = -1n; whole[at.ask / 8] = 0n; whole[at.left / 8] = 1n;
    const back = code.ticks(at.block);
    shown(x);
    if (back === LEFT) return 1;
    const status = whole[at.status / 8];
    failure = back === DUE || status === EVENT ? "A switch is due, but what it engages cannot hold here." : "It cannot go on from here: no motion was found that its constraints and contacts allow.";
    return 0;
  }
  // as of holding.js: says "" or the names of what cannot be engaged, and then changes nothing
  function command(t, x, p, wanted) {
    for (let i = 0; i < sizes.p; i++) real[at.p / 8 + i] = p[i];  // a tick takes them first, too
    const slot = Number(whole[at.head / 8] % BigInt(sizes.slots)), many = names.length;
    wanted.forEach((want, g) => { whole[at.queue / 8 + slot * many + g] = BigInt(want); });
    whole[at.head / 8] += 1n;
    code.commands(at.board, whole[at.ticks / 8]);
    shown(x);
    const status = whole[at.results / 8 + slot * sizes.result];
    return status === OK || status === IDLE ? "" : names.filter((_, g) => wanted[g]).join(", ");
  }
  function begin(t, x) {                          // what the model switches at times is done by the loop
    bytes.set(fresh, given.first); stack.value = given.first; real[at.due / 8] = Infinity; failure = "";
    shown(x); return "";
  }
  function word(g) {                              // what a constraint does, as `Simulation.mode` says it
    const { rows, kinds, stop } = constraints[g], does = k => whole[at.mode / 8 + rows[k]], last = rows.length - 1;
    if (!engaged[g]) return "released";
    if (kinds[0] === EQUAL) return "engaged";
    if (kinds[0] === TANGENT) return does(0) === SLIDES ? "slips" : "holds";
    if (!rows.some((_, k) => does(k) === HELD)) return "open";
    if (stop && rows.length === 2) return does(1) === HELD ? "upper" : "lower";
    if (last > 0 && kinds[1] === TANGENT) return does(1) === SLIDES || does(last) === SLIDES ? "slides" : "sticks";
    return "closed";
  }
  return { ready: load(), step, command, begin, engaged, word, failed: () => failure };
}
// M a = f, by Cholesky
function solved(M, f, n) {
  const L = Float64Array.from(M), a = Float64Array.from(f);
  for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) {
    let total = L[i * n + j]; for (let k = 0; k < j; k++) total -= L[i * n + k] * L[j * n + k];
    L[i * n + j] = i === j ? Math.sqrt(total) : total / L[j * n + j];
  }
  for (let i = 0; i < n; i++) { for (let k = 0; k < i; k++) a[i] -= L[i * n + k] * a[k]; a[i] /= L[i * n + i]; }
  for (let i = n - 1; i >= 0; i--) { for (let k = i + 1; k < n; k++) a[i] -= L[k * n + i] * a[k]; a[i] /= L[i * n + i]; }
  return a;
}
