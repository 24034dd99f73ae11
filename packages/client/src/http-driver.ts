import type {
  Ack,
  AckStatus,
  Dependency,
  EncodedPayload,
  EndedJob,
  ExtendedLease,
  FailureReport,
  HeartbeatAnswer,
  HeartbeatCall,
  JobDriver,
  LeasedJob,
  LeaseRef,
  LeaseRequest,
  PublishCall,
  PublishedJob,
  ReleaseOptions,
  SessionAnswer,
  SessionHeartbeat,
} from './driver.js';
import { isOfProxy, isPumphouseError } from './errors.js';
import { type JobSpan, jobSpans } from './json-spans.js';
import { JobWithPayload, type LeasedPayload } from './leased-payload.js';
import { isJsonType, newJobJson, type NewJob } from './producer/new-job.js';
import { type ApiAnswer, type ApiClient, notJson, parseAnswer } from './transport/api-client.js';
import { sleep, timerMs, wholeWait } from './transport/transport.js';
import { dependencyOf, fromBase64, fromWire, toBase64, toWire, type WireDependency } from './wire.js';

/** Milliseconds that the whole of one operation on a lease may take; the worker tries again beyond. */
const LEASE_LIMITS = { withinMs: 10_000 };
/** Attempts of a lease request: the worker asks again itself, and logs that it failed. */
const LEASE_TRIES = 5;
/** Longest wait for the end of a job that the server takes, in milliseconds: a day. */
const MAX_END_WAIT_MS = 86_400_000;
/** How long a lease request that is to end may take before its connection is closed, and how often its end is asked for. */
const END_WAITS_MS = 1_000;
const AGAIN_MS = 250;
const END_WAIT_LIMITS = { tries: 1, attemptMs: 500, withinMs: 500 };
/** How long a job without a handler is given back to a server that does not count how often. */
const OLD_UNHANDLED_MS = 60_000;
/** Queues that a session can name. */
const MAX_SESSION_QUEUES = 64;
/** The end of a session delays that of its process by so long at most, in milliseconds. */
const END_LIMITS = { tries: 1, attemptMs: 1_000, withinMs: 1_000 };

/** The v1 API. */
export class HttpDriver implements JobDriver {
  constructor(private readonly api: ApiClient) {}

  async publish(jobs: readonly NewJob[], options: PublishCall): Promise<readonly PublishedJob[]> {
    const [only] = jobs;
    const body =
      jobs.length === 1 && only !== undefined
        ? newJobJson(only)
        : `{"jobs":[${jobs.map((job, i) => newJobJson(job, `jobs[${String(i)}]`)).join(',')}]}`;
    const answer = await this.api.call({ ...this.publishCall(options, 0), path: 'jobs', body });
    const stored = fromWire(parseAnswer(answer)) as PublishedJob | { jobs: PublishedJob[] };
    const replayed = isReplayed(answer, options);
    return ('jobs' in stored ? stored.jobs : [stored]).map((job) => ({ ...job, replayed }));
  }

  async publishAndWait(job: NewJob, options: PublishCall & { readonly waitMs: number }): Promise<EndedJob> {
    const waitMs = wholeWait(Math.min(options.waitMs, MAX_END_WAIT_MS));
    const answer = await this.api.call({
      ...this.publishCall(options, waitMs),
      path: 'jobs',
      // The server takes no wait of 0.
      query: { wait_ms: waitMs || undefined },
      body: newJobJson(job),
      waitMs,
    });
    const {
      result,
      failure = null,
      ...ended
    } = fromWire(parseAnswer(answer)) as Omit<EndedJob, 'failure'> & {
      result: { data: unknown } | null;
      failure?: EndedJob['failure'];
    };
    return { ...ended, failure, result: result?.data, replayed: isReplayed(answer, options) };
  }

  async lease(request: LeaseRequest): Promise<readonly LeasedJob[]> {
    const { queues, order, types, count, min, ttrMs, worker, signal } = request;
    const waitMs = wholeWait(timerMs(request.waitMs));
    const lingerMs = request.lingerMs === undefined ? undefined : wholeWait(timerMs(request.lingerMs));
    const poll = new Poll(signal, async (answered) => {
      if (worker !== undefined) await this.endWaits(worker, answered);
    });
    const answer = await this.api
      .call({
        method: 'POST',
        path: 'leases',
        body: {
          queues,
          order,
          types,
          count,
          wait_ms: waitMs,
          linger_ms: lingerMs,
          min,
          ttr_ms: ttrMs,
          worker,
        },
        waitMs: timerMs(waitMs + (lingerMs ?? 0)),
        limits: { tries: Math.min(this.api.tries, LEASE_TRIES) },
        hurry: poll.hurry,
        // The server takes leases back whose answer did not arrive.
        isRepeatable: true,
      })
      .finally(() => poll.end());
    return leasedJobs(answer);
  }

  /** A server that knows no sessions has no such call: there each lease gets a heartbeat of its own. */
  async heartbeatSession(heartbeat: SessionHeartbeat): Promise<SessionAnswer> {
    try {
      return await this.sessionHeartbeat(heartbeat);
    } catch (error) {
      // guard: heartbeats-without-sessions
      if (!isPumphouseError(error, 'not_found')) throw error;
      return this.heartbeatEach(heartbeat);
    }
  }

  async endSession(session: string): Promise<void> {
    const path = `workers/${session}`;
    try {
      await this.api.call({ method: 'DELETE', path, isRepeatable: true, limits: END_LIMITS });
    } catch (error) {
      if (!isPumphouseError(error, 'worker_not_found')) throw error;
    }
  }

  async heartbeat(lease: LeaseRef, options: HeartbeatCall): Promise<HeartbeatAnswer> {
    const { ttrMs, timeoutMs, progress, begin } = options;
    const { cancel_requested } = await this.api.json<{ cancel_requested: boolean }>({
      method: 'POST',
      path: `jobs/${lease.id}/heartbeat`,
      body: {
        ...{ lease: lease.lease, ttr_ms: ttrMs, progress },
        ...(begin && { begin: true, max_run_ms: begin.maxRunMs }),
      },
      isRepeatable: true,
      limits: { tries: 1, attemptMs: timeoutMs, withinMs: timeoutMs },
    });
    return { cancelRequested: cancel_requested };
  }

  async ack(acks: readonly Ack[]): Promise<readonly AckStatus[]> {
    const answer = await this.api.call({
      method: 'POST',
      path: 'acks',
      body: `{"acks":[${acks.map(ackJson).join(',')}]}`,
      isRepeatable: true,
      limits: LEASE_LIMITS,
    });
    const { results } = parseAnswer(answer) as { results: { status: string }[] };
    // An earlier attempt, whose answer was lost, has acknowledged what is gone now.
    return results.map(({ status }) => (status === 'not_found' && answer.mayBeDone ? 'acked' : status));
  }

  async release(lease: LeaseRef, { delayMs, reason, worker }: ReleaseOptions): Promise<void> {
    try {
      await this.settle(lease, 'release', { delay_ms: delayMs, reason, worker });
    } catch (error) {
      const isRefused = isPumphouseError(error) && error.status === 400 && !isOfProxy(error);
      if (reason === undefined || !isRefused) throw error;
      // A server that knows no reasons does not count them either.
      await this.settle(lease, 'release', { delay_ms: delayMs ?? OLD_UNHANDLED_MS });
    }
  }

  retry(lease: LeaseRef, failure: FailureReport & { readonly delayMs?: number | undefined }): Promise<void> {
    const { group, message, delayMs } = failure;
    return this.settle(lease, 'retry', { group, message, delay_ms: delayMs });
  }

  fail(lease: LeaseRef, { group, message }: FailureReport): Promise<void> {
    return this.settle(lease, 'fail', { group, message });
  }

  async log(id: string, message: string, data?: unknown): Promise<void> {
    await this.api.call({
      method: 'POST',
      path: `jobs/${encodeURIComponent(id)}/log`,
      body: { message, data },
      // A line that stands there twice does less harm than one that is missing.
      isRepeatable: true,
    });
  }

  private publishCall(options: PublishCall, waitMs: number) {
    const { idempotencyKey, isOwnKey, durability, signal } = options;
    // guard: own-key-outlasts-its-call
    const ttlMs = isOwnKey === true ? this.api.ownKeyTtlMs(waitMs) : options.idempotencyTtlMs;
    return {
      method: 'POST',
      headers: {
        'idempotency-key': /* guard: attempts-share-a-key */ idempotencyKey,
        ...(ttlMs === undefined ? {} : { 'idempotency-ttl-ms': String(ttlMs) }),
        ...(durability === undefined ? {} : { 'x-durability': durability }),
      },
      signal,
      isRepeatable: true,
    } as const;
  }

  private async sessionHeartbeat(heartbeat: SessionHeartbeat): Promise<SessionAnswer> {
    const { session, info, leases, jobsAtHand, ttrMs, timeoutMs } = heartbeat;
    const described = toWire({ ...info, queues: info.queues.slice(0, MAX_SESSION_QUEUES) });
    const { jobs, quiet, stop } = await this.api.json<WireSessionAnswer>({
      method: 'POST',
      path: `workers/${session}/heartbeat`,
      body: {
        ttr_ms: ttrMs,
        leases: leases.map(({ id, lease }) => ({ id, lease })),
        ...{ jobs_at_hand: jobsAtHand, info: described },
      },
      isRepeatable: true,
      limits: { tries: 1, attemptMs: timeoutMs, withinMs: timeoutMs },
    });
    const extended = jobs.map(({ status, cancel_requested }) => ({
      status,
      cancelRequested: cancel_requested,
    }));
    return { leases: extended, quiet, stop };
  }

  /** Fails if one of them was not answered: the others are then confirmed by the next one. */
  private async heartbeatEach({ leases, ttrMs, timeoutMs }: SessionHeartbeat): Promise<SessionAnswer> {
    const extend = async (lease: LeaseRef): Promise<ExtendedLease> => {
      try {
        return { status: 'extended', ...(await this.heartbeat(lease, { ttrMs, timeoutMs })) };
      } catch (error) {
        if (isPumphouseError(error, 'lease_lost')) return { status: 'lease_lost', cancelRequested: false };
        if (isPumphouseError(error, 'job_not_found')) return { status: 'not_found', cancelRequested: false };
        throw error;
      }
    };
    return { leases: await Promise.all(leases.map(extend)), quiet: false, stop: false };
  }

  /**
   * Ends the lease requests of a worker on all servers: a proxy does not tell them of a connection that is closed. Again
   * and again until `answered`, because a proxy may hold the lease request back.
   */
  private async endWaits(worker: string, answered: AbortSignal): Promise<void> {
    const endMs = performance.now() + END_WAITS_MS;
    const path = `workers/${encodeURIComponent(worker)}/waits`;
    try {
      while (!answered.aborted && performance.now() < endMs) {
        await this.api.call({ method: 'DELETE', path, isRepeatable: true, limits: END_WAIT_LIMITS });
        await sleep(AGAIN_MS, answered);
      }
    } catch {
      // It is answered, or the server is away or knows no such call.
    }
  }

  private async settle(lease: LeaseRef, what: string, fields: object): Promise<void> {
    try {
      await this.api.call({
        method: 'POST',
        path: `jobs/${lease.id}/${what}`,
        body: { lease: lease.lease, ...fields },
        isRepeatable: true,
        limits: LEASE_LIMITS,
      });
    } catch (error) {
      // An earlier attempt, whose answer was lost, has ended the lease.
      if (
        isPumphouseError(error, 'lease_lost', 'job_not_found') /* guard: client-lost-operation-fails */ &&
        error.mayBeDone
      )
        return;
      throw error;
    }
  }
}

/** A lease request that is to end when a signal aborts: first by a call, then by closing its connection. */
class Poll {
  private readonly answered = new AbortController();
  private readonly hurrying = new AbortController();

  constructor(
    private readonly signal: AbortSignal,
    private readonly endWaits: (answered: AbortSignal) => Promise<void>,
  ) {
    if (signal.aborted) this.hurrying.abort(signal.reason);
    else signal.addEventListener('abort', this.leave, { once: true });
  }

  /** Aborted when its connection is to be closed. */
  get hurry(): AbortSignal {
    return this.hurrying.signal;
  }

  end(): void {
    this.signal.removeEventListener('abort', this.leave);
    this.answered.abort();
  }

  private readonly leave = (): void => {
    const ending = /* guard: stop-ends-waits */ this.endWaits(this.answered.signal);
    void ending.finally(() => this.hurrying.abort(this.signal.reason));
  };
}

interface WireSessionAnswer {
  readonly jobs: readonly { readonly status: ExtendedLease['status']; readonly cancel_requested: boolean }[];
  readonly quiet: boolean;
  readonly stop: boolean;
}

/** A key of the library's own can be known from an earlier attempt only: then this call has stored the jobs. */
function isReplayed(answer: ApiAnswer, { isOwnKey }: PublishCall): boolean {
  const isOwnAttempt = answer.mayBeDone && isOwnKey === true;
  return answer.header('idempotency-replayed') === 'true' && !isOwnAttempt;
}

/** Written by hand: a worker sends tens of thousands of them in a second. Ids and queues need no escaping. */
function ackJson({ queue, id, lease, result, next, data }: Ack): string {
  let text = `{"queue":"${queue}","id":"${id}","lease":${String(lease)}`;
  if (result) text += payloadJson(result, 'result', 'result_type');
  if (data) text += payloadJson(data, 'data', 'content_type');
  if (next) text += `,"next":${JSON.stringify(toWire(next))}`;
  return `${text}}`;
}

function payloadJson(payload: EncodedPayload, name: string, typeName: string): string {
  if ('json' in payload) return `,"${name}":${payload.json}`;
  const { bytes, contentType } = payload;
  const typeMember = contentType === undefined ? '' : `,"${typeName}":${JSON.stringify(contentType)}`;
  return `,"${name}_base64":"${toBase64(bytes)}"${typeMember}`;
}

/** A leased job as the API writes it. */
interface WireJob {
  readonly id: string;
  readonly queue: string;
  readonly lease: number;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly priority: number;
  readonly tries: number;
  readonly tries_left: number;
  readonly attempts: number;
  readonly crashes: number;
  readonly failures: number;
  readonly max_run_ms?: number;
  readonly published_at: string | null;
  readonly expires_at: string | null;
  readonly progress: unknown;
  readonly content_type: string;
  readonly data?: unknown;
  readonly data_base64?: string;
  readonly dependencies?: readonly WireDependency[];
}

/** @throws {PumphouseError} `invalid_response` */
function leasedJobs(answer: ApiAnswer): HttpLeasedJob[] {
  const { text } = answer;
  const leased = new LeaseAnswer(text);
  let jobs: WireJob[];
  try {
    ({ jobs } = JSON.parse(text) as { jobs: WireJob[] });
  } catch (cause) {
    const readable = jobsEach(text, leased);
    if (readable.length === 0) throw notJson(answer, cause);
    return readable;
  }
  return jobs.map((job, index) => new HttpLeasedJob(job, leased, index));
}

/** One payload that cannot be read must not stop the other jobs of its answer: each is read alone. */
function jobsEach(text: string, answer: LeaseAnswer): HttpLeasedJob[] {
  return answer.spans.flatMap(({ job: [from, to], members }, index) => {
    const whole = jsonIn(text.slice(from, to));
    if (isWireJob(whole)) return [new HttpLeasedJob(whole, answer, index)];
    const read = [...members].map(([name, span]) => [name, jsonIn(text.slice(...span))] as const);
    const readable: unknown = Object.fromEntries(read);
    const broken = read.filter(([, value]) => value === undefined).map(([name]) => name);
    const problem = `not JSON: its ${broken.join(', ')}`;
    return isWireJob(readable) ? [new HttpLeasedJob(readable, answer, index, problem)] : [];
  });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isWireJob(job: unknown): job is WireJob {
  return typeof (job as WireJob | undefined)?.id === 'string' && typeof (job as WireJob).lease === 'number';
}

/** The text of an answer, for jobs whose payload is wanted as it was sent. */
class LeaseAnswer {
  private found: JobSpan[] | undefined;

  constructor(private readonly text: string) {}

  get spans(): JobSpan[] {
    return (this.found ??= jobSpans(this.text));
  }

  dataOf(index: number): string {
    const span = this.spans[index]?.members.get('data');
    return span ? this.text.slice(...span) : 'null';
  }
}

/** A payload in each form. Its fields are private at run time, too: a job that is logged shows no other job's data. */
class WirePayload implements LeasedPayload {
  readonly #wire: WireJob;
  readonly #answer: LeaseAnswer;
  readonly #index: number;
  #decoded: { readonly data: unknown } | undefined;

  constructor(wire: WireJob, answer: LeaseAnswer, index: number) {
    this.#wire = wire;
    this.#answer = answer;
    this.#index = index;
  }

  get contentType(): string {
    return this.#wire.content_type;
  }

  /** The server gives JSON that is nested deeply in base64. */
  get data(): unknown {
    if (this.#wire.data_base64 === undefined) return this.#wire.data;
    if (this.#decoded === undefined) {
      const json = isJsonType(this.#wire.content_type) ? jsonIn(this.text) : undefined;
      this.#decoded = { data: json === undefined ? this.bytes : json };
    }
    return this.#decoded.data;
  }

  /** True if its base64 is none. */
  get isBroken(): boolean {
    const { data_base64: text } = this.#wire;
    return text !== undefined && !/^[A-Za-z0-9+/]*={0,2}$/.test(text);
  }

  get text(): string {
    const { data_base64: bytes } = this.#wire;
    return bytes === undefined
      ? this.#answer.dataOf(this.#index)
      : new TextDecoder().decode(fromBase64(bytes));
  }

  get bytes(): Uint8Array {
    const { data_base64: bytes } = this.#wire;
    return bytes === undefined ? new TextEncoder().encode(this.text) : fromBase64(bytes);
  }
}

/** Forms that are decoded when they are wanted: of JSON, and of base64. */
const OTHER_FORMS = ['text', 'bytes'] as const;
const BASE64_FORMS = ['data', ...OTHER_FORMS] as const;

/** Its payload is decoded when it is first wanted in that form. */
class HttpLeasedJob extends JobWithPayload implements LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly lease: number;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly priority: number;
  readonly tries: number;
  readonly triesLeft: number;
  readonly attempts: number;
  readonly crashes: number;
  readonly failures: number;
  readonly publishedAt: string | null;
  readonly expiresAt: string | null;
  readonly progress: unknown;
  declare readonly dependencies?: readonly Dependency[];
  declare readonly unreadable?: string;
  declare readonly maxRunMs?: number;

  constructor(wire: WireJob, answer: LeaseAnswer, index: number, unreadable?: string) {
    super();
    const payload = new WirePayload(wire, answer, index);
    const problem = unreadable ?? (payload.isBroken ? 'its data is not base64' : undefined);
    if (problem !== undefined) this.unreadable = problem;
    if (wire.max_run_ms !== undefined) this.maxRunMs = wire.max_run_ms;
    this.id = wire.id;
    this.queue = wire.queue;
    this.lease = wire.lease;
    this.type = wire.type;
    this.tags = wire.tags;
    this.attributes = wire.attributes;
    this.priority = wire.priority;
    this.tries = wire.tries;
    this.triesLeft = wire.tries_left;
    this.attempts = wire.attempts;
    this.crashes = wire.crashes;
    this.failures = wire.failures;
    this.publishedAt = wire.published_at;
    this.expiresAt = wire.expires_at;
    this.progress = wire.progress;
    this.contentType = wire.content_type;
    if (wire.dependencies !== undefined) this.dependencies = wire.dependencies.map(dependencyOf);
    if (wire.data_base64 === undefined) {
      this.data = wire.data;
      this.hold(payload, OTHER_FORMS);
    } else this.hold(payload, BASE64_FORMS);
  }
}
