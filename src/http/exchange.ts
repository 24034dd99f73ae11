import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Caller } from '../domain/caller.js';
import { type ErrorCode, QueueError } from '../domain/errors.js';
import type { Drain } from './drain.js';
import type { Gate, Load } from './gate.js';
import type { Query } from './query.js';

/** A front door's way of saying no. */
export interface Door {
  /** Turns whatever was thrown on the way of a request into this door's answer. It does not throw itself. */
  refuse(error: unknown, exchange: Exchange): void;
}

/** Hears of every answer, in the moment in which it is handed over. */
export interface ExchangeObserver {
  answered(exchange: Exchange, status: number): void;
  /** Hears of every refusal that has a code, before it is answered. */
  refused(code: ErrorCode): void;
}

/** What all exchanges of one server share. */
export interface ServerContext {
  readonly drain: Drain;
  /** Longest address of a request, with its query. */
  readonly maxUrlBytes: number;
  /** The door that an address belongs to. */
  doorOf(url: string): Door;
  observer?: ExchangeObserver;
  /** Bounds what is under way; left out, nothing does. */
  gate?: Gate;
}

/** Where a request wants to go. Names that its route does not have are empty. */
export interface Target {
  readonly door: Door;
  /** The route's template, such as `/api/:namespace/:queue`; empty when no route matched. */
  readonly route: string;
  readonly namespace: string;
  /** A queue, or a list of queues as it was sent. */
  readonly queue: string;
  readonly jobId: string;
  readonly query: Query;
}

/**
 * One request and its answer, whichever way it came in: over the router or over the hot lane. It is all that handlers, guards and
 * refusals know of HTTP.
 */
export class Exchange {
  /** Set by who lets the request in; undefined while nobody has. */
  admitted: Caller | undefined = undefined;
  /** What the gate counts it as; the gate's own. */
  load: Load = 'none';
  /** The gate's own too. */
  bodyBytes = 0;
  /** On the clock of `performance.now`. */
  readonly startedMs = performance.now();
  readonly door: Door;
  readonly route: string;
  readonly namespace: string;
  readonly queue: string;
  readonly jobId: string;
  readonly query: Query;

  constructor(
    readonly context: ServerContext,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly requestId: string,
    { door, route, namespace, queue, jobId, query }: Target,
  ) {
    this.door = door;
    this.route = route;
    this.namespace = namespace;
    this.queue = queue;
    this.jobId = jobId;
    this.query = query;
  }

  /**
   * On whose behalf the request runs.
   *
   * @throws {QueueError} `internal`: nobody has let it in, which is a bug
   */
  get caller(): Caller {
    if (this.admitted === undefined) throw new QueueError('internal', 'a route without a token guard');
    return this.admitted;
  }

  /** Refuses the request: `error` says why. If even that cannot be said, the connection ends: nobody is left waiting. */
  fail(error: unknown): void {
    try {
      if (error instanceof QueueError) this.context.observer?.refused(error.code);
      this.door.refuse(error, this);
    } catch {
      this.context.gate?.leave(this);
      this.response.destroy();
    }
  }

  /**
   * Goes on with `next` when `work` is done. What goes wrong, in either, is refused: nothing escapes.
   *
   * @param onFailure called before the refusal if `work` fails
   */
  after<T>(work: Promise<T>, next: (result: T) => void, onFailure?: () => void): void {
    work.then(
      (result) => {
        try {
          next(result);
        } catch (error) {
          this.fail(error);
        }
      },
      (error: unknown) => {
        onFailure?.();
        this.fail(error);
      },
    );
  }
}
