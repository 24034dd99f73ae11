/** Where a command writes; tests collect it. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Formats rows as aligned columns; the last column is not padded. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  return rows
    .map(
      (row) =>
        row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0))).join('  ') + '\n',
    )
    .join('');
}

/** JSON for programs: one line. */
export function json(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

/** The entries of an answer that should be an object; empty if it is none. */
export function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** Reads a field of an answer. */
export function field(value: unknown, name: string): unknown {
  return entriesOf(value).find(([key]) => key === name)?.[1];
}
