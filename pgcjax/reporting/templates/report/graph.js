// Preference graphs: the ideal ranking nearest to a run, and where documents are drawn.

/**
 * Peel a graph into the ideal ranking nearest to a run [Luo 2021, Algorithms 2-4].
 *
 * `place` is the rank of each document in the run, Infinity where it was not retrieved;
 * ties among those are decided by the document's id, by which documents ascend. This is
 * `greedy_ideal` of pgcjax.reference.pgc.
 */
function peel(size, edges, place) {
  const left = new Set(Array(size).keys());
  const beats = new Array(size).fill(0),
    loses = new Array(size).fill(0);
  const over = Array.from(left, () => []),
    under = Array.from(left, () => []);
  for (const [a, b, times] of edges) {
    beats[a] += times;
    loses[b] += times;
    over[a].push([b, times]);
    under[b].push([a, times]);
  }
  const take = (doc) => {
    left.delete(doc);
    for (const [other, times] of over[doc]) loses[other] -= times;
    for (const [other, times] of under[doc]) beats[other] -= times;
    return doc;
  };
  const first = (docs) => docs.reduce((a, b) => (place[b] < place[a] ? b : a));
  const last = (docs) => docs.reduce((a, b) => (place[b] >= place[a] ? b : a));
  const those = (kept) => [...left].filter(kept);
  const top = [],
    bottom = [];
  while (left.size) {
    for (let docs; (docs = those((doc) => !beats[doc])).length;) bottom.push(take(last(docs)));
    for (let docs; (docs = those((doc) => !loses[doc])).length;) top.push(take(first(docs)));
    if (left.size) {
      const most = Math.max(...those(() => true).map((doc) => beats[doc] - loses[doc]));
      top.push(take(first(those((doc) => beats[doc] - loses[doc] === most))));
    }
  }
  return [...top, ...bottom.reverse()];
}

/** Say whether an order has the worse document of an edge before the better one. */
function against(place, [better, worse]) {
  return place[worse] < place[better];
}

/** The place of each document in a ranking, from 1. */
function places(ranking) {
  const place = new Array(ranking.length);
  ranking.forEach((doc, i) => {
    place[doc] = i + 1;
  });
  return place;
}

/** Put documents that lead to each other together, the parts from better to worse. */
function partsOf(graph, ideal) {
  const place = places(ideal),
    byLabel = new Map();
  for (const doc of ideal) {
    const label = graph.parts[doc];
    if (!byLabel.has(label)) byLabel.set(label, []);
    byLabel.get(label).push(doc);
  }
  const parts = [...byLabel.values()],
    of = new Array(graph.size);
  parts.forEach((docs, i) =>
    docs.forEach((doc) => {
      of[doc] = i;
    }),
  );
  const below = parts.map(() => new Set()),
    waits = new Array(parts.length).fill(0);
  for (const [a, b] of graph.edges) {
    if (of[a] !== of[b] && !below[of[a]].has(of[b])) {
      below[of[a]].add(of[b]);
      waits[of[b]]++;
    }
  }
  // The level of a part is the length of the longest way that leads to it.
  const level = new Array(parts.length).fill(0),
    order = [];
  const ready = parts.map((_, i) => i).filter((i) => !waits[i]);
  while (ready.length) {
    const i = ready.shift();
    order.push(i);
    for (const j of below[i]) {
      level[j] = Math.max(level[j], level[i] + 1);
      if (--waits[j] === 0) ready.push(j);
    }
  }
  return { parts, of, below, level, order, place };
}

/** Find pairs of parts that no way through a third part connects. */
function direct({ parts, below, order }) {
  const words = Math.ceil(parts.length / 32);
  const reach = parts.map(() => new Uint32Array(words));
  const kept = new Set();
  for (const i of [...order].reverse()) {
    const byOthers = new Uint32Array(words);
    for (const j of below[i])
      reach[j].forEach((word, k) => {
        byOthers[k] |= word;
      });
    for (const j of below[i]) {
      if (!((byOthers[j >> 5] >>> (j & 31)) & 1)) kept.add(i * parts.length + j);
    }
    reach[i].set(byOthers);
    for (const j of below[i]) reach[i][j >> 5] |= 1 << (j & 31);
  }
  return (a, b) => kept.has(a * parts.length + b);
}

/** Give documents their places in a drawing: better ones above, parts as circles. */
function layout(graph, ideal, width) {
  const found = partsOf(graph, ideal),
    { parts, level, place } = found;
  const radius = graph.size > 60 ? 9 : 12,
    gap = radius + 8;
  const shapes = parts.map((docs) => {
    if (docs.length === 1) return { docs, half: radius + 5, ring: 0 };
    const wanted = (docs.length * (2 * radius + 20)) / (2 * Math.PI);
    const least = docs.length > 5 ? width * 0.24 : radius + 12;
    const ring = Math.min(Math.max(wanted, least), width / 2 - radius - 14);
    return { docs, half: ring + radius + 10, ring };
  });
  const levels = [];
  shapes.forEach((shape, i) => {
    (levels[level[i]] ??= []).push(shape);
  });
  const x = new Array(graph.size),
    y = new Array(graph.size),
    circles = [];
  let top = 4,
    turn = 0;
  for (const row of levels) {
    row.sort((p, q) => place[p.docs[0]] - place[q.docs[0]]);
    while (row.length) {
      let used = 0;
      const line = [];
      while (row.length && (!line.length || used + 2 * row[0].half <= width)) {
        used += 2 * row[0].half;
        line.push(row.shift());
      }
      const half = Math.max(...line.map((shape) => shape.half));
      const space = (width - used) / (line.length + 1);
      // Single documents do not stand exactly below each other: edges stay apart.
      const sway =
        line.length === 1 ? Math.sin(turn++ * 1.3) * Math.min(width / 4, (width - used) / 2) : 0;
      let at = (width - used - space * (line.length - 1)) / 2 + sway;
      for (const shape of line) {
        const cx = at + shape.half,
          cy = top + half;
        if (shape.ring)
          circles.push({ x: cx, y: cy, r: shape.ring + radius + 8, docs: shape.docs });
        shape.docs.forEach((doc, k) => {
          const angle = (2 * Math.PI * k) / shape.docs.length - Math.PI / 2;
          x[doc] = cx + shape.ring * Math.cos(angle);
          y[doc] = cy + shape.ring * Math.sin(angle);
        });
        at += 2 * shape.half + space;
      }
      top += 2 * half + (levels.length > 16 ? gap / 2 : gap);
    }
  }
  return { ...found, x, y, circles, radius, height: top, shown: direct(found) };
}
