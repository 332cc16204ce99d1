// A query as people see it: its preference graph, and the ideal ranking beside a run.

/** What both drawings show of a query and a run. */
function caseOf(query, run) {
  const graph = report.judged.graph(query);
  const rank = report.judged.ranks(run, query);
  const ideal = peel(graph.size, graph.edges, rank);
  const place = places(ideal);
  const edges = graph.edges.map((edge) => ({
    better: edge[0],
    worse: edge[1],
    times: edge[2],
    run: against(rank, edge),
    ideal: against(place, edge),
  }));
  const count = (doc, kept) => edges.reduce((sum, e) => sum + (kept(e, doc) ? e.times : 0), 0);
  const describe = (doc) => {
    const grade =
      graph.grades && !Number.isNaN(graph.grades[doc]) ? `, grade ${graph.grades[doc]}` : "";
    const found = rank[doc] === Infinity ? "not retrieved" : `rank ${rank[doc]}`;
    return (
      `${place[doc]}. ${graph.docs[doc]}${grade}: preferred ${count(doc, (e) => e.better === doc)} times, ` +
      `others to it ${count(doc, (e) => e.worse === doc)} times; ${found}`
    );
  };
  return { query, run, graph, rank, ideal, place, edges, describe };
}

/** Documents that are pointed at stand out, and their edges, in both drawings. */
class Spotlight {
  constructor(shown) {
    this.shown = shown;
    this.line = h("p", { class: "says", role: "status" });
    this.follow = [];
    this.show(null);
  }

  show(doc) {
    this.line.textContent =
      doc === null
        ? "Point at a document, or go through them with Tab and the arrow keys."
        : this.shown.describe(doc);
    for (const change of this.follow) change(doc);
  }

  attach(node, doc) {
    node.addEventListener("pointerenter", () => this.show(doc));
    node.addEventListener("pointerleave", () => this.show(null));
    node.addEventListener("focus", () => this.show(doc));
    node.addEventListener("blur", () => this.show(null));
    this.follow.push((on) => node.classList.toggle("lit", on === doc));
    return node;
  }
}

/**
 * Lines with arrowheads as two paths; many edges stay two elements.
 *
 * Each is a little to its right, so that two judgments that conflict can be told apart.
 */
function arrows(edges, at, kind) {
  const lines = [],
    heads = [];
  for (const { better, worse } of edges) {
    const dx = at.x[worse] - at.x[better];
    const dy = at.y[worse] - at.y[better];
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length, dy / length];
    const point = (along, aside) => {
      const x = at.x[better] + ux * along - uy * aside;
      const y = at.y[better] + uy * along + ux * aside;
      return `${x.toFixed(1)} ${y.toFixed(1)}`;
    };
    const end = length - at.radius - 1;
    lines.push(`M${point(at.radius, 2)}L${point(end - 6, 2)}`);
    heads.push(`M${point(end, 2)}L${point(end - 7, -1)}L${point(end - 7, 5)}Z`);
  }
  return [
    s("path", { class: `edge ${kind}`, d: lines.join("") }),
    s("path", { class: `head ${kind}`, d: heads.join("") }),
  ];
}

function graphDrawing(shown, light, options) {
  const { graph, edges, ideal } = shown;
  const label = `Preference graph of query ${report.queries[shown.query]}: ${counted(graph.size, "document")}, ${counted(edges.length, "edge")}`;
  return chart({
    label,
    draw: (width) => {
      const at = layout(graph, ideal, width);
      const near = (e) =>
        at.of[e.better] === at.of[e.worse] || at.shown(at.of[e.better], at.of[e.worse]);
      const plain = edges.filter((e) => !e.run && !e.ideal && (options.all || near(e)));
      const bundle = (some, kind, most) => {
        const crowd = some.length > 800 ? "crowd" : some.length > most ? "many" : null;
        return s("g", { class: crowd }, arrows(some, at, kind));
      };
      const lit = s("g", {});
      light.follow.push((doc) => {
        const own = doc === null ? [] : edges.filter((e) => e.better === doc || e.worse === doc);
        lit.replaceChildren(...arrows(own, at, "lit"));
      });
      const docs = ideal.map((doc, i) => {
        const kind = shown.rank[doc] === Infinity && shown.hasRun ? "doc away" : "doc";
        const node = s(
          "g",
          {
            class: kind,
            tabindex: i ? -1 : 0,
            role: "img",
            "aria-label": shown.describe(doc),
            "data-doc": doc,
          },
          s("circle", { cx: at.x[doc], cy: at.y[doc], r: at.radius }),
          s("text", { x: at.x[doc], y: at.y[doc] + 4, "text-anchor": "middle" }, String(i + 1)),
        );
        return light.attach(node, doc);
      });
      const nodes = [
        ...at.circles.map((c) => s("circle", { class: "part", cx: c.x, cy: c.y, r: c.r })),
        bundle(plain, "kept", 150),
        bundle(
          edges.filter((e) => e.ideal),
          "ideal",
          40,
        ),
        bundle(
          edges.filter((e) => e.run),
          "run",
          40,
        ),
        lit,
        s("g", { onkeydown: moveDoc }, docs),
      ];
      return { height: at.height + 4, nodes };
    },
  });
}

/** Arrow keys go from a document to the next of the ideal ranking. */
function moveDoc(event) {
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  const docs = [...event.currentTarget.querySelectorAll("[tabindex]")];
  const target = docs[docs.indexOf(event.target.closest("[tabindex]")) + step];
  if (!target) return;
  event.preventDefault();
  for (const doc of docs) doc.setAttribute("tabindex", doc === target ? 0 : -1);
  target.focus();
}

const PITCH = 21; // pixels from one document of a ranking to the next
const MOST_ROWS = 100; // documents up to which rankings are drawn in full
const FIRST_ROWS = 60; // that are drawn of each, if there are more

/** The documents that are drawn, by the ideal ranking, and those of the run by its ranks. */
function rowsOf({ ideal, rank }) {
  const retrieved = ideal.filter((doc) => rank[doc] !== Infinity).sort((a, b) => rank[a] - rank[b]);
  const first = new Set([...ideal.slice(0, FIRST_ROWS), ...retrieved.slice(0, FIRST_ROWS)]);
  const few = (docs) => docs.filter((doc) => ideal.length <= MOST_ROWS || first.has(doc));
  const left = few(ideal);
  const rest = left.filter((doc) => rank[doc] === Infinity);
  return { left, found: few(retrieved), rest, more: ideal.length - left.length };
}

/** A document of a ranking: its rank, its name, and a mark before them. */
function rankedDoc({ kind, x, y, width, rank, name, whole, mark = "" }) {
  return s(
    "g",
    { class: kind },
    s("rect", { class: "hit", x, y: y - PITCH / 2, width, height: PITCH }),
    s("text", { class: "rank", x: x + 28, y: y + 4, "text-anchor": "end" }, rank),
    s("text", { class: "mark-run", x: x - 4, y: y + 4, "text-anchor": "end" }, mark),
    s("text", { x: x + 36, y: y + 4 }, s("title", {}, whole), name),
  );
}

/** The ideal ranking on the left, the run on the right, and lines between documents. */
function rankingDrawing(shown, light) {
  const { graph, rank, place } = shown;
  const { left, found, rest, more } = rowsOf(shown);
  const overtaken = new Array(graph.size).fill(0);
  for (const e of shown.edges) if (e.run) overtaken[e.worse] += e.times;
  const longest = Math.max(12, ...graph.docs.map((doc) => doc.length)) * 7.3;
  const label = `Ideal ranking of ${counted(graph.size, "document")} beside ${report.runs[shown.run]}`;
  const marks = "×n: a document above others that n judgments prefer to it.";
  const says = more ? `${marks} ${counted(more, "document")} further down left out.` : marks;
  const draw = (width) => {
    const room = Math.max(60, Math.min(width * 0.4 - 42, longest));
    const most = Math.max(8, Math.floor(room / 7.3));
    const right = width - room - 38;
    const ends = [room + 42, right - 30];
    const middle = (ends[0] + ends[1]) / 2;
    const at = (i) => 26 + PITCH * (i + 0.5);
    const gap = rest.length ? 22 : 0;
    const lines = s("g", {}),
      rows = [];
    const beside = new Map();
    found.forEach((doc, i) => beside.set(doc, at(i)));
    rest.forEach((doc, i) => beside.set(doc, at(found.length + i) + gap));
    left.forEach((doc, i) => {
      const away = rank[doc] === Infinity;
      const [from, to] = [at(i), beside.get(doc)];
      const d = `M${ends[0]} ${from}C${middle} ${from} ${middle} ${to} ${ends[1]} ${to}`;
      lines.append(light.attach(s("path", { class: away ? "slope away" : "slope", d }), doc));
      const same = { whole: graph.docs[doc], name: shorten(graph.docs[doc], most) };
      const mine = { kind: "row", x: 0, y: from, width: room + 36, rank: String(place[doc]) };
      rows.push(light.attach(rankedDoc({ ...mine, ...same }), doc));
      const theirs = {
        kind: away ? "row away" : "row",
        x: right,
        y: to,
        width: width - right,
        rank: away ? "–" : String(rank[doc]),
        mark: overtaken[doc] ? `×${overtaken[doc]}` : "",
      };
      rows.push(light.attach(rankedDoc({ ...theirs, ...same }), doc));
    });
    const heads = [
      s("text", { class: "label", x: 0, y: 12 }, "Ideal ranking"),
      s("text", { class: "label", x: right, y: 12 }, shorten(report.runs[shown.run], most)),
    ];
    if (rest.length) {
      const line = at(found.length) + 8;
      heads.push(s("text", { class: "tick", x: right + 36, y: line }, "not retrieved"));
    }
    return { height: at(left.length) + gap, nodes: [...heads, lines, ...rows] };
  };
  return chart({ label, says, draw });
}

/** The judgments that a run contradicts, one row for each pair. */
function contradictions(shown) {
  const { graph, rank } = shown;
  const times = new Map(shown.edges.map((e) => [`${e.better} ${e.worse}`, e.times]));
  const rows = shown.edges.filter((e) => e.run);
  if (!rows.length) return h("p", {}, "The run contradicts no judgment.");
  const doc = (d) => h("span", { title: graph.docs[d] }, shorten(graph.docs[d], 34));
  const at = (d) => (rank[d] === Infinity ? "–" : String(rank[d]));
  return grid({
    name: "pairs",
    caption: `Judgments that ${report.runs[shown.run]} contradicts`,
    noun: "pair",
    rows: () => rows,
    first: 15,
    sort: 4,
    down: true,
    columns: [
      {
        label: "preferred",
        value: (e) => graph.docs[e.better],
        cell: (e) => doc(e.better),
        class: "id",
      },
      {
        label: "rank",
        numeric: true,
        upwards: true,
        value: (e) => rank[e.better],
        cell: (e) => at(e.better),
      },
      { label: "to", value: (e) => graph.docs[e.worse], cell: (e) => doc(e.worse), class: "id" },
      {
        label: "rank",
        key: "other rank",
        numeric: true,
        upwards: true,
        value: (e) => rank[e.worse],
        cell: (e) => at(e.worse),
      },
      {
        label: "judged",
        numeric: true,
        value: (e) => e.times,
        hint: "how often the first was preferred to the second",
      },
      {
        label: "reverse",
        numeric: true,
        value: (e) => times.get(`${e.worse} ${e.better}`) ?? 0,
        hint: "how often the second was preferred to the first",
      },
      {
        label: "ideal",
        value: (e) => (e.ideal ? "contradicts it, too" : "follows it"),
        hint: "what the ideal ranking does",
      },
    ],
  });
}
