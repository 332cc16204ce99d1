// The overview: which runs differ, and measures against each other.

// What changes the colours of the page, and so of what is painted.
const LOOKS = ["print", "(prefers-color-scheme: dark)"].map((query) => matchMedia(query));

/** All pairs of runs as a picture: one cell each, which a pointer or arrow keys choose. */
function significance() {
  const measure = current(),
    order = measure.order,
    count = order.length;
  const pairs = (count * (count - 1)) / 2;
  const canvas = h("canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "Pairs of runs: arrow keys move, Enter compares",
  });
  const cursor = h("div", { class: "cursor", hidden: true }),
    line = h("p", { class: "says", role: "status" });
  const frame = h("div", { class: "matrix" }, canvas, cursor);
  const place = h("figure", { class: "chart" }, frame, line);
  const names = count <= 40,
    margin = (width) => (names ? Math.min(170, width * 0.3) : 34);
  let at = [0, Math.min(1, count - 1)],
    box = { left: 0, top: 0, width: 1, height: 1 };
  const idle =
    "Blue: the run of the row is significantly better than that of the column; orange: worse; pale: neither. Point at a cell.";
  line.textContent = idle;

  function describe([i, j]) {
    const [a, b] = [order[i], order[j]];
    if (a === b) return report.runs[a];
    const p = measure.p_value(a, b),
      said = measure.differ(a, b) ? "" : "not significantly ";
    const way = measure.mean[a] >= measure.mean[b] ? "better" : "worse";
    return `${i + 1}. ${report.runs[a]} is ${said}${way} than ${j + 1}. ${report.runs[b]}: ${signed(measure.mean[a] - measure.mean[b])}${Number.isNaN(p) ? "" : `, p = ${number(p)}`}`;
  }

  /** A picture of a pixel for each pair. */
  function cells(colours) {
    const picture = new OffscreenCanvas(count, count).getContext("2d", { willReadFrequently: true });
    const colour = (name) => {
      picture.fillStyle = colours[name];
      picture.fillRect(0, 0, 1, 1);
      return new Uint32Array(picture.getImageData(0, 0, 1, 1).data.buffer)[0];
    };
    const [more, less, none] = ["more", "less", "none"].map(colour);
    const pixels = new Uint32Array(count * count); // Those of a run with itself stay clear.
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < i; j++) {
        const differ = measure.differ(order[i], order[j]);
        pixels[i * count + j] = differ ? less : none;
        pixels[j * count + i] = differ ? more : none;
      }
    }
    const data = new Uint8ClampedArray(pixels.buffer);
    picture.putImageData(new ImageData(data, count, count), 0, 0);
    return picture.canvas;
  }

  let width = 0;
  function draw() {
    if (width < LEAST) return;
    const left = margin(width),
      cell = Math.min((width - left) / count, 44);
    const height = count * Math.min(cell, Math.max(names ? 17 : 0, Math.min(cell, 640 / count)));
    const upright = names && cell >= 13, // names of columns, turned
      top = upright ? 112 : 20;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round((top + height) * ratio);
    canvas.style.height = `${top + height}px`;
    box = { left, top, width: width - left, height };
    const paint = canvas.getContext("2d"),
      look = getComputedStyle(place);
    paint.scale(ratio, ratio);
    paint.font = "12px system-ui, sans-serif";
    paint.textBaseline = "middle";
    const colours = {
      more: look.getPropertyValue("--better"),
      less: look.getPropertyValue("--worse"),
      none: look.getPropertyValue("--pale"),
    };
    const w = box.width / count,
      t = height / count;
    const label = (i, most) => `${i + 1}  ${shorten(report.runs[order[i]], most)}`;
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    const few = (pixels, least) => every.find((step) => step * pixels >= least) ?? count;
    const [down, across] = [names && t >= 10 ? 1 : few(t, 16), upright ? 1 : few(w, 30)];
    for (let i = 0; i < count; i++) {
      paint.fillStyle = look.color;
      if (!(i % down)) {
        const text = names ? label(i, Math.floor(left / 7.4) - 3) : String(i + 1);
        paint.fillText(text, 0, top + (i + 0.5) * t, left - 8);
      }
      if (!(i % across)) {
        paint.save();
        paint.translate(left + (i + 0.5) * w, top - 8);
        if (upright) paint.rotate(-Math.PI / 2);
        else paint.textAlign = "center";
        paint.fillText(upright ? label(i, 13) : String(i + 1), 0, 0, upright ? top - 8 : 40);
        paint.restore();
      }
    }
    paint.imageSmoothingEnabled = false;
    paint.drawImage(cells(colours), left, top, width - left, height);
    paint.strokeStyle = look.getPropertyValue("--paper");
    for (let i = 0; i <= count && t > 12; i++) {
      const [x, y] = [Math.round(left + i * w) - 0.5, Math.round(top + i * t) - 0.5];
      paint.stroke(new Path2D(`M${left} ${y}H${width}M${x} ${top}V${top + height}`));
    }
  }

  function point(to) {
    at = to.map((k) => Math.max(0, Math.min(count - 1, k)));
    cursor.hidden = false;
    const w = box.width / count,
      t = box.height / count;
    Object.assign(cursor.style, {
      left: `${box.left + at[1] * w}px`,
      top: `${box.top + at[0] * t}px`,
      width: `${w}px`,
      height: `${t}px`,
    });
    line.textContent = describe(at);
  }

  const hit = (event) => [
    Math.floor(((event.offsetY - box.top) / box.height) * count),
    Math.floor(((event.offsetX - box.left) / box.width) * count),
  ];
  const leave = () => {
    cursor.hidden = true;
    line.textContent = idle;
  };
  const within = (event) => event.offsetX >= box.left && event.offsetY >= box.top;
  const open = () => {
    if (at[0] !== at[1]) location.hash = hashOf({ run: [order[at[0]], order[at[1]]] });
  };
  canvas.addEventListener("pointermove", (event) => {
    within(event) ? point(hit(event)) : leave();
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("click", (event) => {
    if (within(event)) {
      point(hit(event));
      open();
    }
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
      event.key
    ];
    if (event.key === "Enter") open();
    if (!step) return;
    event.preventDefault();
    point([at[0] + step[0], at[1] + step[1]]);
  });
  new ResizeObserver(([entry]) => {
    width = entry.contentRect.width;
    draw();
  }).observe(place);
  for (const look of LOOKS) look.onchange = draw;
  fillSection(
    "significance",
    "Which runs differ",
    h(
      "p",
      {},
      `By ${measure.name}, ${measure.found} of ${counted(pairs, "pair")} of runs differ significantly: ${measure.tested}. Rows and columns are the runs, in the order of their means.`,
    ),
    place,
  );
}

/** The runs by two measures, which the reader chooses. */
function measures() {
  const names = report.measures.map((m) => m.name);
  if (names.length < 2) return;
  const axis = (name, usual) => {
    const place = names.indexOf(address.get(name));
    return place < 0 ? usual : place;
  };
  const [across, upwards] = [axis("x", 0), axis("y", 1)];
  const [x, y] = [report.measures[across], report.measures[upwards]];
  const choice = (name, usual) => (chosen) => {
    address.keep(name, names[chosen], names[usual]);
    measures();
  };
  byId("measures").hidden = false;
  byId("scatter").replaceChildren(
    h(
      "div",
      { class: "bar" },
      select("To the right", names, across, choice("x", 0)),
      select("Upwards", names, upwards, choice("y", 1)),
    ),
    pointChart({
      label: `Runs by ${x.name} and ${y.name}`,
      xLabel: x.name,
      yLabel: y.name,
      says: "A point for each run: its means by two measures. Those without room for a name say it when they are pointed at.",
      points: report.runs.map((name, run) => ({
        name,
        x: x.mean[run],
        y: y.mean[run],
        hash: hashOf({ run }),
      })),
    }),
  );
}
