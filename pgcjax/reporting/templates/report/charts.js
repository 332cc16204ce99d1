// Charts that are as wide as their place, drawn anew when it changes.

const LEAST = 60; // pixels that a chart needs; it has fewer while a page is laid out

/**
 * A chart: `draw(width)` gives {height, nodes}; `says` is a line below it that changes
 * with what is pointed at. One that `zooms` is in a frame that scrolls; one that has
 * `marks` has parts that keys reach.
 */
function chart({ label, draw, says = "", zooms = false, marks = zooms }) {
  const drawing = s("svg", { role: marks ? "group" : "img", "aria-label": label });
  const line = h("p", { class: "says" }, says);
  const frame = { class: "zoom", tabindex: 0, role: "region", "aria-label": label };
  const inner = zooms ? h("div", frame, drawing) : drawing;
  const place = h("figure", { class: "chart" }, inner, says ? line : "");
  let last = 0;
  const redraw = ([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width < LEAST || width === last) return;
    last = width;
    const { height, nodes } = draw(width, (text) => {
      line.textContent = text || says;
    });
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.replaceChildren(...nodes);
  };
  new ResizeObserver(redraw).observe(place);
  return place;
}

/**
 * Marks of a chart, {node, text, hash}: one says its text when it is pointed at or has the
 * focus, which arrow keys move, and a click or Enter opens its address.
 */
function marks(say, all) {
  const attributes = (i) => ({ role: "link", tabindex: i ? -1 : 0 });
  const nodes = all.map(({ node, text, hash }, i) => {
    const open = () => (location.hash = hash);
    const [show, hide] = [() => say(text), () => say("")];
    const pointed = { onpointerenter: show, onpointerleave: hide, onfocus: show, onblur: hide };
    const onkeydown = (event) => event.key === "Enter" && open();
    const label = { "aria-label": text };
    return build(node, { ...attributes(i), ...label, ...pointed, onclick: open, onkeydown }, []);
  });
  return s("g", { onkeydown: moveMark }, nodes);
}

/** Arrow keys go from a mark, or a document of a graph, to the next. */
function moveMark(event) {
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  const all = [...event.currentTarget.querySelectorAll("[tabindex]")];
  const target = all[all.indexOf(event.target.closest("[tabindex]")) + step];
  if (!target) return;
  event.preventDefault();
  for (const one of all) one.setAttribute("tabindex", one === target ? 0 : -1);
  target.focus();
}

/** A scale from numbers to pixels, with round ticks. */
function scale(low, high, from, to, wanted = 5) {
  if (!(high > low)) [low, high] = [low - 0.5, high + 0.5];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++)
    ticks.push(i * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const at = (x) => from + ((x - low) / (high - low)) * (to - from);
  return Object.assign(at, { ticks, text: (x) => fixed(x + 0, digits).replace("-", "−") });
}

function axisLeft(y, left, right) {
  return y.ticks.flatMap((tick) => [
    s("line", { class: "rule", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
    s("text", { class: "tick", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, y.text(tick)),
  ]);
}

function axisBelow(x, top, bottom) {
  return x.ticks.flatMap((tick) => [
    s("line", { class: "rule", x1: x(tick), x2: x(tick), y1: top, y2: bottom }),
    s("text", { class: "tick", x: x(tick), y: bottom + 16, "text-anchor": "middle" }, x.text(tick)),
  ]);
}

function axisNames(below, left, width, bottom) {
  const turned = `translate(12 ${bottom / 2}) rotate(-90)`;
  return [
    s("text", { class: "label", x: width, y: bottom + 34, "text-anchor": "end" }, below),
    s("text", { class: "label", transform: turned, "text-anchor": "middle" }, left),
  ];
}

function extent(...lists) {
  let low = Infinity,
    high = -Infinity;
  for (const list of lists) {
    for (const x of list) {
      if (x < low) low = x;
      if (x > high) high = x;
    }
  }
  return [low, high];
}

/** Names beside points, the highest first, as far as they cover neither points nor names. */
function pointNames(spots, gap, left, right) {
  const taken = spots.map(({ x, y }) => ({ x: x - gap, y: y - gap, w: 2 * gap, h: 2 * gap }));
  const apart = (a, b) => a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
  const nodes = [];
  [...spots.keys()]
    .sort((i, j) => spots[i].y - spots[j].y)
    .forEach((i) => {
      const { x, y } = spots[i],
        name = shorten(spots[i].name, 18),
        w = name.length * 6.4 + 2;
      for (const [dx, dy] of [
        [gap, -7],
        [-gap - w, -7],
        [-w / 2, -gap - 14],
        [-w / 2, gap],
      ]) {
        const box = { x: x + dx, y: y + dy, w, h: 14 };
        if (box.x < left || box.x + w > right || box.y < 0) continue;
        if (!taken.every((other, k) => k === i || apart(box, other))) continue;
        taken.push(box);
        nodes.push(s("text", { class: "tick", x: box.x + 1, y: box.y + 11 }, name));
        break;
      }
    });
  return nodes;
}

/** Points: {x, y, name, hash}; keys go through them from left to right. */
function pointChart({ label, points, xLabel, yLabel, height = 320, says = "" }) {
  return chart({
    label,
    says,
    marks: true,
    draw: (width, say) => {
      const left = 52,
        bottom = height;
      const x = scale(
        ...extent(points.map((p) => p.x)),
        left + 10,
        width - 12,
        width > 600 ? 8 : 5,
      );
      const y = scale(...extent(points.map((p) => p.y)), bottom - 10, 10);
      const size = points.length > 300 ? 3 : 5;
      const spots = points.map((p) => ({ x: x(p.x), y: y(p.y), name: p.name }));
      const nodes = [
        ...axisLeft(y, left, width),
        ...axisBelow(x, 0, bottom),
        ...axisNames(xLabel, yLabel, width, bottom),
        marks(
          say,
          [...points]
            .sort((a, b) => a.x - b.x)
            .map((p) => ({
              node: s("circle", { class: "point", cx: x(p.x), cy: y(p.y), r: size }),
              text: `${p.name}: ${number(p.x)}, ${number(p.y)}`,
              hash: p.hash,
            })),
        ),
        ...pointNames(spots, size + 3, left, width),
      ];
      return { height: bottom + 42, nodes };
    },
  });
}
