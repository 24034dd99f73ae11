import { storedOf } from '../../contract/fields/stored.js';
import { LimitFields, type QueueSettings, type SettingsChange } from '../../contract/queue-settings.js';

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

/** All settings of a queue with such a hash. Those that are not stored are null, or have their idle value. */
export function settingsIn(texts: ReadonlyMap<string, string>): QueueSettings {
  const valueOf = (field: string, absent: unknown): unknown =>
    texts.has(field) ? JSON.parse(texts.get(field) ?? '') : absent;
  const pausedAtMs = valueOf('paused', null);
  const pauser = valueOf('pauser', {}) as { at?: number; by?: string | null; note?: string | null };
  // An earlier server may have ended that pause, and begun this one.
  const { by = null, note = null } = pauser.at === pausedAtMs ? pauser : {};
  const settings: Record<string, unknown> = {
    ...{ pausedAtMs, pausedBy: by, pauseNote: note },
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
