import type {
  Explanation,
  FairKeys,
  JobState,
  Page,
  PageOptions,
  PauseOptions,
  PurgedQueue,
  QueueDetails,
  QueueSettings,
  SomeJobs,
} from './answers.js';
import type { Optional } from '../optional.js';
import { type CallOptions, type Calls, part } from './calls.js';

/** Longest wait of a drain that the server takes, in milliseconds. */
const MAX_DRAIN_WAIT_MS = 60_000;

/** Queues of the namespace. */
export class Queues {
  constructor(private readonly calls: Calls) {}

  list(page: PageOptions = {}, options: CallOptions = {}): Promise<Page<QueueDetails>> {
    return this.calls.send({ method: 'GET', path: 'queues', query: { ...page } }, options);
  }

  /** The queues of all pages. */
  each(page: PageOptions = {}, options: CallOptions = {}): AsyncGenerator<QueueDetails, void, void> {
    return this.calls.items((next) => this.list(next, options), page);
  }

  /** Any legal name has an answer: `exists` says whether there is such a queue. */
  get(queue: string, options: CallOptions = {}): Promise<QueueDetails> {
    return this.calls.send({ method: 'GET', path: `queues/${part(queue)}` }, options);
  }

  /** Says why the queue gives no jobs; `flowing`: nothing holds them back. */
  explain(queue: string, options: CallOptions = {}): Promise<Explanation> {
    return this.calls.send({ method: 'GET', path: `queues/${part(queue)}/explain` }, options);
  }

  /** The fair keys of a fair queue with the most ready jobs, the largest first; 20 unless `limit` says so, 100 at most. */
  keys(
    queue: string,
    { limit, ...options }: CallOptions & { readonly limit?: number | undefined } = {},
  ): Promise<FairKeys> {
    return this.calls.send({ method: 'GET', path: `queues/${part(queue)}/keys`, query: { limit } }, options);
  }

  /** Changes settings: what is left out stays, null takes away. */
  update(queue: string, settings: Optional<QueueSettings>, options: CallOptions = {}): Promise<QueueDetails> {
    return this.calls.send({ method: 'PATCH', path: `queues/${part(queue)}`, body: settings }, options);
  }

  /** Forgets an empty queue and its settings. @throws {PumphouseError} `queue_not_empty`, `queue_not_found` */
  delete(queue: string, options: CallOptions = {}): Promise<void> {
    return this.calls.remove(`queues/${part(queue)}`, options);
  }

  /**
   * Pauses a queue, or some of its jobs.
   *
   * @param options its `note` is shown until it is resumed, with the description of the token; `forMs`: when the pause
   *   ends by itself
   */
  pause(
    queue: string,
    { note, forMs, type, fairKey, concurrencyKey, ...options }: CallOptions & PauseOptions = {},
  ): Promise<QueueDetails> {
    return this.command(queue, 'pause', { note, forMs, type, fairKey, concurrencyKey }, options);
  }

  /** Ends a pause and a drain; or, of some jobs, their pause. */
  resume(
    queue: string,
    { type, fairKey, concurrencyKey, ...options }: CallOptions & SomeJobs = {},
  ): Promise<QueueDetails> {
    return this.command(queue, 'resume', { type, fairKey, concurrencyKey }, options);
  }

  /** Refuses new jobs until the queue is empty; waits up to `waitMs` (a minute at most) for that. */
  drain(
    queue: string,
    { waitMs: wantedMs = 0, ...options }: CallOptions & { readonly waitMs?: number | undefined } = {},
  ): Promise<QueueDetails> {
    const waitMs = Math.min(Math.round(wantedMs), MAX_DRAIN_WAIT_MS);
    return this.command(queue, 'drain', { waitMs }, options, waitMs);
  }

  /** Removes all jobs in these states; call it again while `complete` is false, or after a lost answer. */
  purge(
    queue: string,
    states: readonly JobState[],
    { dryRun = false, ...options }: CallOptions & { readonly dryRun?: boolean | undefined } = {},
  ): Promise<PurgedQueue> {
    // It may take five seconds. After a lost answer it would delete what came later, and count that alone.
    return this.command(
      queue,
      'purge',
      { states, dryRun },
      options,
      5_000,
      /* guard: client-purges-once */ dryRun,
    );
  }

  private command<T>(
    queue: string,
    what: string,
    body: object,
    options: CallOptions,
    waitMs = 0,
    isRepeatable = true,
  ): Promise<T> {
    const call = {
      method: 'POST',
      path: `queues/${part(queue)}/${what}`,
      body,
      waitMs,
      isRepeatable,
    } as const;
    return this.calls.send(call, options);
  }
}
