/** One bin of a histogram of durations: from `fromMs` on, and below `toMs`; null = no upper end. */
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
/** What to add to a number of minutes, hours or days to get its bin: each of these units begins at one, in the bin after the last of the smaller. */
const MINUTES_AT = 59;
const HOURS_AT = 118;
const DAYS_AT = 141;

/** All bins, in order. The last one is open: nothing is too long to be counted. */
export const BINS: readonly Bin[] = [
  ...bins('s', SECOND_MS, 0, 60),
  ...bins('m', MINUTE_MS, 1, 60),
  ...bins('h', HOUR_MS, 1, 24),
  ...bins('d', DAY_MS, 1, WEEK_DAYS),
  { name: `d${String(WEEK_DAYS)}`, fromMs: WEEK_DAYS * DAY_MS, toMs: null },
];

/** The number of the bin that a duration (ms, from 0) belongs to. */
export function binOf(ms: number): number {
  if (ms < MINUTE_MS) return Math.trunc(ms / SECOND_MS);
  if (ms < HOUR_MS) return MINUTES_AT + Math.trunc(ms / MINUTE_MS);
  if (ms < DAY_MS) return HOURS_AT + Math.trunc(ms / HOUR_MS);
  return DAYS_AT + Math.min(Math.trunc(ms / DAY_MS), WEEK_DAYS);
}

function bins(unit: string, unitMs: number, first: number, end: number): Bin[] {
  return Array.from({ length: end - first }, (_, i) => ({
    name: `${unit}${String(first + i)}`,
    fromMs: (first + i) * unitMs,
    toMs: (first + i + 1) * unitMs,
  }));
}
