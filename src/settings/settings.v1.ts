import {
  BUILT_IN,
  isSettingKey,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  type SettingValues,
} from '../engine/queues/known-settings.js';
import type { ChosenSettings } from '../engine/queues/settings.js';
import { InputError } from '../contract/fields/problems.js';
import type { Inside } from '../contract/fields/wire.js';
import { jsonOf } from '../contract/json/body-json.js';
import type { NamespaceSettingAnswer } from './dto.v1.js';

/**
 * Reads the name of a setting from the path.
 *
 * @throws {InputError} there is no such setting
 */
export function keyOf(key: string): SettingKey {
  if (isSettingKey(key)) return key;
  throw new InputError([{ field: 'key', rule: `must be one of ${SETTING_KEYS.join(', ')}` }]);
}

/**
 * Reads the value from a body: `{"value": 30}`.
 *
 * @throws {InputError} it does not have this form, or the setting does not allow the value
 */
export function valueOf(key: SettingKey, body: Buffer): number {
  const { min, max } = SETTINGS[key];
  const rule = `must be a whole number from ${String(min)} to ${String(max)}`;
  const values = jsonOf(body, 1);
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new InputError([{ field: '', rule: 'must be an object with a `value`, and nothing else' }]);
  }
  const { value, ...others } = values as { readonly value?: unknown };
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) throw new InputError([{ field: unknown.slice(0, 40), rule: 'unknown field' }]);
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new InputError([{ field: 'value', rule }]);
  }
  return value;
}

/** A setting as answers have it, with its effective value. */
export function settingFacts(
  key: SettingKey,
  defaults: SettingValues,
  chosen: ChosenSettings,
): Inside<NamespaceSettingAnswer> {
  const value = chosen[key] ?? defaults[key];
  const byServer = defaults[key] === BUILT_IN[key] ? 'built_in' : 'server';
  const source = chosen[key] === undefined ? byServer : 'namespace';
  const { min, max } = SETTINGS[key];
  return { key, value, default: defaults[key], source, min, max };
}
