// Elements and text. Whatever names hold is set as text, never as markup.

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== ""));
  return node;
}

function h(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

function s(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return build(node, attributes, children);
}

const byId = (id) => document.getElementById(id);

/** Round as Python does: a tie to the even digit. */
function fixed(x, digits = 4) {
  const shown = x.toFixed(digits),
    long = x.toFixed(40);
  const cut = long.indexOf(".") + 1 + digits;
  if (!/^50*$/.test(long.slice(cut))) return shown;
  const down = long.slice(0, cut);
  return "02468".includes(down.at(-1)) ? down : shown;
}

/** Print a number with four decimals, a small one as 1.2e-5, none as a dash. */
function number(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "—";
  if (x !== 0 && Math.abs(x) < 0.5 * 10 ** -digits) return x.toExponential(1);
  return fixed(x, digits);
}

function signed(x) {
  return x > 0 ? `+${number(x)}` : number(x).replace("-", "−");
}

function counted(n, noun) {
  if (n === 1) return `1 ${noun}`;
  return `${n} ${noun.endsWith("ry") ? `${noun.slice(0, -1)}ie` : noun}s`;
}

/** Cut a long name in its middle: what differs is often at its end. */
function shorten(name, most = 24) {
  if (name.length <= most) return name;
  const start = Math.floor(most / 2);
  return `${name.slice(0, start)}…${name.slice(name.length - most + start + 1)}`;
}

const natural = new Intl.Collator("en", { numeric: true }).compare;

function link(hash, text, attributes = {}) {
  return h("a", { href: `#${hash}`, ...attributes }, text);
}

function select(label, options, chosen, change) {
  const list = h("select", { onchange: () => change(Number(list.value)) });
  options.forEach((text, i) => list.append(h("option", { value: i }, text)));
  list.value = chosen;
  return h("label", {}, h("span", {}, label), list);
}

function facts(rows) {
  const shown = rows.filter(([, value]) => value !== null);
  return h(
    "dl",
    { class: "facts" },
    shown.map(([name, ...value]) => h("div", {}, h("dt", {}, name), h("dd", {}, ...value))),
  );
}
