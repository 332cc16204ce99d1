// The address has all that is chosen, by name: #measure=PGC&query=q1&run=oak&runs.sort=-mean.

const address = {
  params: new URLSearchParams(),

  read() {
    this.params = new URLSearchParams(location.hash.slice(1));
  },

  get(name) {
    return this.params.get(name);
  },

  /** Keep a choice, without a step to go back; null, or what there is by default, is left out. */
  keep(name, value, usual = null) {
    this.params.delete(name);
    if (value !== usual) for (const one of [value].flat()) this.params.append(name, one);
    history.replaceState(history.state, "", `#${this.params}`);
    state.drawn &&= overviewKey(); // None while parts are missing.
  },
};

/** The address of runs, a query, or both, by the measure that is shown. */
function hashOf({ run = [], query = null, measure = state.measure }) {
  const params = new URLSearchParams();
  if (measure) params.set("measure", report.measures[measure].name);
  if (query !== null) params.set("query", report.queries[query]);
  for (const one of [run ?? []].flat()) params.append("run", report.runs[one]);
  return String(params);
}

/** What the overview depends on. */
function overviewKey() {
  const params = new URLSearchParams(address.params);
  params.delete("part");
  return String(params);
}

/** Read what the address asks for; `lost` are names that this page lacks. */
function asked() {
  const lost = [];
  const place = (name, names, what) => {
    const found = names.indexOf(name);
    if (found < 0) lost.push(`${what} ${name}`);
    return found < 0 ? null : found;
  };
  const one = (name, names) => {
    const text = address.get(name);
    return text === null ? null : place(text, names, name);
  };
  const runs = address.params.getAll("run").map((name) => place(name, report.runs, "run"));
  const [run = null, other = null] = [...new Set(runs)].filter((one) => one !== null);
  const names = report.measures.map((measure) => measure.name);
  return { run, other, query: one("query", report.queries), measure: one("measure", names), lost };
}
