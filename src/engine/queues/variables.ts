import { ArgumentError } from '../../contract/fields/problems.js';
import { notFound } from '../../domain/errors.js';
import { isVariableName, VARIABLE_NAME_RULE } from '../../domain/ids.js';
import { MAX_VARIABLE_BYTES, MAX_VARIABLES } from '../../domain/limits.js';
import type { RedisPool } from '../../redis/pool.js';
import { changeVariable } from '../../redis/scripts/simple.js';
import { checkNames } from '../core/checks.js';
import { hashEntries } from '../core/hash-entries.js';
import type { ScriptRunner } from '../core/scripts.js';

/** Code of lua/commands/maintenance/change_variable.lua. */
const TOO_MANY = -1;

/** Free names with JSON values of each namespace. The server only keeps them; they stay while their namespace has no queue. */
export class Variables {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
  ) {}

  /** The JSON of all variables, by name. @throws {QueueError} an error of the store */
  async list(namespace: string): Promise<ReadonlyMap<string, string>> {
    checkNames(namespace);
    return hashEntries(this.pool, this.pool.keys.namespace(namespace).variables);
  }

  /** The JSON of a variable. @throws {QueueError} `variable_not_found`, or an error of the store */
  async get(namespace: string, name: string): Promise<string> {
    checkNames(namespace);
    const json = await this.pool.readBytes('HGET', this.pool.keys.namespace(namespace).variables, name);
    if (!Buffer.isBuffer(json)) throw notFound('variable', name);
    return json.toString();
  }

  /**
   * Sets a variable.
   *
   * @param json one JSON value
   * @throws {QueueError} `invalid_argument`: the name or the length, or there are too many; an error of the store
   */
  async set(namespace: string, name: string, json: string): Promise<void> {
    await this.store(namespace, name, json, '*');
  }

  /** Sets a variable that is not there; one that is there stays as it is. @throws as `set` */
  async add(namespace: string, name: string, json: string): Promise<void> {
    await this.store(namespace, name, json, '');
  }

  /** @returns false if there was none @throws {QueueError} an error of the store */
  async delete(namespace: string, name: string): Promise<boolean> {
    checkNames(namespace);
    return (await this.change(namespace, { name, value: '', expected: '*' })) === 1;
  }

  /** Deletes a variable that has this value; another one stays. @throws {QueueError} an error of the store */
  async withdraw(namespace: string, name: string, json: string): Promise<void> {
    await this.change(namespace, { name, value: '', expected: json });
  }

  private async store(namespace: string, name: string, value: string, expected: '*' | ''): Promise<void> {
    checkNames(namespace);
    if (!isVariableName(name)) throw new ArgumentError('name', VARIABLE_NAME_RULE);
    if (Buffer.byteLength(value) > MAX_VARIABLE_BYTES)
      throw new ArgumentError('value', `must have at most ${String(MAX_VARIABLE_BYTES)} bytes of JSON`);
    if ((await this.change(namespace, { name, value, expected })) === TOO_MANY) {
      throw new ArgumentError('name', `is one too many: a namespace has at most ${String(MAX_VARIABLES)}`);
    }
  }

  private async change(
    namespace: string,
    args: { readonly name: string; readonly value: string; readonly expected: string },
  ): Promise<number> {
    const { code } = await this.runner.run(changeVariable, namespace, { ...args, most: MAX_VARIABLES });
    return code;
  }
}
