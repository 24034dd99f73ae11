import { MAX_HISTORY_DAYS } from '../../domain/limits.js';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/** What a namespace may choose. Whole numbers all of them; the unit is in the name. */
export const SETTINGS = {
  /** Days that the statistics of a day are kept after its end; 0 = none. */
  history_days: { min: 0, max: MAX_HISTORY_DAYS, builtIn: 30 },
  /** How long a lease lasts if neither its consumer nor its job says. */
  ttr_ms: { min: 1, max: YEAR_MS, builtIn: 60_000 },
  /** How long a lease lasts from a heartbeat on that does not say; 0 = as long as the job says, or `ttr_ms`. */
  heartbeat_ms: { min: 0, max: YEAR_MS, builtIn: 0 },
  /** How long jobs that are done are kept if neither they nor their queue say; 0 = not at all. */
  retention_ms: { min: 0, max: YEAR_MS, builtIn: 0 },
  /** How many jobs that are done a queue keeps at most. */
  retention_count: { min: 0, max: 10_000_000, builtIn: 50_000 },
  /** Entries of a job's timeline; the first is kept, of the others the latest. */
  max_history: { min: 2, max: 100, builtIn: 100 },
  /** From the request to cancel a job that runs until its lease is taken away. */
  grace_ms: { min: 0, max: DAY_MS, builtIn: 10_000 },
  /** After this long without a word a worker is forgotten. */
  max_worker_age_ms: { min: 1_000, max: YEAR_MS, builtIn: DAY_MS },
} as const;

export type SettingKey = keyof typeof SETTINGS;
export type SettingValues = Readonly<Record<SettingKey, number>>;

export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[];

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(SETTINGS, key);
}

/** What holds where nobody has chosen anything. */
export const BUILT_IN = Object.fromEntries(
  SETTING_KEYS.map((key) => [key, SETTINGS[key].builtIn]),
) as SettingValues;
