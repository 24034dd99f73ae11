import {
  BUILT_IN,
  isSettingKey,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  type SettingValues,
} from '../engine/settings/known.js';
import type { ChosenSettings } from '../engine/settings/settings.js';
import { InputError } from '../http/errors.v1.js';

/** A setting as it is answered. */
interface SettingJson {
  readonly key: SettingKey;
  /** What holds. */
  readonly value: number;
  readonly default: number;
  /** Who says so: the namespace, the server's configuration, or nobody, so that it is as it was built. */
  readonly source: 'namespace' | 'server' | 'built_in';
  readonly min: number;
  readonly max: number;
}

/**
 * The setting that an address names.
 *
 * @throws {InputError} there is no such setting
 */
export function keyOf(key: string): SettingKey {
  if (isSettingKey(key)) return key;
  throw new InputError([{ field: 'key', rule: `must be one of ${SETTING_KEYS.join(', ')}` }]);
}

/**
 * The value that a body chooses: `{"value": 30}`.
 *
 * @throws {InputError} it is not of that form, or not a value of this setting
 */
export function valueOf(key: SettingKey, body: Buffer): number {
  const { min, max } = SETTINGS[key];
  const rule = `must be a whole number from ${String(min)} to ${String(max)}`;
  const asked = parsed(body);
  if (typeof asked !== 'object' || asked === null || Array.isArray(asked)) {
    throw new InputError([{ field: '', rule: 'must be JSON: an object with a `value`, and nothing else' }]);
  }
  const { value, ...others } = asked as { readonly value?: unknown };
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined)
    throw new InputError([{ field: unknown.slice(0, 40), rule: 'is not known here' }]);
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new InputError([{ field: 'value', rule }]);
  }
  return value;
}

export function settingJson(key: SettingKey, defaults: SettingValues, chosen: ChosenSettings): SettingJson {
  const value = chosen[key] ?? defaults[key];
  const byServer = defaults[key] === BUILT_IN[key] ? 'built_in' : 'server';
  const source = chosen[key] === undefined ? byServer : 'namespace';
  const { min, max } = SETTINGS[key];
  return { key, value, default: defaults[key], source, min, max };
}

/** All of them, in a list as every list is; they fit one page. */
export function settingsJson(
  defaults: SettingValues,
  chosen: ChosenSettings,
): { readonly items: readonly SettingJson[]; readonly next_cursor: null } {
  return { items: SETTING_KEYS.map((key) => settingJson(key, defaults, chosen)), next_cursor: null };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}
