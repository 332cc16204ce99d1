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

function quantile(ascending, share) {
  const at = share * (ascending.length - 1),
    low = Math.floor(at);
  const high = Math.min(low + 1, ascending.length - 1);
  return ascending[low] + (at - low) * (ascending[high] - ascending[low]);
}

/** A column for each query, with its name where there is room. */
function queryColumns({ label, queries, height, values, column, open, text, zero = false, says }) {
  return chart({
    label,
    says,
    marks: true,
    draw: (width, say) => {
      const left = 42,
        top = 8,
        step = (width - left - 4) / queries.length;
      const named = step >= 13;
      const names = queries.map((query) => shorten(report.queries[query], 12));
      const room = named ? Math.max(...names.map((name) => name.length)) * 6.2 + 12 : 8;
      const bottom = top + height;
      let [low, high] = values();
      if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
      const y = scale(low, high, bottom, top);
      const nodes = axisLeft(y, left, width),
        hits = [];
      queries.forEach((query, i) => {
        const x = left + (i + 0.5) * step;
        nodes.push(...column(query, x, step, y));
        if (named) {
          nodes.push(
            s(
              "text",
              {
                class: "tick",
                transform: `translate(${x + 4} ${bottom + 8}) rotate(-90)`,
                "text-anchor": "end",
              },
              names[i],
            ),
          );
        }
        const place = { x: left + i * step, y: 0, width: step, height: bottom };
        const node = s("rect", { class: "hit", ...place });
        hits.push({ node, text: text(query), hash: open(query) });
      });
      return { height: bottom + room, nodes: [...nodes, marks(say, hits)] };
    },
  });
}

/** Queries: the spread of all runs on each, and one run among them. */
function queryChart(measure, queries, run, open) {
  const name = run === null ? null : report.runs[run];
  return queryColumns({
    queries,
    height: 190,
    open,
    label: `Scores of queries by ${measure.name}${name ? ` of ${name}` : ""}; the table has the numbers`,
    says: `Pale: from the least to the largest score of all runs; darker: the middle half; line: their median${name ? `; dot: ${name}` : ""}.`,
    values: () => extent(...queries.map((query) => measure.on(query))),
    text: (query) => {
      const all = measure.on(query);
      const own = name ? `${name} ${number(measure.score(run, query))}, ` : "";
      return `${report.queries[query]}: ${own}median ${number(quantile(all, 0.5))}, ${number(all[0])} to ${number(all.at(-1))}`;
    },
    column: (query, x, step, y) => {
      const all = measure.on(query),
        wide = Math.max(1, Math.min(step * 0.72, 18));
      const box = (a, b, kind) =>
        s("rect", {
          class: kind,
          x: x - wide / 2,
          width: wide,
          y: y(b),
          height: Math.max(1, y(a) - y(b)),
        });
      const middle = y(quantile(all, 0.5));
      const nodes = [
        box(all[0], all.at(-1), "spread"),
        box(quantile(all, 0.25), quantile(all, 0.75), "middle"),
        s("line", { class: "median", x1: x - wide / 2, x2: x + wide / 2, y1: middle, y2: middle }),
      ];
      if (run !== null) {
        nodes.push(
          s("circle", {
            class: "own",
            cx: x,
            cy: y(measure.score(run, query)),
            r: Math.max(2, Math.min(4.5, step * 0.3)),
          }),
        );
      }
      return nodes;
    },
  });
}

/** Queries by how much two runs differ on them. */
function differenceChart(measure, queries, a, b) {
  const gap = (query) => measure.score(a, query) - measure.score(b, query);
  const names = [report.runs[a], report.runs[b]];
  return queryColumns({
    queries,
    height: 190,
    zero: true,
    label: `Differences of ${names.join(" and ")} by query; the table has the numbers`,
    says: `Up, blue: ${names[0]} is better; down, orange: ${names[1]} is better.`,
    open: (query) => hashOf({ query, run: a }),
    values: () => extent(queries.map(gap)),
    text: (query) =>
      `${report.queries[query]}: ${signed(gap(query))} (${number(measure.score(a, query))} and ${number(measure.score(b, query))})`,
    column: (query, x, step, y) => {
      const wide = Math.max(1, Math.min(step * 0.72, 22)),
        [low, high] = [gap(query), 0].sort((p, q) => p - q);
      return [
        s("rect", {
          class: gap(query) >= 0 ? "better" : "worse",
          x: x - wide / 2,
          width: wide,
          y: y(high),
          height: Math.max(1, y(low) - y(high)),
        }),
      ];
    },
  });
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

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "12 4"];

/** Curves that fall from left to right: {name, values}. */
function curveChart({ label, curves, xLabel, yLabel, mark }) {
  return chart({
    label,
    says: `Dotted line: ${fixed(mark, 2)}. ${label}.`,
    draw: (width) => {
      const left = 52,
        height = 260,
        most = curves[0].values.length;
      const x = scale(0, most, left, width - 10, width > 600 ? 8 : 4),
        y = scale(0, 1, height, 10);
      const nodes = [
        ...axisLeft(y, left, width),
        ...axisBelow(x, 0, height),
        ...axisNames(xLabel, yLabel, width, height),
        s("line", { class: "mark", x1: left, x2: width, y1: y(mark), y2: y(mark) }),
      ];
      curves.forEach((curve, i) => {
        const step = Math.max(1, Math.floor(most / 600));
        let path = "";
        for (let k = 0; k < most; k += step)
          path += `${k ? "L" : "M"}${x(k + 0.5).toFixed(1)} ${y(curve.values[k]).toFixed(1)}`;
        nodes.push(
          s("path", {
            class: "curve",
            d: path,
            stroke: COLOURS[i % 6],
            "stroke-dasharray": DASHES[i % 6],
          }),
        );
      });
      const across = Math.max(1, Math.floor((width - left) / 200));
      curves.forEach((curve, i) => {
        const at = left + (i % across) * 200,
          line = height + 54 + 18 * Math.floor(i / across);
        nodes.push(
          s("line", {
            class: "curve",
            stroke: COLOURS[i % 6],
            "stroke-dasharray": DASHES[i % 6],
            x1: at,
            x2: at + 28,
            y1: line - 4,
            y2: line - 4,
          }),
          s("text", { class: "tick", x: at + 34, y: line }, shorten(curve.name, 26)),
        );
      });
      return { height: height + 54 + 18 * Math.ceil(curves.length / across), nodes };
    },
  });
}
