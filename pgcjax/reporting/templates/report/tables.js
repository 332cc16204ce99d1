// Tables that sort by a click on a column's name, search, and show all rows if asked to.

/**
 * A table, whose order and search the address has: NAME.sort, NAME.find, NAME.all.
 *
 * columns: {label, value(row), cell(row), numeric, hint, class, ends}; `value` is what a
 * column sorts by, `cell` what it shows, by default the value; `ends` are the columns that
 * a file has in place of a drawn one: [label, value(row)].
 */
function grid({
  name,
  caption,
  columns,
  rows,
  sort = 0,
  down = false,
  first = 50,
  search = null,
  extra = [],
  noun = "row",
}) {
  const key = (column) => column.key ?? column.label;
  const usual = (down ? "-" : "") + key(columns[sort]);
  const asked = address.get(`${name}.sort`) ?? usual;
  const place = columns.findIndex((column) => column.value && key(column) === asked.replace(/^-/, ""));
  const memory = {
    sort: place < 0 ? sort : place,
    down: place < 0 ? down : asked.startsWith("-"),
    text: address.get(`${name}.find`) ?? "",
    all: address.get(`${name}.all`) !== null,
  };
  let listed = [];
  const said = h("span", { class: "said", role: "status" });
  const more = h("button", {
    type: "button",
    class: "more",
    onclick: () => {
      memory.all = true;
      address.keep(`${name}.all`, "yes");
      fill();
    },
  });
  const body = h("tbody");
  const heads = columns.map((column, i) => {
    const button = h(
      "button",
      {
        type: "button",
        title: column.hint,
        onclick: () => {
          const same = memory.sort === i;
          memory.down = same ? !memory.down : Boolean(column.numeric && !column.upwards);
          memory.sort = i;
          address.keep(`${name}.sort`, (memory.down ? "-" : "") + key(column), usual);
          fill();
        },
      },
      column.label,
    );
    const label = column.value ? button : h("span", { class: "unseen" }, "ticked");
    return h("th", { scope: "col", class: classOf(column) }, label, column.below?.() ?? "");
  });

  function fill() {
    const by = columns[memory.sort].value;
    const compare = (a, b) => {
      const [x, y] = [by(a), by(b)];
      if (typeof x === "string") return natural(x, y);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
      return x - y;
    };
    const words = memory.text.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = rows().filter((row) => {
      const text = search ? search(row).toLowerCase() : "";
      return words.every((word) => text.includes(word));
    });
    const sorted = kept.map((row) => row).sort(compare);
    if (memory.down) {
      sorted.sort((a, b) => compare(b, a));
    }
    listed = sorted;
    const shown = memory.all ? sorted : sorted.slice(0, first);
    body.replaceChildren(
      ...shown.map((row) =>
        h(
          "tr",
          {},
          columns.map((column, i) =>
            h(
              i === 0 && column.header ? "th" : "td",
              { class: classOf(column) },
              column.cell ? column.cell(row) : plain(column.value(row)),
            ),
          ),
        ),
      ),
    );
    heads.forEach((head, i) => {
      if (!columns[i].value) return;
      const how = memory.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", i === memory.sort ? how : "none");
    });
    const rest = sorted.length - shown.length;
    more.hidden = rest === 0;
    more.textContent = `Show all ${counted(sorted.length, noun)}`;
    const all = rows().length;
    const cut = rest && shown.length ? `, the first ${shown.length} shown` : "";
    said.textContent =
      (sorted.length < all || words.length
        ? `${sorted.length} of ${counted(all, noun)}`
        : counted(all, noun)) + cut;
  }

  const field =
    search &&
    h("input", {
      type: "search",
      placeholder: `Search ${counted(2, noun).slice(2)}`,
      "aria-label": `Search ${counted(2, noun).slice(2)}`,
      value: memory.text,
      oninput: () => {
        memory.text = field.value;
        address.keep(`${name}.find`, field.value, "");
        fill();
      },
    });
  const table = h(
    "table",
    {},
    caption ? h("caption", {}, caption) : "",
    h("thead", {}, h("tr", {}, heads)),
    body,
  );
  const bar = search || extra.length ? h("div", { class: "bar" }, field ?? "", extra, said) : "";
  const content = () => {
    const kept = columns.filter((column) => column.value && column.label);
    const out = kept.flatMap((column) =>
      (column.ends ?? [[key(column), column.value]]).map(([label, value]) => ({
        label,
        value,
        numeric: Boolean(column.numeric || column.ends),
        text: (row) =>
          column.cell && !column.ends
            ? h("span", {}, column.cell(row)).textContent
            : plain(value(row)),
      })),
    );
    return {
      caption: caption ?? `${noun.endsWith("ry") ? "Queries" : "Runs"} by ${current().name}`,
      labels: out.map((column) => column.label),
      numeric: out.map((column) => column.numeric),
      values: listed.map((row) => out.map((column) => column.value(row))),
      shown: listed.map((row) => out.map((column) => column.text(row))),
    };
  };
  const foot = h("div", { class: "foot" }, more, exportButtons(name, content));
  const whole = h("div", { class: "grid" }, bar, h("div", { class: "wide" }, table), foot);
  whole.fill = fill;
  fill();
  return whole;
}

/** A column of numbers; ranks ascend at the first click. */
function numbers(label, value, hint, more = {}) {
  return { label, numeric: true, value, hint, ...more };
}

/** A column of scores, with four decimals. */
function scores(label, value, hint, more = {}) {
  return numbers(label, value, hint, { cell: (row) => number(value(row)), ...more });
}

/** A column of differences of scores. */
function differences(label, value, hint, more = {}) {
  return scores(label, value, hint, { cell: (row) => signed(value(row)), ...more });
}

/** A column of names that lead to a part of the page. */
function links(label, value, hash, more = {}) {
  return { label, value, cell: (row) => link(hash(row), value(row)), class: "id", ...more };
}

function classOf(column) {
  return [column.numeric && "number", column.class].filter(Boolean).join(" ") || null;
}

function plain(value) {
  return typeof value === "number" && !Number.isInteger(value) ? number(value) : String(value);
}
