// The overview: runs by mean, queries, judgments.

const state = { measure: 0, chosen: new Set() };
const current = () => report.measures[state.measure];

function choose(run, on) {
  on ? state.chosen.add(run) : state.chosen.delete(run);
  address.keep(
    "ticked",
    [...state.chosen].map((one) => report.runs[one]),
  );
  showChosen();
}

function showChosen() {
  const bar = byId("chosen"),
    chosen = [...state.chosen];
  bar.hidden = !chosen.length;
  const names = chosen.map((one) => shorten(report.runs[one], 18)).join(", ");
  const two = chosen.length === 2;
  bar.replaceChildren(
    h("span", {}, two ? names : `${names}: tick two runs to compare them`),
    two ? link(hashOf({ run: chosen }), "Compare", { class: "button" }) : "",
    h(
      "button",
      {
        type: "button",
        onclick: () => {
          for (const box of document.querySelectorAll("#board input[type=checkbox]"))
            box.checked = false;
          state.chosen.clear();
          choose(-1, false);
        },
      },
      "Clear",
    ),
  );
}

/** A mean with its interval, on a scale that all rows share. */
function interval(measure, run, low, high) {
  const at = (x) => `${(3 + (94 * (x - low)) / (high - low || 1)).toFixed(2)}%`;
  return s(
    "svg",
    {
      class: "interval",
      role: "img",
      "aria-label": `${number(measure.low[run])} to ${number(measure.high[run])}`,
    },
    s("line", { x1: at(measure.low[run]), x2: at(measure.high[run]), y1: "50%", y2: "50%" }),
    s("circle", { cx: at(measure.mean[run]), cy: "50%", r: 4 }),
  );
}

/** Columns that say how far the judgments carry, if there are replicates of them. */
function byJudgments(judged, level, low, high) {
  if (!judged) return [];
  const what = `${judged.what} (centred)`;
  return [
    {
      label: `${level}, judgments`,
      value: (run) => judged.low[run],
      cell: (run) => interval(judged, run, low, high),
      class: "wide-cell",
      ends: [
        ["judged_low", (run) => judged.low[run]],
        ["judged_high", (run) => judged.high[run]],
      ],
      hint: what,
    },
    {
      label: "tier",
      numeric: true,
      upwards: true,
      value: (run) => judged.tier[run],
      hint: `runs of a tier are not told apart, all runs together: ${what}`,
    },
    {
      label: "ranks",
      numeric: true,
      upwards: true,
      value: (run) => judged.rank_low[run],
      cell: (run) => {
        const [first, last] = [judged.rank_low[run], judged.rank_high[run]];
        return first === last ? String(first) : `${first}–${last}`;
      },
      ends: [
        ["rank_low", (run) => judged.rank_low[run]],
        ["rank_high", (run) => judged.rank_high[run]],
      ],
      hint: what,
    },
  ];
}

function board() {
  const measure = current(),
    ends = measure.judged ?? measure,
    [low, high] = extent(measure.low, measure.high, ends.low, ends.high);
  const best = measure.order[0],
    level = `${Number((100 * (1 - report.alpha)).toPrecision(8))} %`;
  const alike = (run) => {
    const [first, last] = measure.alike(run);
    return first === last ? String(first) : `${first}–${last}`;
  };
  const filters = {
    all: ["all runs", () => true],
    best: ["those that do not differ from the best", (run) => !measure.differ(best, run)],
    ticked: ["those that are ticked", (run) => state.chosen.has(run)],
  };
  const shown = Object.keys(filters),
    filter = () => (address.get("show") in filters ? address.get("show") : "all");
  const ticked = address.params.getAll("ticked").map((name) => report.runs.indexOf(name));
  state.chosen = new Set(ticked.filter((run) => run >= 0));
  const others = report.measures
    .map((m, i) => [m, i])
    .filter(([, i]) => i !== state.measure)
    .slice(0, 6);
  const groups = measure.groups
    ? {
        label: "groups",
        value: (run) => measure.groups[run],
        hint: "runs that share a letter do not differ significantly",
        class: "letters spare",
      }
    : {
        label: "like ranks",
        value: (run) => measure.alike(run)[0],
        cell: alike,
        numeric: true,
        upwards: true,
        class: "spare",
        hint: "from the best to the worst of the runs that do not differ significantly",
      };
  const table = grid({
    noun: "run",
    name: "runs",
    search: (run) => report.runs[run],
    sort: 1,
    rows: () => report.runs.map((_, run) => run).filter(filters[filter()][1]),
    extra: [
      select(
        "Show",
        shown.map((name) => filters[name][0]),
        shown.indexOf(filter()),
        (chosen) => {
          address.keep("show", shown[chosen], "all");
          table.fill();
        },
      ),
    ],
    columns: [
      {
        label: "",
        cell: (run) =>
          h("input", {
            type: "checkbox",
            "aria-label": `Compare ${report.runs[run]}`,
            checked: state.chosen.has(run),
            onchange: (event) => choose(run, event.target.checked),
          }),
      },
      { label: "rank", numeric: true, upwards: true, value: (run) => measure.rank[run] },
      {
        label: "run",
        value: (run) => report.runs[run],
        cell: (run) => link(hashOf({ run }), report.runs[run]),
        class: "id",
      },
      {
        label: "mean",
        numeric: true,
        value: (run) => measure.mean[run],
        cell: (run) => number(measure.mean[run]),
        hint: measure.name,
      },
      {
        label: `${level} interval`,
        value: (run) => measure.low[run],
        cell: (run) => interval(measure, run, low, high),
        class: "wide-cell",
        ends: [
          ["low", (run) => measure.low[run]],
          ["high", (run) => measure.high[run]],
        ],
        hint: "Student's t, over queries",
        below: () =>
          h(
            "span",
            { class: "ends" },
            h("span", {}, number(low, 2)),
            h("span", {}, number(high, 2)),
          ),
      },
      groups,
      ...byJudgments(measure.judged, level, low, high),
      ...others.map(([m]) => ({
        label: shorten(m.name, 20),
        key: m.name,
        hint: `mean of ${m.name}`,
        numeric: true,
        class: "other",
        value: (run) => m.mean[run],
        cell: (run) => number(m.mean[run]),
      })),
    ],
  });
  byId("board").replaceChildren(
    table,
    h(
      "p",
      { class: "note" },
      `${measure.notes.join("; ")}. Choose a run for its queries; tick two to compare them.`,
    ),
    h("div", { id: "chosen", class: "chosen", role: "status", hidden: true }),
  );
  showChosen();
}

function queries() {
  const measure = current(),
    every = measure.queries;
  const mean = (query) => measure.on(query).reduce((a, b) => a + b, 0) / measure.runCount;
  const means = new Map(every.map((query) => [query, mean(query)]));
  const deviation = (query) =>
    Math.sqrt(
      measure.on(query).reduce((a, b) => a + (b - means.get(query)) ** 2, 0) / (measure.runCount - 1),
    );
  const best = (query) =>
    measure.order.reduce((a, b) => (measure.score(b, query) > measure.score(a, query) ? b : a));
  const ordered = [...every].sort((a, b) => means.get(b) - means.get(a));
  const sizes = report.judged
    ? [
        {
          label: "judged",
          numeric: true,
          value: (query) => report.judged.sizes[query],
          hint: "documents in the graph",
        },
      ]
    : [];
  fillSection(
    "queries",
    "Queries",
    queryChart(measure, ordered, null, (query) => hashOf({ query })),
    grid({
      noun: "query",
      name: "queries",
      search: (query) => report.queries[query],
      rows: () => every,
      first: 15,
      columns: [
        {
          label: "query",
          value: (query) => report.queries[query],
          cell: (query) => link(hashOf({ query }), report.queries[query]),
          class: "id",
        },
        {
          label: "mean",
          numeric: true,
          value: (query) => means.get(query),
          cell: (query) => number(means.get(query)),
          hint: "of all runs",
        },
        {
          label: "deviation",
          numeric: true,
          value: deviation,
          cell: (query) => number(deviation(query)),
          hint: "over all runs",
        },
        {
          label: "best run",
          value: (query) => report.runs[best(query)],
          cell: (query) => link(hashOf({ query, run: best(query) }), report.runs[best(query)]),
          class: "id",
        },
        {
          label: "its score",
          numeric: true,
          value: (query) => measure.on(query).at(-1),
          cell: (query) => number(measure.on(query).at(-1)),
        },
        ...sizes,
      ],
    }),
  );
}

function fillSection(id, title, ...parts) {
  const section = byId(id);
  section.hidden = false;
  section.replaceChildren(h("h2", {}, title), ...parts.flat());
}

function judgmentSizes() {
  const judged = report.judged;
  if (!judged) return;
  const column = (label, name, hint) => ({ label, numeric: true, value: (row) => row[name], hint });
  const rows = report.queries
    .map((_, query) => query)
    .filter((query) => judged.sizes[query])
    .map((query) => {
      if (judged.of === "grades") return { query, documents: judged.sizes[query] };
      const graph = judged.graph(query),
        pairs = new Set(graph.edges.map(([a, b]) => a * graph.size + b));
      const conflicts = graph.edges.filter(
        ([a, b]) => a < b && pairs.has(b * graph.size + a),
      ).length;
      const count = new Map();
      for (const part of graph.parts) count.set(part, (count.get(part) ?? 0) + 1);
      const cycles = [...count.values()].filter((size) => size > 1);
      return {
        query,
        documents: graph.size,
        judgments: graph.edges.reduce((sum, e) => sum + e[2], 0),
        pairs: pairs.size - conflicts,
        conflicts,
        inParts: cycles.reduce((a, b) => a + b, 0),
        largest: Math.max(0, ...cycles),
      };
    });
  const more = [
    column("judgments", "judgments", "without ties"),
    column("pairs", "pairs", "that are judged"),
    column("conflicts", "conflicts", "pairs that are judged both ways"),
    column("in cycles", "inParts", "documents from which preferences lead back to them"),
    column("largest part", "largest", "documents in the largest strongly connected part"),
  ];
  byId("sizes").replaceChildren(
    ...judged.notes.map((note) => h("p", { class: "note" }, note)),
    grid({
      caption:
        judged.of === "grades" ? "Graphs of grades, by query" : "Preference graphs, by query",
      noun: "query",
      rows: () => rows,
      first: 15,
      name: "judgments",
      columns: [
        {
          label: "query",
          value: (row) => report.queries[row.query],
          cell: (row) => link(hashOf({ query: row.query }), report.queries[row.query]),
          class: "id",
        },
        column("documents", "documents", "that a judgment prefers to another, or others to them"),
        ...(judged.of === "grades" ? [] : more),
      ],
    }),
  );
}
