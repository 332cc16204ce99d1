// A query as people see it: its preference graph, and the ideal ranking beside a run.

/**
 * What the drawings and tables show of a query and a run by a measure.
 *
 * `why` is the explanation of the score, if the page has it: its ideal ranking is that
 * nearest to the run. Else `place` is by an ideal ranking that is near no run.
 */
function caseOf(query, run) {
  const graph = report.judged.graph(query),
    why = report.why?.cell(state.measure, query, run) ?? null;
  const rank = report.judged.ranks(run, query);
  const rows = new Map(why?.rows.map((row) => [row.doc, row]));
  const nearest = graph.docs.every((doc) => rows.get(doc)?.ideal);
  const place = nearest ? graph.docs.map((doc) => rows.get(doc).ideal) : graph.ideal;
  const edges = graph.edges.map(([better, worse, times, direct, judges = ""]) => ({
    better,
    worse,
    times,
    direct,
    judges,
    run: rank[worse] < rank[better],
    ideal: place[worse] < place[better],
    // No order follows all judgments of a cycle; any other one could be followed.
    round: graph.parts[better] === graph.parts[worse],
  }));
  const sizes = new Map();
  for (const part of graph.parts) sizes.set(part, (sizes.get(part) ?? 0) + 1);
  const documents = graph.docs.map((doc, i) => ({
    doc,
    vertex: i,
    ideal: place[i],
    rank: rank[i],
    grade: graph.grades && !Number.isNaN(graph.grades[i]) ? graph.grades[i] : null,
    wins: 0,
    losses: 0,
    cycle: sizes.get(graph.parts[i]) > 1 ? sizes.get(graph.parts[i]) : 0,
    row: rows.get(doc) ?? null,
  }));
  for (const e of edges) {
    documents[e.better].wins += e.times;
    documents[e.worse].losses += e.times;
  }
  const others = (why?.rows ?? []).filter((row) => !graph.docs.includes(row.doc));
  for (const row of others) {
    const rank = row.rank || Infinity;
    documents.push({ ...row, rank, grade: null, wins: 0, losses: 0, cycle: 0, row });
  }
  const hasRun = run !== null && report.judged.has(run);
  const shown = { query, run, hasRun, graph, rank, place, edges, documents, why, nearest };
  return { ...shown, byName: new Map(documents.map((one) => [one.doc, one])) };
}

/** A document in a line of text. */
function describe(one) {
  const grade = one.grade === null ? "" : `, grade ${one.grade}`,
    found = one.rank === Infinity ? "not retrieved" : `rank ${one.rank}`,
    adds = one.row ? `; adds ${number(one.row.adds)}` : "",
    text = report.texts.get(one.doc);
  return (
    `${one.ideal || "–"}. ${one.doc}${grade}: preferred ${counted(one.wins, "time")}, ` +
    `others to it ${counted(one.losses, "time")}; ${found}${adds}${text ? `. ${shorten(text, 160)}` : ""}`
  );
}

/** Documents that are pointed at, or searched, stand out in both drawings. */
class Spotlight {
  constructor(shown) {
    this.shown = shown;
    this.line = h("p", { class: "says", role: "status" });
    this.follow = [];
    this.nodes = [];
    this.show(null);
  }

  show(doc) {
    this.line.textContent =
      doc === null
        ? "Point at a document, or go through them with Tab and the arrow keys."
        : describe(this.shown.byName.get(doc));
    for (const change of this.follow) change(doc);
  }

  attach(node, doc) {
    node.addEventListener("pointerenter", () => this.show(doc));
    node.addEventListener("pointerleave", () => this.show(null));
    node.addEventListener("focus", () => this.show(doc));
    node.addEventListener("blur", () => this.show(null));
    this.nodes.push([node, doc]);
    this.follow.push((on) => node.classList.toggle("lit", on === doc));
    return node;
  }

  /** Mark documents whose name or text has some words, and return how many there are. */
  find(words) {
    const wanted = words.toLowerCase();
    const names = this.shown.documents
      .map((one) => one.doc)
      .filter((doc) => `${doc} ${report.texts.get(doc) ?? ""}`.toLowerCase().includes(wanted));
    const marked = new Set(wanted ? names : []);
    for (const [node, doc] of this.nodes) node.classList.toggle("hit-doc", marked.has(doc));
    const first = this.nodes.find(([node, doc]) => node.isConnected && marked.has(doc));
    first?.[0].scrollIntoView({ block: "nearest", inline: "nearest" });
    return marked.size;
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

/** Which arrows are drawn; of many edges, those that follow from others are left out. */
const ARROWS = {
  direct: ["what does not follow from others", (e, few) => e.direct || e.ideal || (few && e.run)],
  conflicts: ["conflicts", (e) => e.ideal || e.run],
  all: ["every judgment", () => true],
};

function graphDrawing(shown, light, which) {
  const { graph, edges, place } = shown;
  const label = `Preference graph of query ${report.queries[shown.query]}: ${counted(graph.size, "document")}, ${counted(edges.length, "edge")}; the tables below have them`;
  const ordered = [...Array(graph.size).keys()].sort((a, b) => place[a] - place[b]);
  const drawn = edges.filter((e) => ARROWS[which][1](e, edges.length <= 150));
  const kinds = {
    kept: drawn.filter((e) => !e.run && !e.ideal),
    run: drawn.filter((e) => e.run && !e.ideal),
    ideal: drawn.filter((e) => e.ideal && e.round),
    spare: drawn.filter((e) => e.ideal && !e.round),
  };
  return chart({
    label,
    zooms: true,
    draw: (width) => {
      const at = layout(graph, place, width);
      const bundle = ([kind, some]) => {
        const most = kind === "kept" ? 150 : 40;
        const crowd = some.length > 800 ? "crowd" : some.length > most ? "many" : null;
        return s("g", { class: crowd }, arrows(some, at, kind));
      };
      const lit = s("g", {});
      light.follow.push((doc) => {
        const vertex = doc === null ? null : shown.byName.get(doc).vertex;
        const ends = edges.filter((e) => e.better === vertex || e.worse === vertex);
        lit.replaceChildren(...arrows(ends, at, "lit"));
      });
      const docs = ordered.map((doc, i) => {
        const one = shown.documents[doc],
          away = one.rank === Infinity && shown.hasRun;
        const node = s(
          "g",
          {
            class: `doc${away ? " away" : ""}${one.cycle ? " round" : ""}`,
            tabindex: i ? -1 : 0,
            role: "img",
            "aria-label": describe(one),
            "data-doc": doc,
          },
          one.cycle ? s("circle", { class: "ring", cx: at.x[doc], cy: at.y[doc], r: at.radius + 3 }) : "",
          s("circle", { cx: at.x[doc], cy: at.y[doc], r: at.radius }),
          s("text", { x: at.x[doc], y: at.y[doc] + 4, "text-anchor": "middle" }, String(place[doc])),
        );
        return light.attach(node, one.doc);
      });
      const nodes = [...Object.entries(kinds).map(bundle), lit, s("g", { onkeydown: moveMark }, docs)];
      return { height: at.height, nodes };
    },
  });
}

const PITCH = 21; // pixels from one document of a ranking to the next
const MOST_ROWS = 100; // documents up to which rankings are drawn in full
const FIRST_ROWS = 60; // that are drawn of each, if there are more

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
  const ranked = shown.documents.filter((one) => one.row?.ideal);
  const ideal = ranked.sort((a, b) => a.row.ideal - b.row.ideal);
  const retrieved = ideal.filter((one) => one.rank !== Infinity).sort((a, b) => a.rank - b.rank);
  const first = new Set([...ideal.slice(0, FIRST_ROWS), ...retrieved.slice(0, FIRST_ROWS)]);
  const few = (docs) => docs.filter((one) => ideal.length <= MOST_ROWS || first.has(one));
  const [left, found] = [few(ideal), few(retrieved)];
  const rest = left.filter((one) => one.rank === Infinity);
  const overtaken = new Map();
  for (const e of shown.edges) {
    if (e.run) overtaken.set(e.worse, (overtaken.get(e.worse) ?? 0) + e.times);
  }
  const longest = Math.max(12, ...ideal.map((one) => one.doc.length)) * 7.3;
  const label = `Ideal ranking of ${counted(ideal.length, "document")} beside ${report.runs[shown.run]}; the table of documents has both`;
  const marks = "×n: a document above others that n judgments prefer to it.";
  const more = ideal.length - left.length;
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
    found.forEach((one, i) => beside.set(one, at(i)));
    rest.forEach((one, i) => beside.set(one, at(found.length + i) + gap));
    left.forEach((one, i) => {
      const away = one.rank === Infinity,
        mark = overtaken.get(one.vertex);
      const [from, to] = [at(i), beside.get(one)];
      const d = `M${ends[0]} ${from}C${middle} ${from} ${middle} ${to} ${ends[1]} ${to}`;
      lines.append(light.attach(s("path", { class: away ? "slope away" : "slope", d }), one.doc));
      const same = { whole: one.doc, name: shorten(one.doc, most) };
      const here = { kind: "row", x: 0, y: from, width: room + 36, rank: String(one.row.ideal) };
      rows.push(light.attach(rankedDoc({ ...here, ...same }), one.doc));
      const there = {
        kind: away ? "row away" : "row",
        x: right,
        y: to,
        width: width - right,
        rank: away ? "–" : String(one.rank),
        mark: mark ? `×${mark}` : "",
      };
      rows.push(light.attach(rankedDoc({ ...there, ...same }), one.doc));
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

function docName(doc) {
  const text = report.texts.get(doc);
  const name = h("span", { title: text ? `${doc}: ${text}` : doc }, shorten(doc, 34));
  return text ? h("span", {}, name, h("span", { class: "text" }, shorten(text, 90))) : name;
}

/** What each document adds, where both rankings have it, and which rule placed it. */
function documentTable(shown) {
  const { why, hasRun } = shown;
  const place = (rank) => (rank && rank !== Infinity ? String(rank) : "–");
  const last = (rank) => rank || Infinity;
  const part = (label, name, hint) => scores(label, (one) => one.row?.[name] ?? 0, hint);
  const ranks = (label, rank, hint) =>
    numbers(label, (one) => last(rank(one)), hint, {
      upwards: true,
      cell: (one) => place(rank(one)),
    });
  const rule = ({ row }) => {
    if (!row?.rule) return "";
    return row.candidates > 1 ? `${row.rule}; of ${row.candidates} by ${row.by}` : row.rule;
  };
  return grid({
    name: "documents",
    caption: why
      ? `What each document adds to ${current().name} of ${report.runs[shown.run]}`
      : "The judged documents",
    noun: "document",
    search: (one) => `${one.doc} ${report.texts.get(one.doc) ?? ""}`,
    rows: () => shown.documents,
    first: 25,
    columns: [
      ranks(
        "ideal",
        (one) => (why ? one.row?.ideal : one.ideal),
        why
          ? "rank in the ideal ranking nearest to the run"
          : "rank in an ideal ranking that is near no run",
      ),
      { label: "document", value: (one) => one.doc, cell: (one) => docName(one.doc), class: "id" },
      ...(hasRun ? [ranks("rank", (one) => one.rank, "in the run")] : []),
      ...(why?.peeled
        ? [{ label: "placed, as", value: rule, hint: "the rule of the peel, and who decided" }]
        : []),
      ...(why
        ? [
            part("adds", "adds", "to the score: these sum to it"),
            part("ideal adds", "idealAdds", "to the score of the ideal ranking"),
            part("moved", "moved", "change of the score if the run ranked it as the ideal does"),
          ]
        : []),
      numbers("preferred", (one) => one.wins, "judgments that prefer it to another document"),
      numbers("others to it", (one) => one.losses, "judgments that prefer another document"),
      numbers(
        "cycle of",
        (one) => one.cycle,
        "documents from which preferences lead round: no order follows all of them",
        { cell: (one) => place(one.cycle) },
      ),
    ],
  });
}

/** The judgments of a query, one row for each pair and direction. */
function judgmentTable(shown) {
  const { graph, rank, hasRun } = shown;
  const byPair = new Map(shown.edges.map((e) => [`${e.better} ${e.worse}`, e]));
  const reverse = (e) => byPair.get(`${e.worse} ${e.better}`);
  const at = (d) => (rank[d] === Infinity ? "–" : String(rank[d]));
  const filters = {
    ...(hasRun ? { run: ["that the run contradicts", (e) => e.run] } : {}),
    ideal: ["that the ideal ranking contradicts", (e) => e.ideal],
    all: ["all", () => true],
  };
  const names = Object.keys(filters);
  const filter = () => (address.get("judgments") in filters ? address.get("judgments") : names[0]);
  const column = (label, vertex) => ({
    label,
    value: (e) => graph.docs[e[vertex]],
    cell: (e) => docName(graph.docs[e[vertex]]),
    class: "id",
  });
  const ranks = (key, vertex) =>
    numbers("rank", (e) => rank[e[vertex]], null, { key, upwards: true, cell: (e) => at(e[vertex]) });
  const table = grid({
    name: "pairs",
    caption: "Judgments",
    noun: "pair",
    search: (e) => `${graph.docs[e.better]} ${graph.docs[e.worse]}`,
    rows: () => shown.edges.filter(filters[filter()][1]),
    first: 15,
    sort: hasRun ? 4 : 2,
    down: true,
    extra: [
      select(
        "Show",
        names.map((name) => filters[name][0]),
        names.indexOf(filter()),
        (chosen) => {
          address.keep("judgments", names[chosen], names[0]);
          table.fill();
        },
      ),
    ],
    columns: [
      column("preferred", "better"),
      ...(hasRun ? [ranks("rank", "better")] : []),
      column("to", "worse"),
      ...(hasRun ? [ranks("other rank", "worse")] : []),
      numbers("judged", (e) => e.times, "how often the first was preferred to the second"),
      numbers("reverse", (e) => reverse(e)?.times ?? 0, "how often the second was preferred to the first"),
      ...(report.judged.judges
        ? [
            { label: "judges", value: (e) => e.judges, hint: "who preferred the first" },
            { label: "judges against", value: (e) => reverse(e)?.judges ?? "", hint: "who preferred the second" },
          ]
        : []),
      {
        label: "ideal",
        value: (e) =>
          !e.ideal ? "follows it" : e.round ? "contradicts it" : "contradicts it, in no cycle",
        hint: "what the ideal ranking does",
      },
      { label: "cycle", value: (e) => (e.round ? "yes" : ""), hint: "no order follows all of a cycle" },
    ],
  });
  return table;
}
