import { InvalidArgumentError } from 'commander';

/* Values of options. Commander prints the message of an error behind the name of the option. */

/** The time-out of a call. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError('It must be between 0 and 3600.');
}

export function wholeNumber(text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

export function positiveNumber(text: string): number {
  const value = wholeNumber(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be above 0.');
}

export function integer(text: string): number {
  if (/^-?[0-9]{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number; it may be negative.');
}

/** Any number. */
export function real(text: string): number {
  if (/^-?[0-9]{1,15}(?:\.[0-9]{1,15})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number.');
}

export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new InvalidArgumentError('It must be JSON.');
  }
}

/** JSON that this program can read and write again without a change. */
export function exactJson(text: string): unknown {
  const value = jsonValue(text);
  const numbers = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/-?\d[\d.eE+-]*/g) ?? [];
  const changed = numbers.find((one) => /^-?\d+$/.test(one) && !Number.isSafeInteger(Number(one)));
  if (/* guard: large-numbers-are-not-changed */ changed === undefined) return value;
  throw new InvalidArgumentError(
    `It has ${changed}, which would be changed: write it as text, in double quotes.`,
  );
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** @returns milliseconds of `500ms`, `90s`, `15m`, `12h`, `30d`, `0` */
export function duration(text: string): number {
  if (text === '0') return 0;
  const [, number = '', unit = ''] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs !== undefined) return Number(number) * unitMs;
  throw new InvalidArgumentError('It must be a number with its unit: 500ms, 90s, 15m, 12h or 30d.');
}

/** Such a text for a number of milliseconds, in the largest unit that it fills; a rest is left out. */
export function durationText(ms: number): string {
  const [unit, unitMs] = Object.entries(UNIT_MS).findLast(([, size]) => ms >= size) ?? ['s', 1];
  return `${String(Math.floor(ms / unitMs))}${unit}`;
}

/** `a,b` and further uses of the option, as one list. */
export function list(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(',').filter((part) => part !== '')];
}

/** `name=value`, and further uses of the option. */
export function pairs(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf('=');
  if (at > 0) return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
  throw new InvalidArgumentError('It must be name=value.');
}

/** `Name: value`, and further uses of the option. */
export function headers(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf(':');
  if (at > 0) return { ...before, [text.slice(0, at)]: text.slice(at + 1).trim() };
  throw new InvalidArgumentError("It must be 'Name: value'.");
}

/** The fields that were given. */
export function known<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
