// Tables handed over: CSV at full precision, LaTeX for booktabs, or to be pasted.

/** Escape what LaTeX would take for more than letters, by the rules of the package. */
function latexText(text) {
  const { pattern, escapes } = report.latex;
  return text.replace(new RegExp(pattern, "g"), (part) => escapes[part] ?? `\\${part}`);
}

/**
 * What each format makes of a table: `values` are its rows at full precision, `shown` as
 * people read them, `numeric` says of each column whether it holds numbers.
 */
const FORMATS = {
  CSV: ({ labels, values }) => {
    const cell = (x) => {
      const text = x === null || Number.isNaN(x) ? "" : String(x);
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [labels, ...values].map((row) => `${row.map(cell).join(",")}\n`).join("");
  },
  LaTeX: ({ caption, labels, numeric, shown }) => {
    // After the end of a row, LaTeX takes [ and * for its options.
    const line = (row) => `    ${row.join(" & ").replace(/^(?=[[*])/, "{}")} \\\\`;
    const cell = (text, i) =>
      numeric[i]
        ? latexText(text.replace("−", "-")).replace(/(?<!-)-(?!-)/g, "$$-$$")
        : latexText(text);
    return [
      "\\begin{table}",
      "  \\centering",
      ...(caption ? [`  \\caption{${latexText(caption.replace(/\.+$/, ""))}.}`] : []),
      `  \\begin{tabular}{${numeric.map((right) => (right ? "r" : "l")).join("")}}`,
      "    \\toprule",
      line(labels.map(latexText)),
      "    \\midrule",
      ...shown.map((row) => line(row.map(cell))),
      "    \\bottomrule",
      "  \\end{tabular}",
      "\\end{table}\n",
    ].join("\n");
  },
  Copy: ({ labels, values, numeric }) => {
    // A spreadsheet would compute text that begins so.
    const cell = (x, i) =>
      !numeric[i] && /^[=+\-@\t\r]/.test(x) ? `'${x}` : Number.isNaN(x) ? "" : String(x ?? "");
    return [labels, ...values].map((row) => row.map(cell).join("\t")).join("\n");
  },
};

/** Buttons that hand a table over; `content` gives it as it is then. */
function exportButtons(name, content) {
  const status = h("span", { role: "status" });
  const save = (suffix, text) => {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    h("a", { href: url, download: `${name.replace(/[^\w.-]+/g, "-")}.${suffix}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    status.textContent = "saved";
  };
  const deeds = {
    CSV: () => save("csv", FORMATS.CSV(content())),
    LaTeX: () => save("tex", FORMATS.LaTeX(content())),
    Copy: () => {
      // The clipboard of a browser is not for all pages that are files: what is selected is.
      const field = h("textarea", { "aria-hidden": "true", class: "unseen" });
      field.value = FORMATS.Copy(content());
      const focused = document.activeElement;
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      focused.focus({ preventScroll: true });
      status.textContent = done ? "copied" : "this browser does not let the page copy";
    },
  };
  return h(
    "div",
    { class: "exports", role: "group", "aria-label": "This table as a file" },
    status,
    Object.entries(deeds).map(([label, onclick]) => h("button", { type: "button", onclick }, label)),
  );
}

/** Read a table that was not made by `grid`, and put the buttons below it. */
function exportable(name, table) {
  const texts = (row) => [...row.children].map((cell) => cell.textContent.trim());
  const content = () => {
    const rows = [...table.tBodies[0].rows].map(texts);
    const numeric = [...(table.tBodies[0].rows[0]?.children ?? [])].map((cell) =>
      cell.classList.contains("number"),
    );
    const labels = texts(table.tHead.rows[0]);
    return { caption: table.caption?.textContent, labels, numeric, values: rows, shown: rows };
  };
  return exportButtons(name, content);
}
