import type { Variable } from './answers.js';
import { type CallOptions, type Calls, part } from './calls.js';

/** Variables of the namespace: free names with JSON values, which the server only keeps. Changes need the permission `admin`. */
export class Variables {
  constructor(private readonly calls: Calls) {}

  /** All variables, by name. */
  async list(options: CallOptions = {}): Promise<readonly Variable[]> {
    const page = await this.calls.send<{ items: Variable[] }>({ method: 'GET', path: 'variables' }, options);
    return page.items;
  }

  /** The value of a variable. @throws {PumphouseError} `variable_not_found` */
  async get(name: string, options: CallOptions = {}): Promise<unknown> {
    const { value } = await this.calls.send<Variable>({ method: 'GET', path: pathOf(name) }, options);
    return value;
  }

  /** Creates or replaces a variable. @param value any JSON, at most 4,096 bytes */
  async set(name: string, value: unknown, options: CallOptions = {}): Promise<void> {
    await this.calls.send({ method: 'PUT', path: pathOf(name), body: { value } }, options);
  }

  /** @throws {PumphouseError} `variable_not_found` */
  delete(name: string, options: CallOptions = {}): Promise<void> {
    return this.calls.remove(pathOf(name), options);
  }
}

function pathOf(name: string): string {
  return `variables/${part(name)}`;
}
