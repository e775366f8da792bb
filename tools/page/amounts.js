// A number with its unit, to four digits: powers of ten where zeros would be counted.
export function short(x, unit = "", least = 0) {   // what is smaller than `least` counts as nothing
  if (x === null || !Number.isFinite(x)) return "no number";
  if (Math.abs(x) < least) x = 0;
  const size = Math.abs(x), [digits, power] = (size >= 1e6 || (size > 0 && size < 1e-4) ? x.toExponential(3) : x.toPrecision(4)).split("e");
  return +digits + (power === undefined ? "" : `e${+power}`) + (unit && ` ${unit}`);
}
