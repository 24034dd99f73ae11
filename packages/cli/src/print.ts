import { styleText } from 'node:util';
import Table from 'cli-table3';

/** Where a command reads and writes; tests collect it. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Standard output is a terminal: live tables. */
  readonly isTerminal?: boolean;
  /** Standard error, if it is a terminal: progress bars. */
  readonly progressTo?: NodeJS.WritableStream | undefined;
  /** Standard output is a terminal that shows colours, and the environment does not forbid them (`NO_COLOR`). */
  readonly hasColor?: boolean | undefined;
  /** Prompts for a yes on the standard error; only if that and the standard input are terminals. */
  readonly confirm?: (prompt: string) => Promise<boolean>;
  /** Calls a listener at the next Ctrl-C, which then does not end the program. @returns a function that takes it away */
  readonly onInterrupt?: (listener: () => void) => () => void;
  /** Standard input, if it is a file or a pipe; undefined at a terminal. */
  readonly input?: () => Promise<Buffer>;
}

/**
 * What a terminal would not show as it is: control characters, among them the start of escape sequences, those that change
 * the direction of text, and those without width, which hide text from its reader: zero-width characters, tags, variation
 * selectors. Job data may have any of them.
 */
// guard: hidden-characters-escaped
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** The same in JSON, where a control character below 0x20 is escaped already. */
const CONTROL_IN_JSON =
  /(?![\u0000-\u001f])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The text with control characters in escaped form: safe for a terminal, and on one line. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, escaped);
}

/** Behind it, a message may have the stack of an error. */
export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** A text as one argument of a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  return Array.from({ length: character.length }, (_, i) => unit(character.charCodeAt(i))).join('');
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

const NO_BORDERS = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
  ].map((place) => [place, '']),
);

/** Formats rows as aligned columns, one line each. */
export function columns(rows: readonly (readonly string[])[]): string {
  return aligned(rows.map((row) => row.map(printable)));
}

/** The same under headings, which are bold on a terminal. */
export function table(
  { hasColor }: Output,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const first = headings.map((heading) => styled({ hasColor }, 'bold', heading));
  return aligned([first, ...rows.map((row) => row.map(printable))]);
}

/** A text in a colour, where the terminal has them. */
export function styled(
  { hasColor }: Pick<Output, 'hasColor'>,
  style: 'bold' | 'green' | 'yellow' | 'red',
  text: string,
): string {
  // `hasColor` is about the stream that is written to; by itself Node.js checks another one.
  return hasColor === true ? styleText(style, text, { validateStream: false }) : text;
}

/** @param rows texts without control characters, but for colours */
function aligned(rows: string[][]): string {
  if (rows.length === 0) return '';
  const lines = new Table({
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  lines.push(...rows);
  return `${lines
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

/** JSON for programs: one line. Its names are those of the API, in `snake_case`. Bytes are `data_base64`, or `{"base64":"…"}`. */
export function json(value: unknown): string {
  return plainJson(apiNames(value));
}

/** The JSON of an answer of the admin port, which has tokens and namespaces as names. */
export function plainJson(value: unknown): string {
  return `${JSON.stringify(value, withBase64).replaceAll(CONTROL_IN_JSON, escaped)}\n`;
}

/** A `Buffer` has a JSON form of its own, which a replacer is given in its place: so it reads the object. */
function withBase64(this: unknown, name: string, part: unknown): unknown {
  const original = (this as Readonly<Record<string, unknown>>)[name];
  return original instanceof Uint8Array ? { base64: base64Of(original) } : part;
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** Values of these fields belong to the user: the names in them stay as they are. */
const OPAQUE = new Set([
  'data',
  'attributes',
  'progress',
  'failedDependencies',
  'headers',
  'value',
  'weights',
]);
const CAMEL_CASE = /^[a-z][A-Za-z0-9]*$/;

/** An answer of the client with the names of the API: `lease_ends_at` for `leaseEndsAt`. */
function apiNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(apiNames);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]: [string, unknown]) => {
      if (name === 'data' && part instanceof Uint8Array) return ['data_base64', base64Of(part)];
      return [apiName(name), OPAQUE.has(name) ? part : apiNames(part)];
    }),
  );
}

/** `tries_left` of `triesLeft`. */
function apiName(name: string): string {
  if (!CAMEL_CASE.test(name)) return name;
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A value of a field in the form of the API as the cell of a table. */
export function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (Array.isArray(value) && value.length === 0) return '-';
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(',');
  return typeof value === 'string' ? value : plainJson(value).trimEnd();
}

/** The fields of an answer by their names in the API, one a line. */
export function fieldLines(value: object): string {
  return columns(entriesOf(apiNames(value)).map(([name, part]) => [name, cell(part)]));
}

/** The fields of a part of an answer by their names in the API, on one line: `tries_left=2 group=smtp`. */
export function factsOf(value: object): string {
  const known = entriesOf(apiNames(value)).filter(([, part]) => part !== null && part !== undefined);
  return known.map(([name, part]) => `${name}=${cell(part)}`).join(' ');
}

/** `3 jobs`, `1 job`. */
export function counted(many: number, what: string): string {
  return `${String(many)} ${what}${many === 1 ? '' : 's'}`;
}

/** The entries of an answer that should be an object; empty if it is none. */
export function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** Reads a field of an answer. */
export function field(value: unknown, name: string): unknown {
  return entriesOf(value).find(([key]) => key === name)?.[1];
}
