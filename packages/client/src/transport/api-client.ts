import { PumphouseError } from '../errors.js';
import { type CallPlace, noAnswerText, refusalText, strangeAnswerText } from './error-texts.js';
import { sleep, type Transport, TransportError, type WireResponse, type WireStream } from './transport.js';

/** Bounds of one call, with its retries. */
export interface RetryLimits {
  /** Attempts in all. */
  readonly tries: number;
  /** Milliseconds in all; time that the server has waited, as it was asked to, is added. */
  readonly withinMs: number;
  /** Milliseconds of one attempt; time that the server was asked to wait is added. */
  readonly attemptMs: number;
}

/** A restart of the server takes seconds: the time decides, and the number of attempts only bounds it. */
export const RETRY_LIMITS: RetryLimits = { tries: 20, withinMs: 10_000, attemptMs: 5_000 };

/** The first pause is drawn from half of this … this; each further one from twice as much, up to `MAX_PAUSE_MS`. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
/** With less time left, or less than an attempt may take, no further attempt begins: its outcome might stay unknown, and that of the refusal before is clear. */
const LEAST_ATTEMPT_MS = 250;

/** What the server has certainly not done when it refuses so. */
const NOTHING_DONE = new Set([
  'overloaded',
  'shutting_down',
  'disk_full',
  'durability_unavailable',
  'pool_moving',
]);
/** Milliseconds that a key of the library's own counts beyond the end of its call; and at least, and at most, in all. */
const OWN_KEY_MARGIN_MS = 60_000;
const LEAST_OWN_KEY_TTL_MS = 120_000;
const MAX_KEY_TTL_MS = 2_592_000_000;
/** 429 that waiting does not help. */
const FINAL_REFUSALS = new Set(/* guard: client-final-refusals */ ['too_many_queues']);

/** Texts, numbers, booleans, dates and lists of them. */
export type Query = Readonly<Record<string, unknown>>;

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/v1/:namespace/`, its parts encoded. */
  readonly path: string;
  readonly query?: Query | undefined;
  /** JSON text, or what becomes JSON. */
  readonly body?: string | object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly hurry?: AbortSignal | undefined;
  /** Milliseconds that the server may wait before it answers. */
  readonly waitMs?: number;
  /** True: to do it twice is as to do it once. Else it is tried again only if it was certainly not done. */
  readonly isRepeatable: boolean;
  readonly limits?: Partial<RetryLimits> | undefined;
}

export interface ApiAnswer extends WireResponse {
  readonly place: CallPlace;
  /** An earlier attempt, whose answer was lost, may have done it. */
  readonly mayBeDone: boolean;
}

export interface ApiClientOptions {
  readonly url: URL;
  readonly namespace: string;
  readonly token: string;
  readonly transport: Transport;
  readonly limits: RetryLimits;
  /** Bytes of an answer, at most. */
  readonly maxAnswerBytes?: number;
}

/** More than the largest answer of a server with default limits: 100 jobs, their bodies as escaped text. */
export const MAX_ANSWER_BYTES = 67_108_864;

/** Calls of the v1 API of one namespace: deadlines, retries and errors. */
export class ApiClient {
  private readonly base: string;
  /** For errors: without the user and the password of the URL. */
  private readonly server: string;
  /** Private at run time, too: a client that is logged shows no token. */
  readonly #options: ApiClientOptions;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(options: ApiClientOptions) {
    const { url, namespace, token } = options;
    this.#options = options;
    this.server = `${url.protocol}//${url.host}`;
    this.base = `${url.pathname.replace(/\/$/, '')}/v1/${encodeURIComponent(namespace)}/`;
    // guard: printed-client-hides-its-token
    this.#headers = { 'x-token': token };
  }

  /** Attempts of a call. */
  get tries(): number {
    return this.#options.limits.tries;
  }

  /** Milliseconds that a server may take to begin its answer. */
  get attemptMs(): number {
    return this.#options.limits.attemptMs;
  }

  /** How long a key must count that this library makes for one call: a minute longer than the call may last. */
  ownKeyTtlMs(waitMs: number): number {
    const { withinMs, attemptMs } = this.#options.limits;
    const ttlMs = Math.ceil(waitMs + withinMs + attemptMs + OWN_KEY_MARGIN_MS);
    return Math.min(Math.max(ttlMs, LEAST_OWN_KEY_TTL_MS), MAX_KEY_TTL_MS);
  }

  /** Bytes of an answer, and of an event, at most. */
  get maxAnswerBytes(): number {
    return this.#options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  }

  /** @throws {PumphouseError} the server's refusal, or that there was no answer; or the reason of `signal` */
  async call(call: ApiCall): Promise<ApiAnswer> {
    const limits = { ...this.#options.limits, ...call.limits };
    const { waitMs = 0 } = call;
    const begunMs = performance.now();
    const endMs = begunMs + limits.withinMs + waitMs;
    let waitedMs = 0;
    let mayBeDone = false;
    for (let attempt = 1; ; attempt++) {
      const sentMs = performance.now();
      const leftMs = endMs - sentMs;
      // The server waits anew in each attempt.
      const mostMs = waitMs > 0 ? limits.withinMs : leftMs;
      const timeoutMs = waitMs + Math.max(1, Math.min(limits.attemptMs, mostMs));
      const queueMs = Math.max(1, leftMs);
      const outcome = await this.attempt(call, { attempts: attempt, mayBeDone }, { timeoutMs, queueMs });
      if (!(outcome instanceof Refusal)) {
        const { status, text } = outcome;
        const place = this.placeOf(call.method, call.path);
        return { status, text, header: (name) => outcome.header(name), mayBeDone, place };
      }
      mayBeDone ||= /* guard: refused-attempt-has-done-nothing */ !outcome.isNothingDone;
      // A server that is away has not waited: the call does not go on for that time.
      waitedMs = Math.min(waitMs, waitedMs + performance.now() - sentMs);
      const lastMs = begunMs + limits.withinMs + waitedMs;
      const pauseMs = pauseBefore(attempt, outcome.retryAfterMs);
      const mayRepeat =
        outcome.error.retryable &&
        /* guard: only-repeatable-calls-are-repeated */ (call.isRepeatable ||
          /* guard: undone-calls-are-repeated */ outcome.isNothingDone);
      const isOver = performance.now() + pauseMs + Math.min(LEAST_ATTEMPT_MS, limits.attemptMs) >= lastMs;
      if (!mayRepeat || attempt >= limits.tries || isOver) throw outcome.error;
      await sleep(pauseMs, call.signal ?? call.hurry);
    }
  }

  /** The same; gives the JSON of the answer as it is. */
  async json<T>(call: ApiCall): Promise<T> {
    return parseAnswer(await this.call(call)) as T;
  }

  /** A GET request whose answer is read while it arrives; without retries. @param path as in `ApiCall` */
  stream(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WireStream> {
    const request = { path: this.base + path, headers: { ...this.#headers, ...headers }, signal };
    return this.#options.transport.stream(request);
  }

  close(): void {
    this.#options.transport.close();
  }

  /** What errors say of a call. @param path as in `ApiCall` */
  placeOf(method: string, path: string): CallPlace {
    return { server: this.server, method, path: `${this.base}${path}`.replace(/\?.*/s, '') };
  }

  private async attempt(
    call: ApiCall,
    sent: Sent,
    times: { readonly timeoutMs: number; readonly queueMs: number },
  ): Promise<WireResponse | Refusal> {
    const { body } = call;
    try {
      const response = await this.#options.transport.send({
        method: call.method,
        path: this.base + call.path + queryOf(call.query),
        headers: {
          ...this.#headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...call.headers,
        },
        body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
        ...times,
        signal: call.signal,
        hurry: call.hurry,
        waits: (call.waitMs ?? 0) > 0,
        maxBytes: this.maxAnswerBytes,
      });
      return response.status < 300
        ? response
        : refusalOf(response, this.placeOf(call.method, call.path), sent);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      const { kind } = error;
      // The server has done it; the same call is answered so again.
      if (kind === 'too_large') throw new PumphouseError('answer_too_large', error.message, { ...sent });
      const code = kind === 'timeout' ? 'timeout' : 'network';
      const text = noAnswerText(error, this.placeOf(call.method, call.path));
      const shown = new PumphouseError(code, text, { retryable: true, ...sent, cause: error });
      return new Refusal(shown, kind === 'refused', null);
    }
  }
}

/** How often a call was sent, and whether an attempt before the last one may have done it. */
interface Sent {
  readonly attempts: number;
  readonly mayBeDone: boolean;
}

/** An attempt that has failed. */
class Refusal {
  constructor(
    readonly error: PumphouseError,
    /** The server has certainly not done anything. */
    readonly isNothingDone: boolean,
    readonly retryAfterMs: number | null,
  ) {}
}

/** @throws {PumphouseError} `invalid_response` */
export function parseAnswer(answer: Pick<ApiAnswer, 'text' | 'status' | 'place'>): unknown {
  try {
    return JSON.parse(answer.text) as unknown;
  } catch (cause) {
    throw notJson(answer, cause);
  }
}

/** The error for an answer that is not JSON. */
export function notJson(
  { status, place }: Pick<ApiAnswer, 'status' | 'place'>,
  cause: unknown,
): PumphouseError {
  return new PumphouseError('invalid_response', strangeAnswerText(status, null, place), { cause });
}

/** The refusal that an answer with an error status means. */
export function errorOf(response: WireResponse, place: CallPlace, sent?: Sent): PumphouseError {
  const { status } = response;
  const { code, detail, title, ...details } = problemOf(response.text);
  const isFinal = FINAL_REFUSALS.has(String(code));
  const problem = [detail, title].find((text) => typeof text === 'string') ?? 'the server refuses';
  return new PumphouseError(
    typeof code === 'string' ? code : `http_${String(status)}`,
    typeof code === 'string'
      ? refusalText({ code, detail: problem, errors: details['errors'] }, status, place)
      : strangeAnswerText(status, response.header('location'), place),
    {
      status,
      requestId: response.header('x-request-id'),
      retryable:
        !isFinal && (status === 429 || status === 503 || status === 408 || status === 502 || status === 504),
      ...sent,
      details,
    },
  );
}

function refusalOf(response: WireResponse, place: CallPlace, sent: Sent): Refusal {
  const error = errorOf(response, place, sent);
  const isNothingDone = error.status === 429 || NOTHING_DONE.has(error.code);
  return new Refusal(error, isNothingDone, retryAfterMs(response.header('retry-after')));
}

function problemOf(text: string): Record<string, unknown> {
  try {
    const parsed = JSON.parse(text) as unknown;
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Between half of it and the whole, so that clients do not come back together; behind what the server asks for. */
function pauseBefore(attempt: number, retryAfter: number | null): number {
  const spreadMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
  return (
    /* guard: client-waits-retry-after */ (retryAfter ?? 0) +
    spreadMs * /* guard: retry-pause-has-jitter */ (0.5 + Math.random() / 2)
  );
}

/** Milliseconds from seconds or a date; null if it is neither. */
export function retryAfterMs(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - Date.now());
}

/**
 * Lists become one value with commas; undefined and null values are left out.
 *
 * @param repeated lists whose values may have commas: each value is a parameter of its own
 */
export function queryOf(
  query: Query = {},
  repeated: Readonly<Record<string, readonly string[] | undefined>> = {},
): string {
  const each = Object.entries(repeated).flatMap(([name, values = []]) =>
    values.map((value) => [name, value] as const),
  );
  const pairs = [...Object.entries(query), ...each].flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    return [`${encodeURIComponent(name)}=${encodeURIComponent(textOf(value))}`];
  });
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
