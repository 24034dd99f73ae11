import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Caller } from '../../domain/caller.js';
import { type ErrorCode, QueueError } from '../../domain/errors.js';
import { type ConnectionWatcher, mayWait, unwatchConnection, watchConnection } from './connection.js';
import type { FloodMetrics } from '../../metrics/flood-metrics.js';
import type { HttpMetrics } from '../../metrics/http-metrics.js';
import type { Drain } from './drain.js';
import type { Load, LoadShedder } from './load-shedder.js';
import type { Query } from './head.js';
import { UlidMinter, ulidSource } from '../../domain/ids.js';

/** Error responder of an API. */
export interface ApiErrors {
  /** Answers an error of a request in the format of this API. Does not throw. */
  refuse(error: unknown, context: RequestContext): void;
}

/** Is notified of every answer when it is handed to Node. */
export interface RequestObserver {
  answered(context: RequestContext, status: number): void;
  /** Called for every error with a code, before it is answered. */
  refused(code: ErrorCode): void;
}

/** What all request contexts of one server share. */
export interface ServerContext {
  readonly drain: Drain;
  /** Longest URL of a request, with its query. */
  readonly maxUrlBytes: number;
  /** Nesting of JSON payloads, at most. */
  readonly maxJsonDepth: number;
  /** The error responder for a URL. */
  errorsOf(url: string): ApiErrors;
  readonly observer: RequestObserver;
  /** Limits the work in progress. */
  readonly loadShedder: LoadShedder;
}

/** Target of a request. Names that its route does not have are empty. */
export interface Target {
  readonly errors: ApiErrors;
  /** The route's template, such as `/api/:namespace/:queue`; empty if no route matched. */
  readonly route: string;
  readonly namespace: string;
  /** A queue, or a list of queues as it was sent. */
  readonly queue: string;
  readonly jobId: string;
  readonly query: Query;
}

/**
 * One request and its answer, from the router or from the fast path. Handlers, guards and error responders use nothing
 * else of HTTP.
 *
 * It owns the resources of the request: its count as in flight, the bytes of its body, its count as waiting, and the
 * callbacks of `atEnd`. All of them are released when the answer is handed to Node or the connection closes, whatever a
 * handler does.
 */
export class RequestContext implements ConnectionWatcher {
  /** Set when the request is admitted; undefined before. */
  admitted: Caller | undefined = undefined;
  /** How the load shedder counts it; set by the load shedder. */
  load: Load = 'none';
  /** Set by the load shedder too. */
  bodyBytes = 0;
  /** Its answer has no job, so a rate limit does not count it. */
  isEmpty = false;
  /** On the clock of `performance.now`. */
  readonly startedMs = performance.now();
  readonly errors: ApiErrors;
  readonly route: string;
  readonly namespace: string;
  readonly queue: string;
  readonly jobId: string;
  readonly query: Query;
  private isOver = false;
  private isWatching = false;
  private releases: (() => void)[] | undefined = undefined;

  constructor(
    readonly server: ServerContext,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly requestId: string,
    { errors, route, namespace, queue, jobId, query }: Target,
  ) {
    this.errors = errors;
    this.route = route;
    this.namespace = namespace;
    this.queue = queue;
    this.jobId = jobId;
    this.query = query;
  }

  /**
   * The caller of the request.
   *
   * @throws {QueueError} `internal`: it was not admitted, which is a bug
   */
  get caller(): Caller {
    if (this.admitted === undefined) throw new QueueError('internal', 'a route without a token guard');
    return this.admitted;
  }

  /** True if the client may wait: the server is not closing, and would notice if the client disconnected. */
  get mayWait(): boolean {
    return !this.server.drain.closing && mayWait(this.request.socket);
  }

  /**
   * Counts the request as in flight.
   *
   * @param goesFirst see `LoadShedder.acquire`
   * @throws {QueueError} `overloaded`
   */
  acquire(goesFirst: boolean): void {
    this.server.loadShedder.acquire(this, goesFirst);
    this.isWatching = true;
    watchConnection(this.request.socket, this);
  }

  /** Calls `release` once, at the end of the request; asynchronously, if it has ended already. */
  atEnd(release: () => void): void {
    if (this.isOver) queueMicrotask(release);
    else (this.releases ??= []).push(release);
  }

  /** Releases all resources: the answer has been handed to Node. May be called again. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.server.loadShedder.release(this);
    if (this.isWatching) unwatchConnection(this.request.socket, this);
    if (this.releases !== undefined) for (const release of this.releases) release();
  }

  connectionClosed(): void {
    // guard: closed-connection-ends-the-request
    this.end();
  }

  /** Answers with an error. If that fails too, closes the connection, so that the client does not wait. */
  fail(error: unknown): void {
    try {
      if (error instanceof QueueError) this.server.observer.refused(error.code);
      this.errors.refuse(error, this);
    } catch {
      this.end();
      this.response.destroy();
    }
  }

  /**
   * Calls `next` when `work` is done. Errors of both are answered: none escapes.
   *
   * @param onFailure called before the answer if `work` fails
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

/** Name of its header, in the spelling that lmstfy's clients see. */
export const REQUEST_ID_HEADER = 'X-Request-Id';

const mint = ulidSource();
const fastMinter = new UlidMinter();

/** A ULID for a request: unique over all servers, and greater than the previous ones of this function. */
export function nextRequestId(): string {
  return mint(Date.now());
}

/** Likewise for the fast path, where speed matters for each request. */
export function nextFastRequestId(): string {
  return fastMinter.mint(Date.now());
}

/** Counts nothing. */
export const SILENT: RequestObserver = {
  answered: () => undefined,
  refused: () => undefined,
};

/** Counts every answer of a server, and writes it to the access log while that is enabled. */
export function requestObserver(
  { http, floods }: { readonly http: HttpMetrics; readonly floods: FloodMetrics },
  accessLog: { readonly on: boolean; write(context: RequestContext, status: number, ms: number): void },
): RequestObserver {
  return {
    refused: (code) => floods.refusedFor(code),
    answered: (context, status) => {
      const { route, request, startedMs, admitted } = context;
      const ms = performance.now() - startedMs;
      http.record(route, request.method ?? '', status, ms, admitted);
      if (accessLog.on) accessLog.write(context, status, ms);
    },
  };
}
