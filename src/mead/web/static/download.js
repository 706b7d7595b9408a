// Download numbers as a file.

export function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Rows as CSV. A quote disarms text that a spreadsheet would run as a formula.
export function csv(rows) {
  const text = (value) => `"${value.replace(/^(?=[=+\-@\t\r])/, "'").replaceAll('"', '""')}"`;
  const cell = (value) => (value === null || value === undefined ? "" : typeof value === "string" ? text(value) : String(value));
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
