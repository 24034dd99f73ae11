import type { AnyJobDefinition } from '../define-job.js';
import type { LeasedJob } from '../driver.js';

/** What a handler gets beside its job. */
export interface HandlerContext {
  /**
   * Aborts when the lease is lost, when no heartbeat was answered for 80 % of the lease, when a client wants the job
   * cancelled, and at the end of the shutdown grace. `signal.reason.code` says which: `lease_lost`, `lease_unconfirmed`,
   * `cancelled`, `shutdown`.
   */
  readonly signal: AbortSignal;
  /** Stores how far the work is, with a heartbeat; of several calls at once the last value counts. */
  readonly progress: (value: unknown) => Promise<void>;
  /** Writes a line into the job's timeline. */
  readonly log: (message: string, data?: unknown) => Promise<void>;
}

/** A job as its handler gets it: `data` is what the input schema made of the payload. */
export type Job<Data = unknown> = Omit<LeasedJob, 'data'> & { readonly data: Data };

export type Handler<Data = unknown, Result = unknown> = (job: Job<Data>, context: HandlerContext) => Result;

/** Runs around each handler, the first one outermost. What it returns is the result, what it throws is the failure. */
export type Middleware = (job: Job, context: HandlerContext, next: () => Promise<unknown>) => unknown;

export interface Registration {
  readonly name: string;
  readonly definition: AnyJobDefinition | undefined;
  readonly handler: Handler;
}

/** Every type that has no handler of its own. */
export const ANY_TYPE = '*';

/** The handlers of a worker, by queue and type. */
export class Handlers {
  private readonly byKey = new Map<string, Registration>();

  /** @throws {TypeError} there is one already */
  add(target: AnyJobDefinition | string, handler: Handler): void {
    const definition = typeof target === 'string' ? undefined : target;
    const type = typeof target === 'string' ? target : target.type;
    const key = keyOf(definition?.queue, type ?? null);
    if (this.byKey.has(key)) throw new TypeError(`there is a handler for ${key} already`);
    this.byKey.set(key, { name: nameOf(definition, type), definition, handler });
  }

  /** The handler of the job's queue and type, of its type in any queue, or of any type. */
  find({ queue, type }: LeasedJob): Registration | undefined {
    return (
      this.byKey.get(keyOf(queue, type)) ??
      this.byKey.get(keyOf(undefined, type)) ??
      this.byKey.get(keyOf(undefined, ANY_TYPE))
    );
  }
}

function keyOf(queue: string | undefined, type: string | null): string {
  return `${queue ?? ANY_TYPE} ${type ?? ''}`;
}

function nameOf(definition: AnyJobDefinition | undefined, type: string | undefined): string {
  if (definition === undefined) return type ?? ANY_TYPE;
  return type === undefined ? definition.queue : `${definition.queue}/${type}`;
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
