import { isoTime } from '../../domain/iso-time.js';

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** `1 job`, `2 jobs`. */
export function count(number: number, noun: string): string {
  return `${String(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** A duration in its two largest units: `1 hour 5 minutes`. */
export function duration(ms: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, ms);
  for (const [unit, size] of UNITS) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (number > 0) parts.push(count(number, unit));
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? `${String(Math.round(Math.max(0, ms)))} ms` : parts.join(' ');
}

/** A time and how far it is from now: `2026-01-31T23:59:59.999Z (in 5 minutes)`. */
export function moment(atMs: number, nowMs: number): string {
  const gap = duration(Math.abs(atMs - nowMs));
  return `${isoTime(atMs)} (${atMs > nowMs ? `in ${gap}` : `${gap} ago`})`;
}

/** The first line that is not empty: messages of failures have stacks below it. */
export function firstLine(text: string): string {
  return (
    text
      .trim()
      .split(/[\n\v\f\r\u0085\u2028\u2029]/, 1)[0]
      ?.trimEnd() ?? ''
  );
}

/** `a, b and c`; of more than five the first ones, and how many others there are. @param total of which `names` may be only some */
export function joined(names: readonly string[], total = names.length): string {
  const shown = names.slice(0, 5);
  const rest = total - shown.length;
  if (rest > 0 && shown.length > 0) return `${shown.join(', ')} and ${count(rest, 'other')}`;
  return shown.length < 2 ? (shown[0] ?? '') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1) ?? ''}`;
}

/** The same text with a small letter first, for the middle of a sentence. */
export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
