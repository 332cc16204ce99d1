"use strict";
// What is embedded in the page, unpacked: runs, queries, scores, tests, judgments.

const TYPES = {
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  i4: Int32Array,
  f4: Float32Array,
  f8: Float64Array,
};

async function unpack(packed) {
  if (!packed) return null;
  const binary = atob(packed.zip);
  const zipped = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) zipped[i] = binary.charCodeAt(i);
  const stream = new Blob([zipped]).stream();
  const opened = stream.pipeThrough(new DecompressionStream("deflate"));
  const raw = new Uint8Array(await new Response(opened).arrayBuffer());
  if (packed.kind === "text") return new TextDecoder().decode(raw).split("\n");
  const type = TYPES[packed.kind],
    size = type.BYTES_PER_ELEMENT;
  const count = raw.length / size,
    bytes = new Uint8Array(raw.length);
  // The first bytes of all numbers come first, then the second ones.
  for (let k = 0; k < size; k++) {
    for (let i = 0; i < count; i++) bytes[i * size + k] = raw[k * count + i];
  }
  return new type(bytes.buffer);
}

/** Unpack what an object holds under some names. */
async function unpackAll(target, names) {
  await Promise.all(names.map(async (name) => (target[name] = await unpack(target[name]))));
}

/** Scores by one measure, and the tests of all pairs of runs. */
class Measure {
  constructor(raw, runs, queries) {
    Object.assign(this, raw);
    this.runCount = runs;
    this.queryCount = queries;
    // The queries that this measure has, and what says whether it has one.
    this.queries ??= [...Array(queries).keys()];
    this.known = new Set(this.queries);
    this.order = [...this.mean.keys()].sort((a, b) => this.mean[b] - this.mean[a] || a - b);
    this.rank = new Array(runs);
    this.order.forEach((run, i) => {
      const above = this.order[i - 1];
      const tied = i > 0 && this.mean[above] === this.mean[run];
      this.rank[run] = tied ? this.rank[above] : i + 1;
    });
  }

  /** What the table of runs needs; the rest waits for `open`. */
  static async of(raw, runs, queries) {
    const ready = { ...raw };
    await unpackAll(ready, ["mean", "low", "high", "significant"]);
    if (raw.judged) {
      ready.judged = { ...raw.judged, mean: ready.mean };
      await unpackAll(ready.judged, ["low", "high"]);
    }
    return new Measure(ready, runs, queries);
  }

  open() {
    return (this.opened ??= unpackAll(this, ["values", "p", "below", "above"]));
  }

  score(run, query) {
    return this.values[run * this.queryCount + query];
  }

  /** The place of a pair of runs, the first before the second. */
  pair(a, b) {
    return (a * (2 * this.runCount - a - 1)) / 2 + (b - a - 1);
  }

  differ(a, b) {
    if (a === b) return false;
    const at = this.pair(Math.min(a, b), Math.max(a, b));
    return ((this.significant[at >> 3] >> (7 - (at & 7))) & 1) === 1;
  }

  p_value(a, b) {
    if (!this.p) return NaN;
    return this.p[this.pair(Math.min(a, b), Math.max(a, b))];
  }

  /** The Monte-Carlo standard error of p; 0 where p is exact, or corrected. */
  p_error(a, b) {
    const p = this.p_value(a, b);
    return this.resamples && p < 1 ? Math.sqrt((p * (1 - p)) / this.resamples) : 0;
  }

  /** The interval of the mean of the first less that of the second; null if not kept. */
  interval(a, b) {
    const gap = this.mean[a] - this.mean[b];
    if (!this.below) return null;
    const at = this.pair(Math.min(a, b), Math.max(a, b));
    const [below, above] = [this.below[at], this.above[at]];
    return a < b ? [gap - below, gap + above] : [gap - above, gap + below];
  }

  /** The best and the worst rank of the runs that do not differ from one. */
  alike(run) {
    if (!this.ranges) this.ranges = new Map();
    if (!this.ranges.has(run)) {
      const near = this.order.filter((other) => !this.differ(run, other));
      this.ranges.set(run, [this.rank[near[0]], this.rank[near.at(-1)]]);
    }
    return this.ranges.get(run);
  }

  /** The rank of a run on a query: 1 more than the runs that are better. */
  rankOn(run, query) {
    const own = this.score(run, query);
    return this.on(query).reduce((rank, score) => rank + (score > own), 1);
  }

  /** The mean of all runs on a query. */
  meanOn(query) {
    return this.on(query).reduce((a, b) => a + b, 0) / this.runCount;
  }

  /** What all runs have on a query, ascending. */
  on(query) {
    if (!this.sorted) this.sorted = [];
    if (!this.sorted[query]) {
      const all = new Float64Array(this.runCount);
      for (let run = 0; run < this.runCount; run++) all[run] = this.score(run, query);
      this.sorted[query] = all.sort();
    }
    return this.sorted[query];
  }
}

/** The judged documents of queries, and where runs have them. */
class Judgments {
  constructor({ ranks, ...rest }) {
    Object.assign(this, rest, { rankOf: ranks });
    this.first = [0];
    for (const size of this.sizes) this.first.push(this.first.at(-1) + size);
    this.place = new Map(this.runs.map((run, i) => [run, i]));
  }

  open() {
    return (this.opened ??= this.unpack());
  }

  async unpack() {
    const names = ["docs", "edges", "direct", "ideal", "levels", "parts"];
    names.push("grades", "judges", "rankOf");
    await unpackAll(this, names);
    // Edges ascend by document, so that those of a query follow each other.
    this.firstEdge = new Array(this.sizes.length + 1).fill(0);
    const count = this.edges.length / 3;
    for (let query = 0, at = 0; query < this.sizes.length; query++) {
      this.firstEdge[query] = at;
      while (at < count && this.edges[3 * at] < this.first[query + 1]) at++;
      this.firstEdge[query + 1] = at;
    }
  }

  /**
   * The graph of a query: documents; edges [better, worse, times, whether no chain leads
   * there, judges]; parts; and ranks in an ideal ranking that is near no run.
   */
  graph(query) {
    const low = this.first[query],
      high = this.first[query + 1];
    const edges = [];
    if (this.of === "grades") {
      const level = this.levels.subarray(low, high);
      for (let a = 0; a < level.length; a++) {
        for (let b = 0; b < level.length; b++) 
          if (level[a] > level[b]) edges.push([a, b, 1, level[a] === level[b] + 1]);
      }
    }
    for (let at = this.firstEdge[query]; at < this.firstEdge[query + 1]; at++) {
      const [a, b, times] = this.edges.subarray(3 * at, 3 * at + 3);
      edges.push([a - low, b - low, times, this.direct[at] === 1, this.judges?.[at] ?? ""]);
    }
    return {
      size: high - low,
      docs: this.docs.slice(low, high),
      grades: this.grades ? this.grades.subarray(low, high) : null,
      parts: this.parts.subarray(low, high),
      ideal: this.ideal.subarray(low, high),
      edges,
    };
  }

  has(run) {
    return this.place.has(run);
  }

  /** The rank of each judged document of a query in a run, from 1; Infinity if nowhere. */
  ranks(run, query) {
    const size = this.sizes[query];
    if (!this.has(run)) return new Array(size).fill(Infinity);
    const start = this.runs.length * this.first[query] + this.place.get(run) * size;
    const here = this.rankOf.subarray(start, start + size);
    return Array.from(here, (rank) => rank || Infinity);
  }
}

/** Why runs have scores: explanations of some, by measure, query and run. */
class Reasons {
  constructor(raw) {
    Object.assign(this, raw);
  }

  open() {
    return (this.opened ??= this.unpack());
  }

  async unpack() {
    await unpackAll(
      this,
      Object.keys(this).filter((name) => this[name]?.zip !== undefined),
    );
    this.start = new Map();
    for (let i = 0, first = 0; 4 * i < this.cells.length; i++) {
      const [measure, run, query, rows] = this.cells.subarray(4 * i, 4 * i + 4);
      this.start.set(`${measure} ${query} ${run}`, { i, first, rows });
      first += rows;
    }
    this.startOfPair = new Map();
    for (let i = 0, first = 0; 5 * i < this.pairs.length; i++) {
      const [measure, run, other, query, rows] = this.pairs.subarray(5 * i, 5 * i + 5);
      this.startOfPair.set(`${measure} ${query} ${run} ${other}`, { i, first, rows, run, other });
      first += rows;
    }
  }

  /** The explanation of a score; null if the page has none. */
  cell(measure, query, run) {
    const start = this.start.get(`${measure} ${query} ${run}`);
    if (!start) return null;
    const rows = Array.from({ length: start.rows }, (_, k) => {
      const at = start.first + k;
      return {
        doc: this.docs[this.doc[at]],
        rank: this.rank[at],
        ideal: this.ideal[at],
        rule: this.rules[this.rule[at]],
        by: this.deciders[this.by[at]],
        candidates: this.candidates[at],
        adds: this.values[this.adds[at]],
        idealAdds: this.values[this.ideal_adds[at]],
        moved: this.values[this.moved[at]],
      };
    });
    const peeled = rows.some((row) => row.rule);
    return { rows, peeled, score: this.score[start.i], best: this.best[start.i] };
  }

  /** What makes the difference of two runs, the better one first; null if the page has none. */
  difference(measure, query, a, b) {
    const named = (run, other) => this.startOfPair.get(`${measure} ${query} ${run} ${other}`);
    const start = named(a, b) ?? named(b, a);
    if (!start) return null;
    const rows = Array.from({ length: start.rows }, (_, k) => {
      const at = start.first + k;
      return {
        doc: this.docs[this.pair_doc[at]],
        ranks: [this.pair_rank[at], this.pair_other_rank[at]],
        adds: [this.values[this.pair_adds[at]], this.values[this.pair_other_adds[at]]],
        difference: this.values[this.pair_difference[at]],
      };
    });
    return { runs: [start.run, start.other], rows, difference: this.gap[start.i] };
  }

  /** The line that explains a score, or a difference, where this page does not. */
  ask(measure, query, run, other = null) {
    const words = { "--run-id": report.runs[run] };
    if (other !== null) words["--other"] = report.runs[other];
    words["--query"] = report.queries[query];
    words["-m"] = report.measures[measure].name;
    const quoted = (text) =>
      /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
    const options = Object.entries(words).map(([name, text]) => `${name} ${quoted(text)}`);
    return `${this.command} ${options.join(" ")}`;
  }
}

/** Unpack topics, or texts, of the report, once: by id, none of those that the page lacks. */
async function openTexts(...names) {
  for (const name of names) {
    if (report[name] instanceof Map) continue;
    const packed = { ids: null, texts: null, ...report[name] };
    await unpackAll(packed, ["ids", "texts"]);
    report[name] = new Map(packed.ids?.map((id, i) => [id, packed.texts[i]]));
  }
}
