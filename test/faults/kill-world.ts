import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { request } from 'undici';
import { scriptLibrary } from '../../src/redis/scripts/texts.js';
import { BuiltServer } from '../support/built-server.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { partsOf, StepProxy, type DeathPoint } from '../support/step-proxy.js';

/** What servers do unasked, or on the way of no request: no steps of one. */
const LOOPS = [
  'maintenance/pump',
  'maintenance/sweep',
  'maintenance/tidy',
  'maintenance/add_statistics',
  'maintenance/lowest_scores',
  'extended/run_timers',
  'simple/write_events',
  'simple/reclaim_undelivered',
  'simple/undo',
  'maintenance/backfill_quota',
];
const LOOP_FUNCTIONS = new Set(LOOPS.map((name) => scriptLibrary(name)?.name));
/** Leases are as short as one may be that leaves a record of its delivery. */
const TTR_S = 1;
/** How long a request waits for a job, in s: a lease that did not reach its client must be over by then. */
const WAIT_S = 8;
/** A step that follows an answer comes within this time. */
const QUIET_MS = 150;
/** How long one request may take on a busy machine, in ms. */
const PATIENCE_MS = 20_000;

/** Of a job's key; its body follows. */
const HEADER_BYTES = 24;

interface Answer {
  readonly status: number;
  readonly json: Record<string, unknown>;
}

interface LeasedJob {
  readonly id: string;
  readonly lease: number;
  readonly dependencies?: readonly { readonly id: string; readonly result?: unknown }[];
}

/** The built server behind a proxy that kills it at a step of its way to Redis. */
export class MortalServer {
  /** The namespace whose steps count. */
  watched = '';

  private constructor(
    readonly server: BuiltServer,
    readonly proxy: StepProxy,
  ) {}

  static async start(redisPort: number): Promise<MortalServer> {
    const holder: { mortal?: MortalServer } = {};
    const proxy = await StepProxy.start(redisPort, {
      counts: (command) => isStep(command, holder.mortal?.watched ?? ''),
      kill: () => process.kill(holder.mortal?.server.pid ?? 0, 'SIGKILL'),
    });
    // Samples are taken by scripts that requests call, too.
    const server = await BuiltServer.create({
      PUMPHOUSE_POOLS__DEFAULT__URL: proxy.url,
      PUMPHOUSE_HISTORY__ENABLED: 'false',
    });
    holder.mortal = new MortalServer(server, proxy);
    await server.start();
    return holder.mortal;
  }

  /** Starts it again after its death. @returns its exit code: null, for a signal has ended it */
  async restart(): Promise<number | null> {
    const code = await this.server.end('SIGKILL');
    this.proxy.revive();
    await this.server.start();
    return code;
  }

  async stop(): Promise<void> {
    await this.server.remove();
    await this.proxy.stop();
  }
}

function isStep(command: Buffer, namespace: string): boolean {
  const [verb = '', name = '', , key = ''] = partsOf(command);
  if (/^FCALL/i.test(verb)) return key.startsWith(`{${namespace}}`) && !LOOP_FUNCTIONS.has(name);
  return /^SADD$/i.test(verb) && command.includes(namespace);
}

/** One namespace, and a client of the server in it. */
export class KillWorld {
  readonly namespace = randomNamespace('kill');
  /** The job that was taken or remembered last, and its lease. */
  id = '';
  lease = 0;
  /** The extended jobs that were leased last. */
  jobs: readonly LeasedJob[] = [];
  /** The jobs that were published together. */
  private many: readonly string[] = [];
  private token = '';

  private constructor(
    private readonly mortal: MortalServer,
    readonly redis: Redis,
  ) {}

  static async create(mortal: MortalServer, redis: Redis): Promise<KillWorld> {
    const world = new KillWorld(mortal, redis);
    mortal.watched = world.namespace;
    world.token = await mortal.server.token(world.namespace);
    return world;
  }

  remember(id: string): void {
    this.id = id;
  }

  /** Waits until calls before have no more steps: the delivery of a lease is confirmed when its answer has left. */
  async isQuiet(): Promise<void> {
    let seen: number;
    do {
      ({ seen } = this.mortal.proxy);
      await sleep(QUIET_MS);
    } while (seen !== this.mortal.proxy.seen);
  }

  /** Has the server die at the n-th step from now. */
  dieAt(step: number, when: DeathPoint): Promise<void> {
    return this.mortal.proxy.dieAt(step, when);
  }

  async call(method: string, path: string, body?: string, headers = {}): Promise<Answer> {
    const answer = await request(`${this.mortal.server.url}${path}`, {
      method: method as 'GET',
      headers: { 'x-token': this.token, ...headers },
      reset: true,
      bodyTimeout: PATIENCE_MS,
      headersTimeout: PATIENCE_MS,
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, json: text === '' ? {} : (JSON.parse(text) as Answer['json']) };
  }

  /** One of lmstfy's calls; the status that it is answered with. */
  async send(method: string, path: string, body?: string, headers = {}): Promise<number> {
    return (await this.call(method, `/api/${this.namespace}/${path}`, body, headers)).status;
  }

  put(path: string, body: string, headers = {}): Promise<number> {
    return this.send('PUT', path, body, headers);
  }

  /** One of the native API's. */
  async native(path: string, body: object): Promise<number> {
    return (await this.call('POST', `/v1/${this.namespace}/${path}`, JSON.stringify(body))).status;
  }

  async publish(body: string, tries = 1): Promise<string> {
    const { status, json } = await this.call('PUT', `/api/${this.namespace}/q?tries=${tries}`, body);
    expect(status).toBe(201);
    return String(json['job_id']);
  }

  async publishExtended(id: string, more: object = {}): Promise<void> {
    const job = { id, queue: 'q', data: id, tries: 1, tags: ['t'], ...more };
    expect(await this.native('jobs', job)).toBe(201);
  }

  /** Jobs with a history, whose bodies are texts. */
  async publishMany(bodies: readonly string[], tries: number): Promise<void> {
    const retry = { kind: 'fixed', delay_ms: 3_600_000 };
    const jobs = bodies.map((data) => ({ queue: 'q', data, tries, type: 't', retention_ms: 60_000, retry }));
    const path = `/v1/${this.namespace}/jobs`;
    const { status, json } = await this.call('POST', path, JSON.stringify({ jobs }));
    expect(status).toBe(201);
    this.many = (json['jobs'] as { id: string }[]).map(({ id }) => id);
  }

  /** Leases so many jobs and has each fail once. */
  async failAll(count: number): Promise<void> {
    const body = JSON.stringify({ queues: ['q'], count, ttr_ms: 600_000 });
    const { json } = await this.call('POST', `/v1/${this.namespace}/leases`, body);
    const jobs = json['jobs'] as { id: string; lease: number }[];
    expect(jobs).toHaveLength(count);
    for (const { id, lease } of jobs)
      expect(await this.native(`jobs/${id}/retry`, { lease, group: 'g' })).toBe(200);
  }

  /** Starts an operation, by a key that every attempt has, and waits until it has ended. @returns the status */
  async operate(request: object): Promise<number> {
    // Jobs of the same millisecond would be older, or newer.
    await sleep(5);
    const path = `/v1/${this.namespace}/operations`;
    const { status, json } = await this.call('POST', path, JSON.stringify(request), {
      'idempotency-key': 'once',
    });
    if (status !== 202) return status;
    this.id = String(json['id']);
    for (;;) {
      const found = await this.call('GET', `${path}/${this.id}`);
      if (found.status !== 200 || found.json['state'] !== 'running') return found.status;
      await sleep(20);
    }
  }

  /** Undoes the operation that ran last, and waits until that has ended. @returns the status */
  async undo(): Promise<number> {
    const path = `/v1/${this.namespace}/operations/${this.id}`;
    const { status } = await this.call('POST', `${path}/undo`);
    if (status !== 202) return status;
    for (;;) {
      const found = await this.call('GET', path);
      const { state } = (found.json['undo'] ?? {}) as { state?: string };
      if (found.status !== 200 || state !== 'running') return found.status;
      await sleep(20);
    }
  }

  /** Whether the operation has ended, and each of so many jobs says that it acted on it once, if it is still there. */
  async hasActedOnce(count: number): Promise<boolean> {
    expect(await this.operation()).toMatchObject({
      ...{ state: 'done', matched: count, done: count, failed: 0, skipped: 0 },
    });
    const acts = await this.entries('cancelled', 'respawned', 'changed');
    expect(acts.filter((times) => times !== null && times !== 1)).toEqual([]);
    return true;
  }

  /** Whether the undo has ended, and each of so many jobs says that it came back once. */
  async hasRestoredOnce(count: number): Promise<boolean> {
    expect(await this.operation()).toMatchObject({ undo: { state: 'done', restored: count, failed: 0 } });
    expect(await this.entries('restored')).toEqual(Array.from({ length: count }, () => 1));
    return true;
  }

  private async operation(): Promise<Answer['json']> {
    return (await this.call('GET', `/v1/${this.namespace}/operations/${this.id}`)).json;
  }

  /** How many such entries the timeline of each job has; null = the job is gone. */
  private async entries(...kinds: readonly string[]): Promise<(number | null)[]> {
    const counts: (number | null)[] = [];
    for (const id of this.many) {
      const { status, json } = await this.call('GET', `/v1/${this.namespace}/jobs/${id}`);
      const timeline = (json['timeline'] ?? []) as { what: string }[];
      counts.push(status === 404 ? null : timeline.filter(({ what }) => kinds.includes(what)).length);
    }
    return counts;
  }

  /** Leases a job for a moment, and leaves it. */
  async takeOne(): Promise<void> {
    const { status, json } = await this.call('GET', `/api/${this.namespace}/q?ttr=600`);
    expect(status).toBe(200);
    this.id = String(json['job_id']);
  }

  /** Takes the job with a body, waiting for it. @returns the status */
  async consume(body: string): Promise<number> {
    const path = `/api/${this.namespace}/q?ttr=${TTR_S}&timeout=${WAIT_S}`;
    const { status, json } = await this.call('GET', path);
    if (status !== 200) return status;
    expect(Buffer.from(String(json['data']), 'base64').toString()).toBe(body);
    this.id = String(json['job_id']);
    return status;
  }

  /** Leases an extended job, waiting for it. @param more fields of the request. @returns the status */
  async leaseExtended(id: string, ttrMs = 600_000, more: object = {}): Promise<number> {
    return this.leaseAll([id], { ttr_ms: ttrMs, ...more });
  }

  /** Leases such jobs together, waiting for them. @returns the status */
  async leaseAll(ids: readonly string[], more: object): Promise<number> {
    const body = { queues: ['q'], wait_ms: WAIT_S * 1_000, ...more };
    const path = `/v1/${this.namespace}/leases`;
    const { status, json } = await this.call('POST', path, JSON.stringify(body));
    if (status !== 200) return status;
    this.jobs = json['jobs'] as LeasedJob[];
    expect(this.jobs.map(({ id }) => id)).toEqual(ids);
    this.lease = this.jobs[0]!.lease;
    return status;
  }

  /** Acknowledges what was leased last. @returns whether each was done */
  async ackAll(): Promise<boolean> {
    const acks = this.jobs.map(({ id, lease }) => this.native(`jobs/${id}/ack`, { lease }));
    return (await Promise.all(acks)).every((status) => status === 200);
  }

  /** Changes settings of the queue. @returns the status */
  async change(settings: object): Promise<number> {
    const path = `/v1/${this.namespace}/queues/q`;
    return (await this.call('PATCH', path, JSON.stringify(settings))).status;
  }

  /** Has so many jobs of one try die: their workers let their leases run out. */
  async die(count: number): Promise<void> {
    for (let i = 0; i < count; i++) expect(await this.send('GET', 'q?ttr=1')).toBe(200);
    const size = async (): Promise<unknown> =>
      (await this.call('GET', `/api/${this.namespace}/q/deadletter`)).json['deadletter_size'];
    await waitFor(async () => (await size()) === count, PATIENCE_MS);
  }

  /** The bodies of all jobs that are stored, in whatever state; as the raw keys tell it. */
  async stored(): Promise<string[]> {
    const keys = await this.redis.keysBuffer(`{${this.namespace}}j*`);
    const values = await Promise.all(keys.map((key) => this.redis.getBuffer(key)));
    return values.map((value) => value!.toString('utf8', HEADER_BYTES));
  }

  /** The bodies of all jobs that can be worked on, each acknowledged. Waits for as many as are expected, and takes whatever there is. */
  async drain(expected: number): Promise<string[]> {
    const bodies: string[] = [];
    for (;;) {
      const timeout = bodies.length < expected ? `&timeout=${WAIT_S}` : '';
      const { status, json } = await this.call('GET', `/api/${this.namespace}/q?ttr=600${timeout}`);
      if (status !== 200) return bodies;
      bodies.push(Buffer.from(String(json['data']), 'base64').toString());
      expect(await this.send('DELETE', `q/job/${String(json['job_id'])}`)).toBe(204);
    }
  }
}
