import type { AnyJobDefinition, HandledAs } from '../define-job.js';
import type { Dependency, LeasedJob } from '../driver.js';
import { checkNames } from '../optional.js';
import type { Bytes, Next } from './outcomes.js';

/** What a handler gets beside its job. */
export interface HandlerContext {
  /**
   * Aborts when the lease is lost, when `maxRunMs` is over, when no heartbeat was answered for 80 % of the lease, when a
   * client wants the job cancelled, and at the end of the shutdown grace. `signal.reason.code` says which: `lease_lost`,
   * `max_run_exceeded`, `lease_unconfirmed`, `cancelled`, `shutdown`.
   */
  readonly signal: AbortSignal;
  /** Stores how far the work is, with a heartbeat; of several calls at once the last value counts. */
  readonly progress: (value: unknown) => Promise<void>;
  /**
   * Writes a line into the job's timeline, cut after 1,024 characters. It never rejects: a line that cannot be stored is
   * reported to the `logger` of the worker.
   */
  readonly log: (message: string, data?: unknown) => Promise<void>;
  /** The jobs that this one was published to run after, in the order in which it names them, with their results. */
  readonly dependencies: () => readonly Dependency[];
}

/** A job as its handler gets it: `data` is what the input schema made of the payload. */
export type Job<Data = unknown> = Omit<LeasedJob, 'data'> & { readonly data: Data };

export type Handler<Data = unknown, Result = unknown> = (job: Job<Data>, context: HandlerContext) => Result;

/** What a handler may return: the result, or where the job goes next. */
export type Returned<Out> = Out | Next | Bytes;

/**
 * The handler of a definition, or of a type. `handle` has one signature for both: for a call that fits none of two
 * overloads the compiler does not name the mistake.
 */
export type HandlerOf<T> =
  T extends HandledAs<infer InParsed, infer Out>
    ? (job: Job<InParsed>, context: HandlerContext) => Returned<Out> | Promise<Returned<Out>>
    : Handler;

/** Runs around each handler, the first one outermost. What it returns is the result, what it throws is the failure. */
export type Middleware = (job: Job, context: HandlerContext, next: () => Promise<unknown>) => unknown;

export interface Registration {
  readonly name: string;
  /** Null: jobs without a type. */
  readonly type: string | null;
  readonly definition: AnyJobDefinition | undefined;
  readonly handler: Handler;
  /** How long it may run. */
  readonly maxRunMs?: number | undefined;
}

/** Options of one handler. */
export interface HandlerOptions {
  /**
   * How long it may run, counted by the server from its begin; whole milliseconds. The shorter one of this and the
   * `maxRunMs` of the job counts. Then its `signal` aborts, and the job fails with the group `max_run_exceeded`.
   */
  readonly maxRunMs?: number | undefined;
}

/** Every type that has no handler of its own; in the queues of a worker, every queue there is. */
export const ANY = '*';
/** Most types that a lease request can name. */
const MAX_TYPES = 64;

/** The handlers of a worker, by queue and type. */
export class Handlers {
  private readonly byKey = new Map<string, Registration>();
  private queueNames: readonly string[] = [];

  /** The queues of the definitions that have a handler, in the order of `add`. */
  get queues(): readonly string[] {
    return this.queueNames;
  }

  /** @throws {TypeError} there is one already, or a wrong option */
  add(target: AnyJobDefinition | string, handler: Handler, options: HandlerOptions = {}): void {
    checkNames('worker.handle', options, { maxRunMs: true });
    const { maxRunMs } = options;
    if (maxRunMs !== undefined && !(Number.isSafeInteger(maxRunMs) && maxRunMs >= 1))
      throw new TypeError('maxRunMs: must be a whole number from 1, in milliseconds');
    const definition = typeof target === 'string' ? undefined : target;
    const type = (typeof target === 'string' ? target : target.type) ?? null;
    const key = keyOf(definition?.queue, type);
    if (this.byKey.has(key)) throw new TypeError(`there is a handler for ${key} already`);
    this.byKey.set(key, { name: nameOf(definition, type), type, definition, handler, maxRunMs });
    if (definition !== undefined && !this.queueNames.includes(definition.queue))
      this.queueNames = [...this.queueNames, definition.queue];
  }

  /**
   * The types that have a handler in one of these queues. A request names one list for all of its queues.
   *
   * @returns undefined: all types have one, or there are none or too many to name
   */
  typesIn(queues: readonly string[]): readonly (string | null)[] | undefined {
    const types = new Set<string | null>();
    for (const { type, definition } of this.byKey.values()) {
      if (definition === undefined && type === ANY) return undefined;
      if (definition === undefined || queues.includes(ANY) || queues.includes(definition.queue))
        types.add(type);
    }
    return types.size > 0 && types.size <= MAX_TYPES ? [...types] : undefined;
  }

  /** Queues of these whose jobs no handler takes; none if there is a handler of a type, in whatever queue. */
  withoutHandler(queues: readonly string[]): readonly string[] {
    if ([...this.byKey.values()].some(({ definition }) => definition === undefined)) return [];
    return queues.filter((queue) => !this.queueNames.includes(queue));
  }

  /** The names of handlers whose queue is none of these. */
  outside(queues: readonly string[]): readonly string[] {
    return [...this.byKey.values()]
      .filter(({ definition }) => definition !== undefined && !queues.includes(definition.queue))
      .map(({ name }) => name);
  }

  /** The handler of the job's queue and type, of its type in any queue, or of any type. */
  find({ queue, type }: LeasedJob): Registration | undefined {
    return (
      this.byKey.get(keyOf(queue, type)) ??
      this.byKey.get(keyOf(undefined, type)) ??
      this.byKey.get(keyOf(undefined, ANY))
    );
  }
}

function keyOf(queue: string | undefined, type: string | null): string {
  return `${queue ?? ANY} ${type ?? ''}`;
}

function nameOf(definition: AnyJobDefinition | undefined, type: string | null): string {
  if (definition === undefined) return type ?? ANY;
  return type === null ? definition.queue : `${definition.queue}/${type}`;
}

/** The handler with the middleware around it. */
export function compose(middleware: readonly Middleware[], handler: Handler): Handler {
  if (middleware.length === 0) return handler;
  return (job, context) => {
    const runFrom = (at: number): unknown => {
      const step = middleware[at];
      if (step === undefined) return handler(job, context);
      let isCalled = false;
      // Async: a handler that throws at once rejects, too.
      return step(job, context, async () => {
        if (isCalled) throw new TypeError('next() was called twice by one middleware');
        isCalled = true;
        return await runFrom(at + 1);
      });
    };
    return runFrom(0);
  };
}
