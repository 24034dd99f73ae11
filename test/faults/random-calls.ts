import type { Answer } from '../support/app.js';
import type { Stage, WireRequest } from './hang-up.js';
import { type Effects, nowMs, type Operation } from './job-log.js';
import type { Held, LeaseRules } from './lease-rules.js';

export const QUEUES = ['a', 'b', 'c'];
/** Ids that are published again and again. */
export const CHOSEN = Array.from({ length: 10 }, (_, i) => `j${i}`);
const UNIQUE_KEYS = ['k0', 'k1', 'k2'];
const IDEMPOTENCY_KEYS = Array.from({ length: 6 }, (_, i) => `once-${i}`);
const TAGS = ['red', 'green', 'blue'];
const WORKERS = ['w0', 'w1'];
/** Times that no run waits for, in ms. */
export const FAR_MS = 3_600_000;
const KEPT = 60;
const WITHIN_AN_ANSWER: readonly Stage[] = [
  'after the last byte',
  'while the answer is made',
  'at the first byte of the answer',
];

/** What all clients of a namespace know together. */
export interface World {
  readonly namespace: string;
  readonly rules: LeaseRules;
  /** ULIDs that are published again by `X-Job-ID`. */
  readonly reused: readonly string[];
  /** Ids that servers made, the latest ones. */
  readonly minted: string[];
  readonly held: Held[];
  /** Jobs that a unique key was asked for. */
  readonly holders: Map<string, Set<string>>;
  /** Jobs whose leases may end by `max_run_ms`, which lmstfy's wire does not tell: the shortest one in ms. */
  readonly runLimits: Map<string, number>;
  /** What was answered to the first publish of an idempotency key. */
  readonly once: Map<string, string>;
  count: number;
}

/** A call that is to be made: what it concerns, and how its answer is read. */
export interface Planned {
  readonly request: WireRequest;
  readonly concerns: readonly (readonly [about: string, effects: Effects])[];
  /** The client hangs up, at one of these. */
  readonly stages?: readonly Stage[];
  /** Called just before it is sent. */
  readonly before?: (operations: readonly Operation[]) => void;
  /** Called with an answer below 300; those operations that it does not close are closed as answered. */
  readonly onAnswer?: (answer: Answer, operations: readonly Operation[], sentMs: number) => void;
  /** Called with a refusal, a failure, or null for a client that hung up. */
  readonly failed?: (answer: Answer | null, operations: readonly Operation[]) => void;
  /** Error codes that it may get beside those of all calls. */
  readonly refusals?: readonly string[];
}

type Fields = Record<string, unknown>;
interface LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly lease: number;
  readonly lease_ends_at: string;
  readonly data?: { readonly for?: string; readonly n?: number };
  readonly type: string | null;
  readonly attributes: Readonly<Record<string, string>> | null;
}

export function newWorld(namespace: string, rules: LeaseRules, reused: readonly string[]): World {
  const lists = { minted: [], held: [], holders: new Map(), once: new Map(), runLimits: new Map() };
  return { namespace, rules, reused, ...lists, count: 0 };
}

/** Draws calls of both APIs. */
export class RandomCalls {
  private readonly table: readonly [weight: number, plan: () => Planned][] = [
    [15, () => this.publish()],
    [3, () => this.publishMany()],
    [1, () => this.publishAndWait()],
    [4, () => this.put()],
    [5, () => this.publishOnLmstfy()],
    [1, () => this.publishBulk()],
    [2, () => this.republish()],
    [2, () => this.publishOnce()],
    [8, () => this.lease()],
    [4, () => this.consume()],
    [9, () => this.ack()],
    [3, () => this.ackAndMoveOn()],
    [3, () => this.heartbeat()],
    [3, () => this.giveUpLease('release', { delay_ms: this.some(0.3, 40) })],
    [3, () => this.giveUpLease('retry', this.failure({ delay_ms: this.some(0.3, 40) }))],
    [2, () => this.giveUpLease('fail', this.failure({}))],
    [3, () => this.ackMany()],
    [6, () => this.deleteOnLmstfy()],
    [5, () => this.cancel()],
    [2, () => this.cancelMany()],
    [4, () => this.deleteJob()],
    [3, () => this.revoke()],
    [6, () => this.change()],
    [1, () => this.dependencies()],
    [2, () => this.tags()],
    [1, () => this.track()],
    [2, () => this.respawn()],
    [1, () => this.deleteDead()],
    [2, () => this.deadOnLmstfy()],
    [0.5, () => this.control('pause')],
    [2, () => this.control('resume')],
    [0.2, () => this.control('drain')],
    [0.4, () => this.purge()],
    [0.3, () => this.destroy()],
    [0.5, () => this.forgetQueue()],
    [1, () => this.settings()],
    [5, () => this.planRead()],
    [1, () => this.listen()],
    [2, () => this.giveUpAPoll()],
  ];
  private readonly own: Held[] = [];
  private readonly sum = this.table.reduce((sum, [weight]) => sum + weight, 0);

  constructor(
    private readonly world: World,
    private readonly random: () => number,
  ) {}

  next(): Planned {
    let at = this.random() * this.sum;
    const found = this.table.find(([weight]) => (at -= weight) < 0) ?? this.table[0]!;
    return found[1]();
  }

  private publish(): Planned {
    const { job, concerns } = this.job();
    const headers = this.random() < 0.1 ? { 'x-durability': 'memory' } : {};
    return this.publishing(this.v1('POST', 'jobs', job, headers), [job], concerns, (json) => [
      json as Fields,
    ]);
  }

  private publishMany(): Planned {
    const drawn = Array.from({ length: 2 + Math.floor(this.random() * 3) }, () => this.job());
    const names = new Set<unknown>();
    // One call may name an id once only.
    const jobs = drawn.filter(({ job: { id } }) => id === undefined || (!names.has(id) && names.add(id)));
    return this.publishing(
      this.v1('POST', 'jobs', { jobs: jobs.map(({ job }) => job) }),
      jobs.map(({ job }) => job),
      jobs.flatMap(({ concerns }) => concerns),
      (json) => (json as { jobs: Fields[] }).jobs,
    );
  }

  private publishAndWait(): Planned {
    const { job, concerns } = this.job();
    delete job['retention_ms'];
    return {
      request: this.v1('POST', `jobs?wait_ms=${1 + Math.floor(this.random() * 80)}`, job),
      // The job is done, or kept, by the time that this is answered.
      concerns: concerns.map(([about, effects]) => [about, { ...effects, removes: true }]),
    };
  }

  /** Creates a job under an id, or replaces a waiting one. */
  private put(): Planned {
    const id = this.id();
    const { job, concerns } = this.job(id);
    const headers: Record<string, string> = this.random() < 0.25 ? { 'if-none-match': '*' } : {};
    const request = this.v1('PUT', `jobs/${id}`, { ...job, id: undefined }, headers);
    const onAnswer = ({ status, text }: Answer, operations: readonly Operation[]): void => {
      if (status === 200 && 'if-none-match' in headers) this.world.rules.report(id, `replaced: ${text}`);
      const operation = operations.find(({ about, effects }) => about === id && effects.publishes);
      if (operation !== undefined) this.world.rules.log.done(operation, text, false);
    };
    // A job that it replaces is taken away.
    return {
      request,
      concerns: concerns.map(([about, effects]) => [about, { ...effects, removes: true }]),
      onAnswer,
      refusals: ['leased'],
    };
  }

  private publishOnLmstfy(): Planned {
    const id = this.random() < 0.5 ? this.pick(this.world.reused) : undefined;
    const [query, isMortal] = this.lmstfyOptions();
    const headers = id === undefined ? {} : { 'x-job-id': id };
    const request = this.lmstfy('PUT', `${this.queue()}?${query}`, this.body(id), headers);
    if (id === undefined) return this.minting(request, isMortal);
    return { request, concerns: [[id, { publishes: true, removes: true }]] };
  }

  private publishBulk(): Planned {
    const [query, isMortal] = this.lmstfyOptions();
    const body = `[${this.body()},${this.body()}]`;
    return this.minting(this.lmstfy('PUT', `${this.queue()}/bulk?${query}`, body), isMortal);
  }

  private republish(): Planned {
    const [query, isMortal] = this.lmstfyOptions();
    const old = this.id();
    const path = `${this.queueOf(old)}/job/${old}?${query}`;
    const planned = this.minting(this.lmstfy('PUT', path, this.body()), isMortal);
    return { ...planned, concerns: [[old, { ends: true, removes: true }]] };
  }

  /** The same request for the same key: the same answer. */
  private publishOnce(): Planned {
    const { namespace, once, rules } = this.world;
    const key = this.pick(IDEMPOTENCY_KEYS);
    const i = IDEMPOTENCY_KEYS.indexOf(key);
    const queue = QUEUES[i % QUEUES.length]!;
    const headers: Record<string, string> = { 'idempotency-key': `${namespace}-${key}` };
    // Longer than a run: it is no part of the request, so that a call with it repeats one without it.
    if (this.random() < 0.4) headers['idempotency-ttl-ms'] = String(FAR_MS);
    const request =
      i % 2 === 0
        ? this.v1('POST', 'jobs', { queue, data: { for: 'minted' }, priority: i, tries: 2 }, headers)
        : this.lmstfy('PUT', `${queue}?tries=2&ttl=0`, '{"for":"minted"}', headers);
    const onAnswer = ({ text }: Answer): void => {
      const first = once.get(key);
      const id = /"(?:job_)?id":"([^"]+)"/.exec(text)?.[1] ?? '';
      if (first !== undefined && first !== text)
        rules.report(id, `${key} was answered ${first}, then ${text}`);
      if (first === undefined) this.mint(id, request, nowMs(), true);
      once.set(key, text);
    };
    return { request, concerns: [], onAnswer };
  }

  private lease(): Planned {
    const queues = this.queues();
    const request = this.v1('POST', 'leases', {
      queues,
      order: this.some(0.3, 'round_robin'),
      count: this.pick([1, 1, 2, 5, 10]),
      wait_ms: this.some(0.3, this.pick([20, 100])),
      ttr_ms: this.some(0.6, this.pick([40, 250, 1_000])),
      worker: this.some(0.3, this.pick(WORKERS)),
    });
    const onAnswer = ({ json }: Answer, _: readonly Operation[], sentMs: number): void => {
      const { jobs } = json as { jobs: LeasedJob[] };
      for (const job of jobs) this.checkContents(job);
      const fromMs = nowMs();
      this.granted(
        jobs.map(({ id, queue, lease, lease_ends_at }) => ({
          ...{ id, queue, lease, sentMs, fromMs, heartbeats: 0, isUnsure: false },
          endMs: Date.parse(lease_ends_at),
        })),
      );
    };
    return { request, concerns: [], onAnswer };
  }

  private consume(): Planned {
    const [ttrS, count] = [1, this.pick([1, 1, 3])];
    const timeout = this.random() < 0.03 ? 1 : 0;
    const query = `ttr=${ttrS}&count=${count}&timeout=${timeout}`;
    const request = this.lmstfy('GET', `${this.queues().join(',')}?${query}`);
    const onAnswer = ({ json }: Answer, _: readonly Operation[], sentMs: number): void => {
      const fromMs = nowMs();
      const jobs = [json].flat() as { job_id: string; queue: string; ttl: number }[];
      // Its ttl is told in rounded seconds, and its lease ends with it.
      this.granted(
        jobs.map(({ job_id: id, queue, ttl }) => ({
          ...{ id, queue, lease: null, sentMs, fromMs, heartbeats: 0, isUnsure: false },
          endMs: sentMs + Math.min(this.runLimit(id), 1_000 * (ttl > 0 ? Math.min(ttrS, ttl - 1) : ttrS)),
        })),
      );
    };
    return { request, concerns: [], onAnswer };
  }

  private ack(): Planned {
    const held = this.heldWithNumber();
    if (held === undefined) return this.lease();
    const body = { lease: held.lease, result: this.some(0.3, { n: 1 }), ...this.newData(held.id) };
    return this.settling(held, 'ack', body, { ends: true, removes: true }, true);
  }

  private ackAndMoveOn(): Planned {
    const held = this.heldWithNumber();
    if (held === undefined) return this.lease();
    const body = { lease: held.lease, next: this.nextQueue(), ...this.newData(held.id) };
    return this.settling(held, 'ack', body, { ends: true, moves: true }, false);
  }

  private heartbeat(): Planned {
    const held = this.heldWithNumber();
    if (held === undefined) return this.lease();
    const ttrMs = this.pick([40, 250, 800]);
    const body = {
      ...{ lease: held.lease, ttr_ms: ttrMs, progress: this.some(0.2, 1) },
      ...this.newData(held.id),
      content_type: undefined,
    };
    const { rules } = this.world;
    let endMs = 0;
    return {
      request: this.v1('POST', `jobs/${held.id}/heartbeat`, body),
      // It may make the lease shorter.
      concerns: [[held.id, { ends: true }]],
      before: () => (endMs = rules.beginHeartbeat(held)),
      onAnswer: ({ json, text }, [operation]) => {
        rules.accepted(operation!, held.id, held.lease!, false);
        rules.log.answered(operation!, text);
        const { lease_ends_at: end } = json as { lease_ends_at: string };
        rules.endHeartbeat(operation!, held, Date.parse(end));
      },
      failed: (answer, [operation]) => {
        if (answer === null || answer.status >= 500) return;
        rules.endHeartbeat(operation!, held, 0);
        if (isLeaseLost(answer)) rules.refused(operation!, held, endMs, answer.text);
      },
    };
  }

  private giveUpLease(call: 'release' | 'retry' | 'fail', more: Fields): Planned {
    const held = this.heldWithNumber();
    if (held === undefined) return this.lease();
    const data = call === 'release' ? {} : this.newData(held.id);
    const body = { lease: held.lease, ...more, ...data };
    // A job whose cancellation was asked for is cancelled by this.
    return this.settling(held, call, body, { ends: true, removes: true }, false);
  }

  private settling(held: Held, call: string, body: Fields, effects: Effects, isEnd: boolean): Planned {
    const { rules } = this.world;
    return {
      request: this.v1('POST', `jobs/${held.id}/${call}`, body),
      concerns: [[held.id, effects]],
      onAnswer: ({ text }, [operation]) => {
        rules.accepted(operation!, held.id, held.lease!, true);
        rules.log.done(operation!, text, isEnd);
      },
      failed: (answer, [operation]) => {
        if (answer !== null && isLeaseLost(answer)) rules.refused(operation!, held, held.endMs, answer.text);
      },
    };
  }

  private ackMany(): Planned {
    const { rules } = this.world;
    const acks = Array.from({ length: 1 + Math.floor(this.random() * 3) }, () => {
      const held = this.random() < 0.6 ? this.heldWithNumber() : undefined;
      const id = this.id();
      return held ?? { id, queue: this.queueOf(id), lease: null };
    });
    const items = acks.map(({ id, queue, lease }) => ({
      id,
      queue,
      ...(lease === null
        ? { force: true }
        : { lease, next: this.some(0.15, this.nextQueue()), ...this.newData(id) }),
    }));
    return {
      request: this.v1('POST', 'acks', { acks: items }),
      concerns: acks.map(({ id }, i) => [
        id,
        { ends: true, removes: true, moves: items[i] !== undefined && 'next' in items[i] },
      ]),
      onAnswer: ({ json }, operations) => {
        const { results } = json as { results: { status: string }[] };
        for (const [i, { status }] of results.entries()) {
          const [operation, { id, lease }] = [operations[i]!, acks[i]!];
          const isAccepted = status === 'acked' || status === 'moved';
          if (isAccepted) rules.log.done(operation, status, status === 'acked');
          else rules.log.refused(operation, status);
          // Of two for one job in a call, the second finds the first one's work.
          const isAlone = acks.filter((one) => one.id === id).length === 1;
          const isLeaseLost = ['lease_lost', 'not_found'].includes(status);
          if (isAccepted && lease !== null) rules.accepted(operation, id, lease, true);
          else if (lease !== null && isAlone && isLeaseLost) {
            const held = rules.find(id, lease);
            rules.refused(operation, held, held?.endMs ?? 0, status);
          }
        }
      },
    };
  }

  private deleteOnLmstfy(): Planned {
    const id = this.id();
    const request = this.lmstfy('DELETE', `${this.queueOf(id)}/job/${id}`);
    return { request, concerns: [[id, { ends: true, removes: true }]] };
  }

  private cancel(): Planned {
    const { log } = this.world.rules;
    const id = this.id();
    const body = { cascade: this.some(0.5, true), grace_ms: this.pick([0, 30]) };
    return {
      request: this.v1('POST', `jobs/${id}/cancel`, body),
      concerns: [[id, { ends: true, removes: true }]],
      onAnswer: ({ json, text }, [operation]) => {
        const { outcome } = json as { outcome: string };
        if (outcome === 'requested') log.unknown(operation!, text);
        else log.done(operation!, text, true);
      },
    };
  }

  private cancelMany(): Planned {
    const { log } = this.world.rules;
    const ids = [...new Set([this.id(), this.id(), this.id()])];
    const body = { ids, cascade: this.some(0.4, true), grace_ms: this.pick([0, 30]) };
    return {
      request: this.v1('POST', 'jobs/cancel', body),
      concerns: ids.map((id) => [id, { ends: true, removes: true }]),
      onAnswer: ({ json }, operations) => {
        const { results } = json as { results: { id: string; outcome: string }[] };
        for (const [i, { id, outcome }] of results.entries()) {
          if (id !== ids[i]) this.world.rules.report(id, `is the answer number ${i} to ${ids.join()}`);
          if (outcome === 'requested') log.unknown(operations[i]!, outcome);
          else if (outcome.endsWith('cancelled')) log.done(operations[i]!, outcome, true);
          else log.refused(operations[i]!, outcome);
        }
      },
    };
  }

  private deleteJob(): Planned {
    const id = this.id();
    const isForced = this.random() < 0.4;
    return {
      request: this.v1('DELETE', `jobs/${id}${isForced ? '?force=true' : ''}`),
      concerns: [[id, { ends: isForced, removes: true }]],
      onAnswer: ({ text }, [operation]) => this.world.rules.log.done(operation!, text, true),
      refusals: ['leased'],
    };
  }

  /** Ends the lease of a job: its holder's word counts no more. */
  private revoke(): Planned {
    const { rules } = this.world;
    const id = this.heldWithNumber()?.id ?? this.id();
    return {
      request: this.v1('POST', `jobs/${id}/revoke`),
      concerns: [[id, { ends: true, removes: true }]],
      onAnswer: ({ text }, [operation]) => {
        rules.revoked(operation!, id);
        rules.log.answered(operation!, text);
      },
      refusals: ['not_leased'],
    };
  }

  private change(): Planned {
    const id = this.id();
    const ttl = this.some(0.1, this.pick([150, FAR_MS]));
    const queue = this.some(0.4, this.queue());
    const delay = this.some(0.3, this.pick([0, 0, 60]));
    const body = {
      priority: this.some(0.5, this.priority()),
      tags: this.some(0.2, this.someTags()),
      tries: this.some(0.3, this.pick([1, 2, 4])),
      type: this.some(0.2, 'changed'),
      retry: this.some(0.2, this.retryPolicy()),
      depends_on: this.someIds(0.1),
      ...{ delay_ms: delay, ttl_ms: ttl, queue },
      ...this.newData(id),
    };
    const removes = ttl !== undefined || body.depends_on !== undefined;
    const effects: Effects = { moves: queue !== undefined, removes };
    return {
      request: this.v1('PATCH', `jobs/${id}`, body),
      concerns: [[id, effects]],
      // Not more tries than it has used.
      refusals: body.tries === undefined ? [] : ['invalid_argument'],
    };
  }

  private dependencies(): Planned {
    const id = this.id();
    const method = this.pick(['POST', 'DELETE']);
    const body = { depends_on: [this.id()] };
    // A job that depends on another one ends with it.
    return { request: this.v1(method, `jobs/${id}/dependencies`, body), concerns: [[id, { removes: true }]] };
  }

  private tags(): Planned {
    const id = this.id();
    const [tag = 'red'] = this.someTags();
    const request =
      this.random() < 0.5
        ? this.v1('POST', `jobs/${id}/tags`, { tags: [tag] })
        : this.v1('DELETE', `jobs/${id}/tags?tags=${tag}`);
    return { request, concerns: [[id, {}]] };
  }

  private track(): Planned {
    const id = this.id();
    const kind = this.random();
    if (kind < 0.3) return { request: this.v1('PUT', `tracked/${id}`), concerns: [[id, {}]] };
    if (kind < 0.6) return { request: this.v1('DELETE', `tracked/${id}`), concerns: [[id, {}]] };
    return { request: this.v1('POST', `jobs/${id}/log`, { message: 'seen' }), concerns: [[id, {}]] };
  }

  private respawn(): Planned {
    const which =
      this.random() < 0.5
        ? { filter: { queue: this.queue() }, limit: this.some(0.5, 2) }
        : { ids: this.distinctIds() };
    const more = { tries: this.some(0.3, 2) };
    if (this.random() < 0.7)
      return { request: this.v1('POST', 'dead-letter/respawn', { ...which, ...more }), concerns: [] };
    const body = { ...which, ...more, to_queue: this.queue() };
    return {
      request: this.v1('POST', 'dead-letter/move', body),
      concerns: QUEUES.map((queue) => [`queue ${queue}`, { moves: true }]),
    };
  }

  private deleteDead(): Planned {
    const ids = this.distinctIds();
    return {
      request: this.v1('POST', 'dead-letter/delete', { ids }),
      concerns: ids.map((id) => [id, { removes: true }]),
    };
  }

  private deadOnLmstfy(): Planned {
    const queue = this.queue();
    const path = `${queue}/deadletter?limit=${this.pick([1, 3])}`;
    if (this.random() < 0.7) return { request: this.lmstfy('PUT', `${path}&ttl=0`), concerns: [] };
    return { request: this.lmstfy('DELETE', path), concerns: [[`queue ${queue}`, { removes: true }]] };
  }

  private control(call: 'pause' | 'resume' | 'drain'): Planned {
    const queue = this.queue();
    const body = call === 'drain' ? { wait_ms: 20 } : {};
    return { request: this.v1('POST', `queues/${queue}/${call}`, body), concerns: [[`queue ${queue}`, {}]] };
  }

  private purge(): Planned {
    const queue = this.queue();
    const states = this.pick([['ready'], ['ready', 'scheduled'], ['dead', 'done', 'cancelled'], ['leased']]);
    const effects = { removes: true, ends: states.includes('leased') };
    return {
      request: this.v1('POST', `queues/${queue}/purge`, { states }),
      concerns: [[`queue ${queue}`, effects]],
    };
  }

  private destroy(): Planned {
    const queue = this.queue();
    return { request: this.lmstfy('DELETE', queue), concerns: [[`queue ${queue}`, { removes: true }]] };
  }

  private forgetQueue(): Planned {
    const queue = this.queue();
    return { request: this.v1('DELETE', `queues/${queue}`), concerns: [[`queue ${queue}`, {}]] };
  }

  private settings(): Planned {
    const body = {
      max_running: this.some(0.5, this.pick([null, 3])),
      max_running_per_key: this.some(0.5, this.pick([null, 1])),
      lease_grace_ms: this.some(0.5, this.pick([null, 0, 60])),
      expired: this.some(0.5, this.pick([null, 'back', 'front'])),
      index_tags: this.some(0.3, this.pick([null, true, false])),
      max_kept: this.some(0.2, this.pick([null, 2])),
      defaults: this.some(0.3, this.pick([null, { tries: 2, retry: this.retryPolicy(), priority: 3 }])),
    };
    const effects: Effects = { removes: body.max_kept === 2 };
    const queue = this.queue();
    return { request: this.v1('PATCH', `queues/${queue}`, body), concerns: [[`queue ${queue}`, effects]] };
  }

  private planRead(): Planned {
    const [id, queue] = [this.id(), this.queue()];
    const state = this.pick(['ready', 'scheduled', 'leased', 'dead', 'blocked', 'done']);
    const reads = [
      () => this.v1('GET', `jobs/${id}`),
      () => this.v1('GET', `jobs?queue=${queue}&state=${state}&limit=100`),
      () => this.v1('GET', `jobs?tag=${this.pick(TAGS)}`),
      () =>
        this.v1('GET', `jobs?queue=${queue}&state=ready,${state === 'ready' ? 'held' : state}&order=newest`),
      () => this.v1('GET', `jobs?ids=${this.distinctIds().join()}&fields=data`),
      () => this.v1('GET', `queues/${queue}`),
      () => this.v1('GET', 'queues'),
      () => this.v1('GET', `dead-letter?queue=${queue}`),
      () => this.v1('GET', 'tags'),
      () => this.v1('GET', 'workers'),
      () => this.v1('GET', `stats?queue=${queue}`),
      () => this.lmstfy('GET', `${queue}/peek`),
      () => this.lmstfy('GET', `${queue}/job/${id}`),
      () => this.lmstfy('GET', `${queue}/size`),
      () => this.lmstfy('GET', `${queue}/deadletter`),
    ];
    return { request: this.pick(reads)(), concerns: [] };
  }

  private listen(): Planned {
    const request = this.v1('GET', `events?queue=${this.queue()}`);
    return { request, concerns: [], stages: WITHIN_AN_ANSWER };
  }

  private giveUpAPoll(): Planned {
    const request =
      this.random() < 0.5
        ? this.lmstfy('GET', `${this.queue()}?timeout=20&ttr=1`)
        : this.v1('POST', 'leases', { queues: this.queues(), wait_ms: 20_000, ttr_ms: 250 });
    return { request, concerns: [], stages: WITHIN_AN_ANSWER };
  }

  /** A job of the native API, and what its publish may do. */
  private job(id = this.some(0.8, this.pick(CHOSEN))): { job: Fields; concerns: [string, Effects][] } {
    const { holders } = this.world;
    const n = this.world.count++;
    const unique = this.some(0.15, {
      key: this.pick(UNIQUE_KEYS),
      mode: this.pick(['reject', 'existing', 'replace', 'debounce']),
      window_ms: this.some(0.2, 300),
    });
    const ttl = this.some(0.15, this.pick([150, 600, FAR_MS]));
    const delay = this.some(0.2, this.pick([30, 30, 200, FAR_MS / 2]));
    const isTooLong = ttl !== undefined && ttl < FAR_MS && delay !== undefined;
    const dependsOn = this.someIds(0.07);
    const isMarked = this.random() < 0.3;
    const job: Fields = {
      ...{ queue: this.queueOf(id), id, unique, ttl_ms: ttl, depends_on: dependsOn },
      // By `debounce` another job gets these data.
      data: unique === undefined ? { for: id ?? 'minted', n } : { for: 'unique' },
      delay_ms: isTooLong ? undefined : delay,
      priority: this.some(0.4, this.priority()),
      tries: this.some(0.8, this.pick([1, 2, 3])),
      ttr_ms: this.some(0.7, this.pick([40, 250, 1_000])),
      // Only where its id is known before a lease may be.
      max_run_ms: id && !unique ? this.some(0.1, this.pick([60, 400, FAR_MS])) : undefined,
      tags: this.some(0.15, this.someTags()),
      type: isMarked ? `T${n}` : undefined,
      attributes: isMarked ? { n: String(n) } : undefined,
      retention_ms: this.some(0.1, this.pick([80, FAR_MS])),
      retry: this.some(0.15, this.retryPolicy()),
      lease_grace_ms: this.some(0.15, this.pick([0, 40, 150])),
      concurrency_key: this.some(0.1, 'ck'),
      on_dependency_failure: dependsOn && this.pick(['block', 'ignore', 'fail', 'cancel']),
      history: this.some(0.1, true),
    };
    const { max_run_ms: limitMs } = job;
    if (id && typeof limitMs === 'number') this.world.runLimits.set(id, Math.min(this.runLimit(id), limitMs));
    const removes = ttl !== undefined || unique !== undefined || dependsOn !== undefined;
    const concerns: [string, Effects][] = id === undefined ? [] : [[id, { publishes: true, removes }]];
    if (unique !== undefined) {
      const known = holders.get(unique.key) ?? new Set();
      holders.set(unique.key, known);
      for (const other of known) if (other !== id) concerns.push([other, { removes: true }]);
      if (id !== undefined) known.add(id);
    }
    return { job, concerns };
  }

  private runLimit(id: string): number {
    return this.world.runLimits.get(id) ?? FAR_MS;
  }

  private publishing(
    request: WireRequest,
    jobs: readonly Fields[],
    concerns: Planned['concerns'],
    answersOf: (json: unknown) => Fields[],
  ): Planned {
    const onAnswer = ({ json, text }: Answer, operations: readonly Operation[], sentMs: number): void => {
      for (const [i, { id, existing }] of answersOf(json).entries()) {
        const job = jobs[i]!;
        const { key } = (job['unique'] ?? {}) as { key?: string };
        if (key !== undefined) this.world.holders.get(key)?.add(String(id));
        const operation = operations.find(({ about, effects }) => about === job['id'] && effects.publishes);
        if (operation && existing === false) this.world.rules.log.done(operation, text, false);
        else if (operation) this.world.rules.log.refused(operation, text);
        const isMortal = ['ttl_ms', 'unique', 'depends_on'].some((name) => job[name] !== undefined);
        if (job['id'] === undefined && existing === false) this.mint(String(id), request, sentMs, isMortal);
      }
    };
    return { request, concerns, onAnswer };
  }

  private minting(request: WireRequest, isMortal: boolean): Planned {
    const onAnswer = ({ json }: Answer, _: readonly Operation[], sentMs: number): void => {
      const { job_id, job_ids } = json as { job_id?: string; job_ids?: string[] };
      for (const id of job_ids ?? [String(job_id)]) this.mint(id, request, sentMs, isMortal);
    };
    return { request, concerns: [], onAnswer };
  }

  private mint(id: string, { method, path }: WireRequest, sentMs: number, removes: boolean): void {
    const { rules, minted } = this.world;
    const operation = rules.log.begin(id, `${method} ${path}`, { publishes: true, removes });
    operation.sentMs = sentMs;
    rules.log.done(operation, 'stored', false);
    minted.push(id);
    if (minted.length > KEPT) minted.shift();
  }

  private granted(held: readonly Held[]): void {
    const { rules, held: all } = this.world;
    for (const { id, queue, lease, sentMs, endMs, fromMs } of held) {
      const operation = rules.log.begin(id, `leased in ${queue} as ${lease ?? 'one of lmstfy'}`, {});
      operation.sentMs = sentMs;
      rules.log.done(operation, `valid for ${endMs - fromMs} ms`, false);
    }
    rules.granted(held);
    const numbered = held.filter(({ lease }) => lease !== null);
    this.own.push(...numbered);
    all.push(...numbered);
    if (all.length > KEPT) all.splice(0, all.length - KEPT);
  }

  private failure(more: Fields): Fields {
    return { group: this.some(0.5, this.pick(['g', 'final'])), ...more };
  }

  private retryPolicy(): Fields {
    return this.pick<Fields>([
      { kind: 'none' },
      { kind: 'fixed', delay_ms: 30 },
      { kind: 'exponential', delay_ms: 10, jitter: 0.5, max_ms: 60 },
      { kind: 'list', delays_ms: [0, 40], non_retryable: ['final', 'lease_expired'] },
    ]);
  }

  private nextQueue(): Fields {
    return { queue: this.queue(), delay_ms: this.some(0.3, 40), depends_on: this.someIds(0.1) };
  }

  /** New data for a job, in one of the ways in which a call may give them; mostly none. */
  private newData(id: string): Fields {
    const text = JSON.stringify({ for: id });
    return this.pick<() => Fields>([
      ...Array.from({ length: 6 }, () => () => ({})),
      () => ({ data: { for: id } }),
      () => ({ data_base64: Buffer.from(text).toString('base64'), content_type: 'application/json' }),
    ])();
  }

  /** What a job carries is of the publish that stored it, not of a job that had its id before. */
  private checkContents({ id, data, type, attributes }: LeasedJob): void {
    const { rules } = this.world;
    const isChosen = CHOSEN.includes(id);
    const wanted = [isChosen ? id : 'minted', id, 'unique'];
    if (data?.for !== undefined && !wanted.includes(data.for))
      rules.report(id, `has the data of ${data.for}`);
    if (data?.n === undefined) return;
    const labels = [type, attributes?.['n'] === undefined ? null : `T${attributes['n']}`];
    for (const label of labels)
      if (label !== null && label !== 'changed' && label !== `T${data.n}`)
        rules.report(id, `${label} is of another life than ${data.n}`);
  }

  /** Mostly a lease of its own; else one of the latest, or any. */
  private heldWithNumber(): Held | undefined {
    const { held } = this.world;
    const at = this.random();
    if (at < 0.65 && this.own.length > 0) return this.own.pop();
    return at < 0.85 ? held.at(-1 - Math.floor(this.random() * 8)) : this.pick(held);
  }

  private lmstfyOptions(): [query: string, isMortal: boolean] {
    const [delay, ttl] = this.pick<[number, number]>([
      ...[[0, 0] as [number, number], [0, 0] as [number, number], [0, 3_600] as [number, number]],
      ...[[1, 0] as [number, number], [0, 1] as [number, number], [1_800, 3_600] as [number, number]],
    ]);
    return [`delay=${delay}&ttl=${ttl}&tries=${this.pick([1, 2, 3])}`, ttl > 0];
  }

  private body(id = 'minted'): string {
    return JSON.stringify({ for: id });
  }

  private v1(method: string, path: string, body?: Fields, headers: Record<string, string> = {}): WireRequest {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return { method, path: `/v1/${this.world.namespace}/${path}`, headers, body: text };
  }

  private lmstfy(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): WireRequest {
    return { method, path: `/api/${this.world.namespace}/${path}`, headers, body };
  }

  private id(): string {
    const { minted, reused } = this.world;
    const at = this.random();
    if (at < 0.75 || minted.length === 0) return this.pick(CHOSEN);
    return this.pick(at < 0.85 ? reused : minted);
  }

  private distinctIds(): string[] {
    return [...new Set([this.id(), this.id()])];
  }

  private someIds(chance: number): string[] | undefined {
    return this.some(chance, [this.id()]);
  }

  private someTags(): string[] {
    return TAGS.filter(() => this.random() < 0.5);
  }

  private queues(): string[] {
    const queue = this.queue();
    return this.random() < 0.6 ? [queue] : [queue, ...QUEUES.filter((other) => other !== queue)];
  }

  /** Mostly the same one for an id, so that it comes back to where it was. */
  private queueOf(id: string | undefined): string {
    const i = id === undefined ? -1 : CHOSEN.indexOf(id);
    return i < 0 || this.random() < 0.3 ? this.queue() : QUEUES[i % QUEUES.length]!;
  }

  private queue(): string {
    return this.pick(QUEUES);
  }

  private priority(): number {
    return this.pick([0, 9, -5, 9, 127]);
  }

  private some<T>(chance: number, value: T): T | undefined {
    return this.random() < chance ? value : undefined;
  }

  private pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)]!;
  }
}

/** The job is another one's, or gone. */
function isLeaseLost({ text }: Answer): boolean {
  return /"code":"(?:lease_lost|job_not_found)"/.test(text);
}
