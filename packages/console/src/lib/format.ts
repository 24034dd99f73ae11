/* Numbers, times and durations as the page shows them. Times come as ISO 8601 in UTC. */

const THIN = '\u2009';

/** A whole number with thin spaces between its thousands. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

/** A rate in 1/s with three digits that count. */
export function rate(perSecond: number | null | undefined): string {
  if (perSecond === null || perSecond === undefined) return '–';
  if (perSecond === 0) return '0';
  return perSecond >= 100 ? count(perSecond) : String(Number(perSecond.toPrecision(2)));
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** A duration in its two largest units: `3 d 4 h`, `12 s`, `340 ms`. */
export function duration(ms: number): string {
  const all = Math.abs(ms);
  const first = UNITS.findIndex(([, size]) => all >= size);
  const unit = UNITS[first];
  if (unit === undefined) return `${Math.round(all)} ms`;
  const [name, size] = unit;
  const next = UNITS[first + 1];
  if (next === undefined)
    return `${all < 10_000 ? Number((all / size).toFixed(1)) : Math.floor(all / size)} ${name}`;
  const rest = Math.floor((all % size) / next[1]);
  return `${Math.floor(all / size)} ${name}${rest > 0 ? ` ${rest} ${next[0]}` : ''}`;
}

/** How long ago or until: `3 m ago`, `in 2 h`. */
export function relative(at: string | number | null | undefined, nowMs: number): string {
  if (at === null || at === undefined) return '–';
  const exact = (typeof at === 'number' ? at : Date.parse(at)) - nowMs;
  if (Number.isNaN(exact)) return String(at);
  // Whole seconds: tenths would flicker.
  const ms = Math.trunc(exact / 1_000) * 1_000;
  if (ms === 0) return 'now';
  return ms < 0 ? `${duration(ms)} ago` : `in ${duration(ms)}`;
}

const pad = (value: number): string => String(value).padStart(2, '0');

/** A time in the time zone of this browser: `2026-11-27 18:03:04`. */
export function local(at: string | number | null | undefined): string {
  if (at === null || at === undefined) return '–';
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** The same in UTC, with its name. */
export function utc(at: string | number | null | undefined): string {
  if (at === null || at === undefined) return '–';
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The part of a day of a local time: `18:03:04.120`. */
export function clock(at: string | number): string {
  const date = new Date(at);
  return `${local(at).slice(11)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** Bytes in KiB, MiB or GiB. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = value === 0 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled >= 100 || power === 0 ? Math.round(scaled) : Number(scaled.toPrecision(3))} ${units[power] ?? ''}`;
}
