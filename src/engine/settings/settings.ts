import { performance } from 'node:perf_hooks';
import { QueueError } from '../../domain/errors.js';
import type { RedisPool } from '../../redis/pool.js';
import { setting as settingScript } from '../../redis/scripts/plain.js';
import { checkNames, checkNumber } from '../checks.js';
import type { ScriptRunner } from '../script-runner.js';
import { BUILT_IN, isSettingKey, SETTINGS, type SettingKey, type SettingValues } from './known.js';

/** How long a namespace's settings are believed: until then a server may not know of a change that another one made, in milliseconds. */
const BELIEVED_MS = 1_000;
/** Namespaces whose settings are remembered. */
const MOST_NAMESPACES = 10_000;

/** Settings that were chosen; what is left out has its default. */
export type ChosenSettings = Partial<SettingValues>;

interface Known {
  readonly values: SettingValues | Promise<SettingValues>;
  readonly atMs: number;
}

/** What each namespace has chosen. Settings live as long as nobody takes them away: also while their namespace has no queue. */
export class Settings {
  /** What holds where a namespace has chosen nothing. */
  readonly defaults: SettingValues;
  private readonly known = new Map<string, Known>();

  /** @param defaults other ones than those that are built in */
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    defaults: ChosenSettings = {},
  ) {
    this.defaults = { ...BUILT_IN, ...defaults };
  }

  /** What holds in a namespace, a second old at most: at once if it is known, else by one command. @throws {QueueError} the store's own */
  of(namespace: string): SettingValues | Promise<SettingValues> {
    const known = this.known.get(namespace);
    if (known && performance.now() - known.atMs < BELIEVED_MS) return known.values;
    return this.learn(namespace);
  }

  /** What a namespace has chosen, as it is stored now. @throws {QueueError} the store's own */
  async chosen(namespace: string): Promise<ChosenSettings> {
    const fields = await this.pool.read('HGETALL', this.pool.keys.namespace(namespace).settings);
    const flat = Array.isArray(fields) ? fields.map(String) : [];
    const chosen: Partial<Record<SettingKey, number>> = {};
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const [key = '', value] = [flat[i], flat[i + 1]];
      if (isSettingKey(key)) chosen[key] = Number(value);
    }
    return chosen;
  }

  /**
   * Chooses a value; this server goes by it at once, others within a second.
   *
   * @throws {QueueError} `invalid_argument`: no such setting, or not one of its values; the store's own
   */
  async set(namespace: string, key: string, value: number): Promise<void> {
    const known = checkKey(namespace, key);
    checkNumber(key, value, SETTINGS[known].min, SETTINGS[known].max);
    await this.write(namespace, known, value);
  }

  /** Goes back to the default. @returns false if nothing was chosen. @throws as `set` */
  async unset(namespace: string, key: string): Promise<boolean> {
    return this.write(namespace, checkKey(namespace, key), null);
  }

  private async write(namespace: string, key: SettingKey, value: number | null): Promise<boolean> {
    // The days that there are shall go when the new number says so.
    const days = key === 'history_days' ? (value ?? this.defaults.history_days) : '';
    const args = { key, value: value ?? '', history_days: days };
    const { existed } = await this.runner.run(settingScript, namespace, args);
    this.known.delete(namespace);
    return existed;
  }

  /** Whoever asks meanwhile waits for the same answer. One that a change has overtaken is not kept. */
  private learn(namespace: string): Promise<SettingValues> {
    const values = this.chosen(namespace).then((chosen) => ({ ...this.defaults, ...chosen }));
    const asked: Known = { values, atMs: performance.now() };
    // Namespaces come and go; not all that ever were are remembered.
    if (this.known.size >= MOST_NAMESPACES) this.known.clear();
    this.known.set(namespace, asked);
    const replace = (known: Known | undefined): void => {
      if (this.known.get(namespace) !== asked) return;
      if (known) this.known.set(namespace, known);
      else this.known.delete(namespace);
    };
    values.then(
      (read) => replace({ values: read, atMs: asked.atMs }),
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
