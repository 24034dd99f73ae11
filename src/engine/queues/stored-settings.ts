import { storedOf } from '../../contract/fields/stored.js';
import {
  LimitFields,
  type Pause,
  type QueueSettings,
  type SettingsChange,
  type SomeJobs,
} from '../../contract/queue-settings.js';

const SETTINGS = storedOf(LimitFields);

/** What a change of settings does to the fields of a queue's hash: a text is stored, false removes the field. */
export function storedChange(change: SettingsChange): Record<string, string | false> {
  const changes: Record<string, string | false> = {};
  for (const { name, field = '', idle, only } of SETTINGS) {
    const value: unknown = change[name as keyof SettingsChange];
    if (value === undefined) continue;
    if (value === null || value === idle) changes[field] = false;
    else changes[field] = value === only ? '1' : JSON.stringify(value);
  }
  return changes;
}

/** As lua/commands/extended/change_queue.lua stores it. */
interface StoredPause {
  readonly at: number;
  readonly by?: string | null;
  readonly note?: string | null;
  readonly ends?: number;
}

/** The letters of lua/modules/extended/settings.lua. */
const LETTERS = { type: 't', fairKey: 'f', concurrencyKey: 'k' } as const;

/** The field of a pause of some jobs. */
export function fieldOfPause(jobs: SomeJobs): string {
  for (const [name, letter] of Object.entries(LETTERS)) {
    const key = jobs[name as keyof SomeJobs];
    if (key !== undefined) return `pause ${letter}:${key ?? ''}`;
  }
  return 'pauser';
}

/** True if the field is that of a pause of some jobs. */
export const isPauseField = (field: string): boolean => field.startsWith('pause ');

function pausesIn(texts: ReadonlyMap<string, string>): Pause[] {
  const pauses: Pause[] = [];
  for (const [field, text] of texts) {
    if (!isPauseField(field)) continue;
    const [letter, key] = [field.charAt(6), field.slice(8)];
    const [name] = Object.entries(LETTERS).find(([, one]) => one === letter) ?? ['type'];
    const { at, by = null, note = null, ends = null } = JSON.parse(text) as StoredPause;
    const jobs = { [name]: name === 'type' && key === '' ? null : key } as SomeJobs;
    pauses.push({ ...jobs, pausedAtMs: at, pausedBy: by, note, endsAtMs: ends });
  }
  return pauses.toSorted((one, other) => one.pausedAtMs - other.pausedAtMs);
}

/** All settings of a queue with such a hash. Those that are not stored are null, or have their idle value. */
export function settingsIn(texts: ReadonlyMap<string, string>): QueueSettings {
  const valueOf = (field: string, absent: unknown): unknown =>
    texts.has(field) ? JSON.parse(texts.get(field) ?? '') : absent;
  const pausedAtMs = valueOf('paused', null);
  const pauser = valueOf('pauser', {}) as Partial<StoredPause>;
  // An earlier server may have ended that pause, and begun this one.
  const { by = null, note = null, ends = null } = pauser.at === pausedAtMs ? pauser : {};
  const settings: Record<string, unknown> = {
    ...{ pausedAtMs, pausedBy: by, pauseNote: note, pauseEndsAtMs: ends, pauses: pausesIn(texts) },
    drainingSinceMs: valueOf('draining', null),
  };
  for (const { name, field = '', idle, only, isNullable } of SETTINGS) {
    if (name === 'redact') continue;
    const isOnly = only !== undefined && texts.has(field);
    settings[name] = isOnly ? only : valueOf(field, isNullable ? null : idle);
  }
  const redact = texts.get('redact');
  settings['redact'] = redact === undefined ? null : pathsIn(redact);
  return settings as unknown as QueueSettings;
}

/** Of a text that is no list of texts: a path that names nothing, with which all data is withheld. */
function pathsIn(text: string): readonly string[] {
  try {
    const paths: unknown = JSON.parse(text);
    if (Array.isArray(paths) && paths.every((one) => typeof one === 'string')) return paths;
  } catch {
    // Not JSON.
  }
  return [''];
}
