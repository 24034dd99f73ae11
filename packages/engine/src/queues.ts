import {
  type Explanation,
  type FairKeys,
  type Given,
  givenOptions,
  type JobState,
  type Optional,
  type Page,
  type PageOptions,
  type PauseOptions,
  type PurgedQueue,
  type QueueDetails,
  type QueueSettings,
  type Rate,
  type SomeJobs,
} from '@pumphouse/client';
import { QueueError } from '#src/domain/errors';
import { toShown } from '#src/contract/fields/wire';
import { FairKeysAnswer, QueueAnswer, queueFacts, type SettingsChange } from '#src/contract/queue-settings';
import { checkNames } from '#src/domain/ids';
import { JOB_STATES, STATE_NAMES } from '#src/domain/job/states';
import { checkNumber } from '#src/engine/core/checks';
import type { Engine } from '#src/engine/engine';
import { explainedQueue } from '#src/engine/explain/explanations';
import { queueWithTypes } from '#src/engine/explain/queue-types';
import type { Queues, QueueView } from '#src/engine/queues/queues';
import { call, type CallOptions, itemsOf, repeat, repeatRemoval } from './calls.js';
import { explain } from './explain.js';

/** Without what is left out. */
function someJobs(jobs: SomeJobs): object {
  return Object.fromEntries(Object.entries(jobs).filter(([, key]) => key !== undefined));
}

const PAGE = 100;
const MAX_PAGE = 1_000;
const KEYS = 20;
const MAX_KEYS = 100;
const MAX_DRAIN_WAIT_MS = 60_000;

/** Queues of the namespace: the methods that `queues` of the HTTP client has. */
export class EngineQueues {
  private readonly queues: Queues;

  constructor(
    private readonly engine: Engine,
    private readonly namespace: string,
  ) {
    this.queues = engine.queues;
  }

  list(
    { limit = PAGE, cursor = '' }: PageOptions = {},
    { signal }: CallOptions = {},
  ): Promise<Page<QueueDetails>> {
    return repeat(async () => {
      checkNumber('limit', limit, 1, MAX_PAGE);
      const { queues, last } = await this.queues.list(this.namespace, { after: cursor, limit });
      return { items: queues.map(detailsOf), nextCursor: last };
    }, signal);
  }

  /** The queues of all pages. */
  each(page: PageOptions = {}, options: CallOptions = {}): AsyncGenerator<QueueDetails, void, void> {
    return itemsOf((request) => this.list(request, options), page);
  }

  /** Any legal name has an answer: `exists` says whether there is such a queue. */
  get(queue: string, options: CallOptions = {}): Promise<QueueDetails> {
    return this.send(queue, options, () => queueWithTypes(this.engine, this.namespace, queue));
  }

  /** Says why the queue gives no jobs; assumes that a server pushes the jobs of its target. */
  explain(queue: string, options: CallOptions = {}): Promise<Explanation> {
    return explain(this.engine, this.namespace, (view) => explainedQueue(view, queue), options);
  }

  /** The fair keys of a fair queue with the most ready jobs, the largest first. */
  keys(
    queue: string,
    { limit = KEYS, signal }: CallOptions & { readonly limit?: number | undefined } = {},
  ): Promise<FairKeys> {
    return repeat(async () => {
      checkNumber('limit', limit, 1, MAX_KEYS);
      const { keys, isComplete } = await this.queues.fairKeys(this.namespace, queue, limit);
      return toShown(FairKeysAnswer, { keys, complete: isComplete }) as FairKeys;
    }, signal);
  }

  /** Changes settings: what is left out stays, null takes away. */
  update(queue: string, settings: Optional<QueueSettings>, options: CallOptions = {}): Promise<QueueDetails> {
    const { push, ...rest } = givenOptions(settings);
    const target = push === undefined ? undefined : (push?.target ?? null);
    return this.send(queue, options, () => this.queues.change(this.namespace, queue, changeOf(rest), target));
  }

  /** Forgets an empty queue and its settings. @throws {PumphouseError} `queue_not_empty`, `queue_not_found` */
  delete(queue: string, { signal }: CallOptions = {}): Promise<void> {
    return repeatRemoval('queue_not_found', () => this.queues.forget(this.namespace, queue), signal);
  }

  /** Pauses a queue, or some of its jobs. @param options its `note` is shown until it is resumed; `forMs`: when the pause ends */
  pause(
    queue: string,
    { note, forMs, type, fairKey, concurrencyKey, ...options }: CallOptions & PauseOptions = {},
  ): Promise<QueueDetails> {
    const jobs = someJobs({ type, fairKey, concurrencyKey });
    const pauser = { by: null, note: note ?? null, forMs };
    return this.send(queue, options, () => this.queues.pause(this.namespace, queue, pauser, jobs));
  }

  /** Ends a pause and a drain; or, of some jobs, their pause. */
  resume(
    queue: string,
    { type, fairKey, concurrencyKey, ...options }: CallOptions & SomeJobs = {},
  ): Promise<QueueDetails> {
    const jobs = someJobs({ type, fairKey, concurrencyKey });
    return this.send(queue, options, () => this.queues.resume(this.namespace, queue, jobs));
  }

  /** Refuses new jobs until the queue is empty; waits up to `waitMs` (a minute at most) for that. */
  drain(
    queue: string,
    { waitMs: wantedMs = 0, ...options }: CallOptions & { readonly waitMs?: number | undefined } = {},
  ): Promise<QueueDetails> {
    const waitMs = Math.min(Math.round(wantedMs), MAX_DRAIN_WAIT_MS);
    const isWanted = (): boolean => options.signal?.aborted !== true;
    return this.send(queue, options, () => {
      checkNumber('waitMs', waitMs, 0, MAX_DRAIN_WAIT_MS);
      return this.queues.drain(this.namespace, queue, waitMs, isWanted);
    });
  }

  /** Removes all jobs in these states; call it again while `complete` is false. */
  purge(
    queue: string,
    states: readonly JobState[],
    { dryRun = false, signal }: CallOptions & { readonly dryRun?: boolean | undefined } = {},
  ): Promise<PurgedQueue> {
    return call(async () => {
      checkStates(states);
      if (dryRun) {
        const jobs = await this.queues.count(this.namespace, queue, states);
        return { jobs, dryRun, complete: true };
      }
      const { removed, isComplete } = await this.queues.purge(this.namespace, queue, states);
      return { jobs: removed, dryRun, complete: isComplete };
    }, signal);
  }

  private send(queue: string, { signal }: CallOptions, run: () => Promise<QueueView>): Promise<QueueDetails> {
    return repeat(async () => {
      checkNames(this.namespace, queue);
      return detailsOf(await run());
    }, signal);
  }
}

function detailsOf(view: QueueView): QueueDetails {
  return toShown(QueueAnswer, queueFacts(view)) as QueueDetails;
}

/** @throws {QueueError} `invalid_argument` */
function checkStates(states: readonly string[]): void {
  const isRight = states.length > 0 && states.every((state) => Object.hasOwn(JOB_STATES, state));
  if (!isRight) throw new QueueError('invalid_argument', `states must be some of ${STATE_NAMES.join(', ')}`);
}

function changeOf({
  rate,
  ratePerKey,
  ...rest
}: Given<Partial<Omit<QueueSettings, 'push'>>>): SettingsChange {
  return {
    ...rest,
    ...(rate === undefined ? {} : { rate: rate && rateOf(rate) }),
    ...(ratePerKey === undefined ? {} : { ratePerKey: ratePerKey && rateOf(ratePerKey) }),
  };
}

function rateOf({ rate, periodMs, burst = 1 }: Rate): { rate: number; periodMs: number; burst: number } {
  return { rate, periodMs, burst };
}
