import { performance } from 'node:perf_hooks';
import { QueueError } from '../../domain/errors.js';
import type { RedisPool } from '../../redis/pool.js';
import { changeSetting as settingScript } from '../../redis/scripts/simple.js';
import { checkNames, checkNumber } from '../core/checks.js';
import { textsOf } from '../core/flat-lists.js';
import type { ScriptRunner } from '../core/scripts.js';
import { BUILT_IN, isSettingKey, SETTINGS, type SettingKey, type SettingValues } from './known-settings.js';

/**
 * How long a namespace's settings are cached, in milliseconds: until then a server may not see a change by another one.
 */
const BELIEVED_MS = 1_000;
/** Maximum number of namespaces with cached settings. */
const MOST_NAMESPACES = 10_000;

/** Settings with a value of their own; others have their default. */
export type ChosenSettings = Partial<SettingValues>;

interface Known {
  readonly values: SettingValues | Promise<SettingValues>;
  readonly atMs: number;
}

/** Settings of each namespace. They are kept until they are unset, even while their namespace has no queue. */
export class Settings {
  /** Values of settings that a namespace has not set. */
  readonly defaults: SettingValues;
  private readonly known = new Map<string, Known>();

  /** @param defaults replace built-in ones */
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    defaults: ChosenSettings = {},
  ) {
    this.defaults = { ...BUILT_IN, ...defaults };
  }

  /**
   * The effective settings of a namespace, at most a second old: at once if cached, else with one command. @throws
   * {QueueError} an error of the store
   */
  of(namespace: string): SettingValues | Promise<SettingValues> {
    const known = this.known.get(namespace);
    if (known && /* guard: settings-cached-a-second */ performance.now() - known.atMs < BELIEVED_MS)
      return known.values;
    return this.learn(namespace);
  }

  /** The settings that a namespace has set, as stored now. @throws {QueueError} an error of the store */
  async chosen(namespace: string): Promise<ChosenSettings> {
    const fields = await this.pool.read('HGETALL', this.pool.keys.namespace(namespace).settings);
    const chosen: Partial<Record<SettingKey, number>> = {};
    for (const [key, value] of textsOf(fields)) if (isSettingKey(key)) chosen[key] = Number(value);
    return chosen;
  }

  /**
   * Sets a value; it takes effect on this server at once, on others within a second.
   *
   * @throws {QueueError} `invalid_argument`: unknown setting, or a value out of range; an error of the store
   */
  async set(namespace: string, key: string, value: number): Promise<void> {
    const known = checkKey(namespace, key);
    checkNumber(key, value, SETTINGS[known].min, SETTINGS[known].max);
    await this.write(namespace, known, value);
  }

  /** Resets a setting to its default. @returns false if it was not set. @throws as `set` */
  async unset(namespace: string, key: string): Promise<boolean> {
    return this.write(namespace, checkKey(namespace, key), null);
  }

  /** Sets a value that is not set; one that is set stays as it is. For a move from another store. @throws as `set` */
  async add(namespace: string, key: SettingKey, value: number): Promise<void> {
    await this.write(namespace, key, value, '');
  }

  /** Resets a setting that has this value; another one stays. */
  async withdraw(namespace: string, key: SettingKey, value: number): Promise<void> {
    await this.write(namespace, key, null, String(value));
  }

  private async write(
    namespace: string,
    key: SettingKey,
    value: number | null,
    expected = '*',
  ): Promise<boolean> {
    // The script also adjusts the expiry of the existing days.
    const days = key === 'history_days' ? (value ?? this.defaults.history_days) : '';
    const args = { key, value: value ?? '', expected, history_days: days };
    const { existed } = await this.runner.run(settingScript, namespace, args);
    this.known.delete(namespace);
    return existed;
  }

  /** Loads settings; callers share a load in progress. A result that a change has overtaken is not cached. */
  private learn(namespace: string): Promise<SettingValues> {
    const values = this.chosen(namespace).then((chosen) => ({ ...this.defaults, ...chosen }));
    const entry: Known = { values, atMs: performance.now() };
    // Namespaces come and go: the cache is bounded.
    if (this.known.size >= MOST_NAMESPACES) this.known.clear();
    this.known.set(namespace, entry);
    const replace = (known: Known | undefined): void => {
      if (this.known.get(namespace) !== entry) return;
      if (known) this.known.set(namespace, known);
      else this.known.delete(namespace);
    };
    values.then(
      (read) => replace({ values: read, atMs: entry.atMs }),
      () => replace(undefined),
    );
    return values;
  }
}

function checkKey(namespace: string, key: string): SettingKey {
  checkNames(namespace);
  if (isSettingKey(key)) return key;
  throw new QueueError('invalid_argument', 'there is no such setting');
}
