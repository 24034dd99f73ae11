import { MAX_HISTORY_DAYS } from '../../domain/limits.js';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/** Settings of a namespace. All are whole numbers; the unit is in the name. */
export const SETTINGS = {
  /** Days that the statistics of a day are kept after its end; 0 = no statistics. */
  history_days: { min: 0, max: MAX_HISTORY_DAYS, builtIn: 30 },
  /** Duration of a lease if neither its consumer nor its job sets one. */
  ttr_ms: { min: 1, max: YEAR_MS, builtIn: 60_000 },
  /** Duration of a lease after a heartbeat that does not set one; 0 = the job's own, or `ttr_ms`. */
  heartbeat_ms: { min: 0, max: YEAR_MS, builtIn: 0 },
  /** Shortest delay before the next attempt after a lease expired, if neither the job nor its queue sets it. */
  lease_grace_ms: { min: 0, max: DAY_MS, builtIn: 0 },
  /** How long completed jobs are kept if neither they nor their queue set it; 0 = not at all. */
  retention_ms: { min: 0, max: YEAR_MS, builtIn: 0 },
  /** Maximum number of completed jobs that a queue keeps. */
  retention_count: { min: 0, max: 10_000_000, builtIn: 50_000 },
  /** Maximum number of timeline entries per job; the first one and the latest ones are kept. */
  max_history: { min: 2, max: 100, builtIn: 100 },
  /** Time from the request to cancel a running job until its lease is revoked. */
  grace_ms: { min: 0, max: DAY_MS, builtIn: 10_000 },
  /** A worker that has sent no request for this long is forgotten. */
  max_worker_age_ms: { min: 1_000, max: YEAR_MS, builtIn: DAY_MS },
} as const;

export type SettingKey = keyof typeof SETTINGS;
export type SettingValues = Readonly<Record<SettingKey, number>>;

export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[];

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(SETTINGS, key);
}

/** Values of settings that are not set. */
export const BUILT_IN = Object.fromEntries(
  SETTING_KEYS.map((key) => [key, SETTINGS[key].builtIn]),
) as SettingValues;
