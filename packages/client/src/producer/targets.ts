import type { ApiCall } from '../transport/api-client.js';
import type { Target, TargetFields, TargetTest } from './answers.js';
import { type CallOptions, type Calls, part } from './calls.js';

/** The longest time-out that a target can have, in milliseconds: the server waits so long for its answer. */
const MAX_TIMEOUT_MS = 600_000;

/** Targets of HTTP push. Secrets and header values are never shown, except a new secret in the answer that made it. */
export class Targets {
  constructor(private readonly calls: Calls) {}

  /** All targets of the namespace, by name. */
  async list(options: CallOptions = {}): Promise<readonly Target[]> {
    const { items } = await this.calls.send<{ items: Target[] }>({ method: 'GET', path: 'targets' }, options);
    return items;
  }

  /** @throws {PumphouseError} `target_not_found` */
  get(name: string, options: CallOptions = {}): Promise<Target> {
    return this.calls.send({ method: 'GET', path: pathOf(name) }, options);
  }

  /**
   * Stores a target, in the place of the one of this name. The answer of a new one has its `secret`. If the answer of
   * the first attempt was lost, it has none: then `rotate`.
   */
  put(
    name: string,
    fields: TargetFields & { readonly url: string },
    options: CallOptions = {},
  ): Promise<Target> {
    return this.calls.send({ method: 'PUT', path: pathOf(name), body: fields }, options);
  }

  /** Changes a target: what is left out stays; `headers` are replaced as a whole. @throws `target_not_found` */
  patch(name: string, change: TargetFields, options: CallOptions = {}): Promise<Target> {
    return this.calls.send({ method: 'PATCH', path: pathOf(name), body: change }, options);
  }

  /** @throws {PumphouseError} `target_not_found`, `target_in_use`: a queue is pushed to it */
  delete(name: string, options: CallOptions = {}): Promise<void> {
    return this.calls.remove(pathOf(name), options);
  }

  /**
   * Gives a target a new secret, which this answer alone has. For `keepOldMs` (a day if it is left out) requests are
   * signed with the old one too. Never sent twice: the second rotation would end the secret of the first one.
   */
  rotate(
    name: string,
    {
      signal,
      ...body
    }: CallOptions & {
      readonly keepOldMs?: number | undefined;
      readonly secret?: string | undefined;
    } = {},
  ): Promise<Target> {
    return this.command(name, 'rotate', { body }, signal ? { signal } : {});
  }

  /** Within a second no more jobs are sent to it; requests under way go on. */
  pause(name: string, options: CallOptions = {}): Promise<Target> {
    return this.command(name, 'pause', { isRepeatable: true }, options);
  }

  /** Ends the pause, and closes the breaker. */
  resume(name: string, options: CallOptions = {}): Promise<Target> {
    return this.command(name, 'resume', { isRepeatable: true }, options);
  }

  /** Sends one test request to the target. It changes nothing. @throws {PumphouseError} `push_disabled` */
  test(name: string, options: CallOptions = {}): Promise<TargetTest> {
    return this.command(name, 'test', { waitMs: MAX_TIMEOUT_MS }, options);
  }

  private command<T>(
    name: string,
    what: string,
    call: Partial<Pick<ApiCall, 'waitMs' | 'isRepeatable'>> & { readonly body?: object },
    options: CallOptions,
  ): Promise<T> {
    return this.calls.send({ method: 'POST', path: `${pathOf(name)}/${what}`, ...call }, options);
  }
}

function pathOf(name: string): string {
  return `targets/${part(name)}`;
}
