/** One bin of a histogram of durations: from `fromMs`, below `toMs`; null = no upper bound. */
export interface Bin {
  /** `s0` … `s59` seconds, `m1` … `m59` minutes, `h1` … `h23` hours, `d1` … `d6` days, `d7` seven days and more. */
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number | null;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_DAYS = 7;
/**
 * Offset from a number of minutes, hours or days to its bin: each of these units starts at one, in the bin after the
 * last one of the smaller unit.
 */
const MINUTES_AT = 59;
const HOURS_AT = 118;
const DAYS_AT = 141;

/** All bins, in order. The last one has no upper bound. */
export const BINS: readonly Bin[] = [
  ...bins('s', SECOND_MS, 0, 60),
  ...bins('m', MINUTE_MS, 1, 60),
  ...bins('h', HOUR_MS, 1, 24),
  ...bins('d', DAY_MS, 1, WEEK_DAYS),
  { name: `d${String(WEEK_DAYS)}`, fromMs: WEEK_DAYS * DAY_MS, toMs: null },
];

/** Index of the bin of a duration (ms, from 0). */
export function binOf(ms: number): number {
  if (ms < MINUTE_MS) return Math.trunc(ms / SECOND_MS);
  if (ms < HOUR_MS) return MINUTES_AT + Math.trunc(ms / MINUTE_MS);
  if (ms < DAY_MS) return HOURS_AT + Math.trunc(ms / HOUR_MS);
  return DAYS_AT + /* guard: histogram-last-bin */ Math.min(Math.trunc(ms / DAY_MS), WEEK_DAYS);
}

function bins(unit: string, unitMs: number, first: number, end: number): Bin[] {
  return Array.from({ length: end - first }, (_, i) => ({
    name: `${unit}${String(first + i)}`,
    fromMs: (first + i) * unitMs,
    toMs: (first + i + 1) * unitMs,
  }));
}
