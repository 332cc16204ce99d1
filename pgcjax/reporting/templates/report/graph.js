// Preference graphs: where documents are drawn, in layers by an ideal ranking.

/**
 * Put documents in layers, better ones above; no judgment is between two of a layer.
 *
 * `place` is the rank of each document in the ideal ranking, from 1.
 */
function layout({ size, edges }, place, width) {
  const radius = size > 60 ? 10 : 12,
    most = Math.max(1, Math.floor(width / (2 * radius + 12)));
  const near = Array.from({ length: size }, () => new Set());
  for (const [a, b] of edges) {
    near[a].add(b);
    near[b].add(a);
  }
  const layers = [];
  for (const doc of [...Array(size).keys()].sort((a, b) => place[a] - place[b])) {
    const last = layers.at(-1);
    if (last && last.length < most && !last.some((other) => near[doc].has(other))) last.push(doc);
    else layers.push([doc]);
  }
  const pitch = 2 * radius + (layers.length > 40 ? 8 : 18);
  const x = new Array(size),
    y = new Array(size);
  layers.forEach((docs, i) => {
    // Few documents do not stand exactly below each other: arrows stay apart.
    const room = width / (docs.length + 1);
    const sway = docs.length > 3 ? 0 : Math.sin(i * 1.3) * Math.max(0, room - radius - 6) * 0.8;
    docs.forEach((doc, k) => {
      x[doc] = (k + 1) * room + sway;
      y[doc] = radius + 6 + i * pitch;
    });
  });
  return { x, y, radius, height: 2 * radius + 12 + (layers.length - 1) * pitch };
}

/** Buttons that make a drawing in a frame larger and smaller; the frame scrolls. */
function zoomButtons(figure) {
  const scales = [1, 1.5, 2, 3, 4];
  let at = 0;
  const button = (step, text, label) =>
    h(
      "button",
      {
        type: "button",
        "aria-label": label,
        onclick: () => {
          at = Math.max(0, Math.min(scales.length - 1, at + step));
          figure().querySelector("svg").style.width = `${100 * scales[at]}%`;
        },
      },
      text,
    );
  return [button(1, "+", "Larger graph"), " ", button(-1, "−", "Smaller graph")];
}
