// One run, two runs, or one query, in place of the overview.

function trail(...steps) {
  return h(
    "nav",
    { class: "trail", "aria-label": "Where you are" },
    link(homeHash(), "All runs"),
    steps.flatMap((step) => [" › ", step]),
  );
}

function showDetail(...parts) {
  byId("detail").replaceChildren(...parts.flat());
}

function heading(text) {
  return h("h2", { tabindex: -1 }, text);
}

function runView(run) {
  const measure = current(),
    name = report.runs[run];
  const mean = (query) => measure.meanOn(query);
  const every = measure.queries;
  const [first, last] = measure.alike(run),
    judged = report.judged;
  showDetail(
    trail(name),
    heading(name),
    facts([
      [measure.name, number(measure.mean[run])],
      ["rank", `${measure.rank[run]} of ${report.runs.length}`],
      ["interval", `${number(measure.low[run])} to ${number(measure.high[run])}`],
      [
        "not significantly different from",
        first === last ? "no other rank" : `ranks ${first} to ${last}`,
      ],
      ...report.measures
        .filter((m) => m !== measure)
        .map((m) => [m.name, `${number(m.mean[run])}, rank ${m.rank[run]}`]),
    ]),
    judged && !judged.has(run) ? h("p", { class: "note" }, missingRanks()) : "",
    grid({
      name: "queries",
      caption: `Queries of ${name}`,
      noun: "query",
      search: (query) => report.queries[query],
      rows: () => every,
      sort: 3,
      first: 25,
      columns: [
        links(
          "query",
          (query) => report.queries[query],
          (query) => hashOf({ query, run }),
        ),
        scores(measure.name, (query) => measure.score(run, query)),
        scores("mean", mean, "of all runs"),
        differences("less mean", (query) => measure.score(run, query) - mean(query)),
        numbers("rank", (query) => measure.rankOn(run, query), "of this run on the query", {
          upwards: true,
        }),
      ],
    }),
  );
}

function pairView(a, b) {
  const measure = current(),
    [one, two] = [report.runs[a], report.runs[b]];
  const gap = (query) => measure.score(a, query) - measure.score(b, query);
  const every = measure.queries;
  const bounds = measure.interval(a, b),
    p = measure.p_value(a, b),
    error = measure.p_error(a, b);
  const wins = every.filter((query) => gap(query) > 0).length,
    losses = every.filter((query) => gap(query) < 0).length;
  showDetail(
    trail(link(hashOf({ run: a }), one), two),
    heading(`${one} and ${two}`),
    facts([
      [`${measure.name}, means`, `${number(measure.mean[a])} and ${number(measure.mean[b])}`],
      ["difference", signed(measure.mean[a] - measure.mean[b])],
      [
        "interval of the difference",
        bounds ? `${signed(bounds[0])} to ${signed(bounds[1])}` : null,
      ],
      [
        `p, ${measure.tested}`,
        Number.isNaN(p) ? null : `${number(p)}${error ? ` ± ${number(error)}` : ""}`,
      ],
      ["significant", `${measure.differ(a, b) ? "yes" : "no"}, α = ${report.alpha}`],
      [
        "queries",
        `${one} is better on ${wins}, ${two} on ${losses}, equal on ${every.length - wins - losses}`,
      ],
    ]),
    grid({
      name: "queries",
      caption: "The queries where they differ most",
      noun: "query",
      search: (query) => report.queries[query],
      rows: () => every,
      sort: 4,
      down: true,
      first: 25,
      columns: [
        links(
          "query",
          (query) => report.queries[query],
          (query) => hashOf({ query, run: a }),
        ),
        ...[a, b].map((run) =>
          scores(
            shorten(report.runs[run], 20),
            (query) => measure.score(run, query),
            report.runs[run],
            {
              key: report.runs[run],
              cell: (query) => link(hashOf({ query, run }), number(measure.score(run, query))),
            },
          ),
        ),
        differences("difference", gap, "and the documents that make it", {
          cell: (query) => link(hashOf({ query, run: [a, b] }), signed(gap(query))),
        }),
        scores("size", (query) => Math.abs(gap(query)), "of the difference"),
      ],
    }),
  );
}

function missingRanks() {
  const { judged } = report;
  if (!judged.all)
    return "The page knows no ranks of documents: make it with --runs to see ideal rankings beside runs.";
  if (judged.runs.length < judged.all) {
    return `The page holds the documents of the best ${judged.runs.length} of ${judged.all} runs, so that it stays small; make one of fewer runs to see the others.`;
  }
  return "This run was not among those that the page was made of (--runs).";
}

function queryView(query, asked, other) {
  const measure = current(),
    { judged } = report,
    name = report.queries[query];
  const known = judged ? measure.order.filter((run) => judged.has(run)) : [];
  const run =
    asked ??
    known.reduce(
      (a, b) => (a === null || measure.score(b, query) > measure.score(a, query) ? b : a),
      null,
    );
  const has = measure.known.has(query),
    values = measure.on(query);
  const chosen = run === null ? null : report.runs[run];
  const parts = [
    trail(...(asked === null ? [] : [link(hashOf({ run }), chosen)]), `query ${name}`),
    heading(chosen === null ? `Query ${name}` : `Query ${name}, ${chosen}`),
    report.topics.has(name) ? h("p", { class: "topic" }, report.topics.get(name)) : "",
    facts([
      [
        "scores of all runs",
        !has
          ? `none by ${measure.name}`
          : `${number(values[0])} to ${number(values.at(-1))}, mean ${number(measure.meanOn(query))}`,
      ],
      ...(chosen === null
        ? []
        : report.measures.filter((m) => m.known.has(query)).map((m) => [
            m.name,
            `${number(m.score(run, query))}, rank ${m.rankOn(run, query)}`,
          ])),
    ]),
  ];
  if (other !== null) parts.push(...differenceParts(query, run, other));
  if (judged && judged.sizes[query]) parts.push(...graphParts(query, run));
  else
    parts.push(
      h(
        "p",
        { class: "note" },
        judged
          ? "Nobody judged this query."
          : "The graph of this query needs judgments: make the page with --prefs and --runs.",
      ),
    );
  parts.push(
    h("h3", {}, "All runs on this query"),
    grid({
      name: "runs",
      caption: `Runs on query ${name}`,
      noun: "run",
      search: (one) => report.runs[one],
      rows: () => report.runs.map((_, one) => one),
      sort: 1,
      down: true,
      first: 15,
      columns: [
        {
          label: "run",
          value: (one) => report.runs[one],
          cell: (one) =>
            link(hashOf({ query, run: one }), report.runs[one], {
              "aria-current": one === run ? "true" : null,
            }),
          class: "id",
        },
        ...[measure, ...report.measures.filter((m) => m !== measure)].map((m) =>
          scores(shorten(m.name, 20), (one) => m.score(one, query), m.name, {
            key: m.name,
            class: m === measure ? "" : "other",
          }),
        ),
      ],
    }),
  );
  showDetail(...parts);
}

/** Why a run has its score on a query, or the command that says it. */
function reasonLine(query, run) {
  const { why } = report,
    measure = current();
  if (!why || run === null) return "";
  const cell = why.cell(state.measure, query, run);
  if (cell) {
    return h(
      "p",
      {},
      `${measure.name} of ${report.runs[run]} is ${number(cell.score)}, that of its ideal ranking ${number(cell.best)}. The table of documents says what each of them adds.`,
    );
  }
  const note = why.notes[state.measure];
  if (note) return h("p", { class: "note" }, `Why, by ${measure.name}: ${note}.`);
  if (!report.judged.sizes[query] || !measure.known.has(query)) return "";
  const line = why.ask(state.measure, query, run);
  return commandNote("Why this run has its score is not in this page; this command says it:", line);
}

function commandNote(text, line) {
  return h("div", { class: "note" }, h("p", {}, text), h("pre", { tabindex: 0 }, line));
}

/** The documents that make the difference of two runs on a query, or the command that says it. */
function differenceParts(query, run, other) {
  const { why } = report,
    measure = current(),
    title = h("h3", {}, `What makes the difference of ${report.runs[run]} and ${report.runs[other]}`);
  if (!why) return [title, h("p", { class: "note" }, missingRanks())];
  const shown = why.difference(state.measure, query, run, other);
  if (!shown) {
    const note = why.notes[state.measure];
    const line = why.ask(state.measure, query, run, other);
    const text = `${note ? `${note}. ` : ""}It is not in this page; this command says it:`;
    return [title, commandNote(text, line)];
  }
  const names = shown.runs.map((one) => report.runs[one]);
  const rank = (k) =>
    numbers(`rank, ${shorten(names[k], 16)}`, (one) => one.ranks[k] || Infinity, `in ${names[k]}`, {
      upwards: true,
      cell: (one) => (one.ranks[k] ? String(one.ranks[k]) : "–"),
    });
  const adds = (k) => scores(`adds, ${shorten(names[k], 16)}`, (one) => one.adds[k], names[k]);
  const table = grid({
    name: "difference",
    caption: `What each document makes of ${measure.name} of ${names[0]} less that of ${names[1]}: together ${signed(shown.difference)}`,
    noun: "document",
    rows: () => shown.rows,
    first: 10,
    sort: 6,
    down: true,
    columns: [
      { label: "document", value: (one) => one.doc, cell: (one) => docName(one.doc), class: "id" },
      ...[rank(0), rank(1), adds(0), adds(1)],
      differences("difference", (one) => one.difference),
      scores("size", (one) => Math.abs(one.difference), "of the difference"),
    ],
  });
  return [title, table];
}

function graphParts(query, run) {
  const { judged } = report,
    shown = caseOf(query, run),
    { edges, graph, hasRun, why, nearest } = shown;
  const light = new Spotlight(shown),
    tally = (kept) => edges.reduce((n, e) => n + (kept(e) ? e.times : 0), 0);
  const which = () => (address.get("arrows") in ARROWS ? address.get("arrows") : "direct"),
    kinds = Object.keys(ARROWS);
  const holder = h("div", {}, graphDrawing(shown, light, which()));
  const arrowChoice = select(
    "Arrows",
    kinds.map((kind) => ARROWS[kind][0]),
    kinds.indexOf(which()),
    (chosen) => {
      address.keep("arrows", kinds[chosen], "direct");
      holder.replaceChildren(graphDrawing(shown, light, which()));
    },
  );
  const hits = h("span", { class: "said", role: "status" });
  const field = h("input", {
    type: "search",
    placeholder: "Find a document",
    "aria-label": "Find a document in the graph",
    value: address.get("find") ?? "",
    oninput: () => {
      address.keep("find", field.value, "");
      hits.textContent = field.value ? counted(light.find(field.value), "document") : "";
      if (!field.value) light.find("");
    },
  });
  const total = tally(() => true),
    missed = tally((e) => e.run),
    unmet = tally((e) => e.ideal),
    spare = tally((e) => e.ideal && !e.round);
  const key = (kind, text) =>
    h(
      "li",
      {},
      s(
        "svg",
        { viewBox: "0 0 30 14", class: "key", "aria-hidden": "true" },
        kind === "ring"
          ? s("circle", { class: "ring", cx: 15, cy: 7, r: 6 })
          : s("path", { class: `edge ${kind}`, d: "M1 7L29 7" }),
      ),
      text,
    );
  const what = judged.of === "grades" ? "preferences of grades" : "judgments";
  const summary =
    `${counted(graph.size, "document")}, ${total} ${what}. ` +
    (hasRun ? `${report.runs[run]} contradicts ${missed} of them; ` : "") +
    `${nearest ? "its ideal ranking" : "an ideal ranking that is near no run"}, ${unmet}` +
    `${spare ? `, of which ${spare} in no cycle` : ""}.`;
  const ranking = why ? h("div", {}, h("h3", {}, "Ideal ranking and run"), rankingDrawing(shown, light)) : "";
  const drawing = h(
    "div",
    {},
    h("h3", {}, "Preference graph"),
    h("div", { class: "bar" }, arrowChoice, h("span", {}, zoomButtons(() => holder)), field, hits),
    holder,
    light.line,
    h(
      "ul",
      { class: "legend" },
      key("kept", "is preferred to; numbers are ranks in the ideal ranking"),
      hasRun ? key("run", "contradicted by the run") : "",
      key("ideal", "contradicted by the ideal ranking, in a cycle"),
      spare ? key("spare", "contradicted by the ideal ranking, though in no cycle") : "",
      key("ring", "in a cycle: no order follows all judgments"),
    ),
  );
  return [
    reasonLine(query, run),
    h("p", {}, summary),
    !hasRun ? h("p", { class: "note" }, missingRanks()) : "",
    h("div", { class: why ? "beside" : "" }, drawing, ranking),
    documentTable(shown),
    judgmentTable(shown),
  ];
}
