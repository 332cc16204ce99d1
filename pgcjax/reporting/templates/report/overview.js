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
  const ends = (name, first, last) => ({
    ends: [
      [`${name}_low`, (run) => first[run]],
      [`${name}_high`, (run) => last[run]],
    ],
  });
  const { rank_low, rank_high } = judged;
  return [
    {
      label: `${level}, judgments`,
      value: (run) => judged.low[run],
      cell: (run) => interval(judged, run, low, high),
      class: "wide-cell",
      hint: what,
      ...ends("judged", judged.low, judged.high),
    },
    numbers(
      "tier",
      (run) => judged.tier[run],
      `runs of a tier are not told apart, all runs together: ${what}`,
      { upwards: true },
    ),
    numbers("ranks", (run) => rank_low[run], what, {
      upwards: true,
      cell: (run) => range([rank_low[run], rank_high[run]]),
      ...ends("rank", rank_low, rank_high),
    }),
  ];
}

function range([first, last]) {
  return first === last ? String(first) : `${first}–${last}`;
}

function board() {
  const measure = current(),
    ends = measure.judged ?? measure,
    [low, high] = extent(measure.low, measure.high, ends.low, ends.high);
  const best = measure.order[0],
    level = `${Number((100 * (1 - report.alpha)).toPrecision(8))} %`;
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
    : numbers(
        "like ranks",
        (run) => measure.alike(run)[0],
        "from the best to the worst of the runs that do not differ significantly",
        { cell: (run) => range(measure.alike(run)), upwards: true, class: "spare" },
      );
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
      numbers("rank", (run) => measure.rank[run], null, { upwards: true }),
      links("run", (run) => report.runs[run], (run) => hashOf({ run })),
      scores("mean", (run) => measure.mean[run], measure.name),
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
      ...others.map(([m]) =>
        scores(shorten(m.name, 20), (run) => m.mean[run], `mean of ${m.name}`, {
          key: m.name,
          class: "other",
        }),
      ),
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
  const means = new Map(every.map((query) => [query, measure.meanOn(query)]));
  const deviation = (query) =>
    Math.sqrt(
      measure.on(query).reduce((a, b) => a + (b - means.get(query)) ** 2, 0) / (measure.runCount - 1),
    );
  const best = (query) =>
    measure.order.reduce((a, b) => (measure.score(b, query) > measure.score(a, query) ? b : a));
  fillSection(
    "queries",
    "Queries",
    grid({
      noun: "query",
      name: "queries",
      search: (query) => report.queries[query],
      rows: () => every,
      first: 15,
      columns: [
        links(
          "query",
          (query) => report.queries[query],
          (query) => hashOf({ query }),
        ),
        ...(report.topics.size
          ? [{ label: "text", value: (query) => report.topics.get(report.queries[query]) ?? "" }]
          : []),
        scores("mean", (query) => means.get(query), "of all runs"),
        scores("deviation", deviation, "over all runs"),
        links(
          "best run",
          (query) => report.runs[best(query)],
          (query) => hashOf({ query, run: best(query) }),
        ),
        scores("its score", (query) => measure.on(query).at(-1)),
        ...(report.judged
          ? [numbers("judged", (query) => report.judged.sizes[query], "documents in the graph")]
          : []),
      ],
    }),
  );
}

function fillSection(id, title, ...parts) {
  const section = byId(id);
  section.hidden = false;
  section.replaceChildren(h("h2", {}, title), ...parts.flat());
}

/** What the judgments of each query are: counted by Python. */
function judgmentSizes() {
  const judged = report.judged;
  if (!judged) return;
  const hints = {
    documents: "that a judgment prefers to another, or others to them",
    judgments: "without ties",
    pairs: "that are judged",
    conflicts: "pairs that are judged both ways",
    "in cycles": "documents from which preferences lead back to them",
    "largest part": "documents in the largest strongly connected part",
  };
  byId("sizes").replaceChildren(
    ...judged.notes.map((note) => h("p", { class: "note" }, note)),
    grid({
      name: "judgments",
      caption:
        judged.of === "grades" ? "Graphs of grades, by query" : "Preference graphs, by query",
      noun: "query",
      rows: () => [...report.queries.keys()].filter((query) => judged.sizes[query]),
      first: 15,
      columns: [
        links(
          "query",
          (query) => report.queries[query],
          (query) => hashOf({ query }),
        ),
        ...Object.entries(judged.counts).map(([name, counts]) =>
          numbers(name, (query) => counts[query], hints[name]),
        ),
      ],
    }),
  );
}
