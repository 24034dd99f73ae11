import type { Redis } from 'ioredis';
import type { Respawn } from '../../../src/domain/job/job-lists.js';
import type { SettingsChange } from '../../../src/contract/queue-settings.js';
import type { JobDetails } from '../../../src/contract/job/extended-job.js';
import type { JobState } from '../../../src/domain/job/states.js';
import type { RemoveRequest } from '../../../src/engine/jobs/job-canceller.js';
import type { JobChange } from '../../../src/engine/jobs/job-updater.js';
import { randomNamespace, testKeys } from '../../support/redis.js';
import { newJob, type EngineFixture } from '../fixture.js';
import { answerOf, cancelRefusal, manyRefusal, type Outcome, outcomeOf } from './answers.js';
import { cancel, cancelMany, removeJob } from './cancels.js';
import { change, isDueUnknown } from './changes.js';
import { isRinging, nextMs, tick } from './clock.js';
import { bury, respawn, type DeadWish } from './dead.js';
import { knownOf, seenOf } from './facts.js';
import { mustList, orderByType } from './ready-list.js';
import { lease, type LeaseRequest } from './leases.js';
import { callHeld } from './limits.js';
import { acknowledge, revokeLease, settle, type Answer, type LeaseOperation } from './lease-operations.js';
import type { ModelOperation, OperationWish } from './operation.js';
import { begin, missedBy, step, whyNotStarted, type RefusalCounts } from './operations.js';
import { publish, putJob, type NewJob, type Reception } from './publishing.js';
import { control, counts, purge } from './queues.js';
import { type ModelQueue, Space } from './space.js';

export const QUEUES = ['a', 'b'] as const;
const ALL = ['ready', 'scheduled', 'leased', 'dead', 'blocked', 'held', 'done', 'cancelled'] as const;
/** Longer than everything that is kept: worker sessions are kept for a day. */
const LONGER_THAN_ANYTHING_MS = 90_000_000;
/** A list is compared every n steps. */
const LIST_EACH = 4;
/** More lease numbers than any job of a sequence uses. */
const REUSE_AFTER_MS = 200;
const SHOWN = { filter: { state: [] }, to: null, set: null };
/** Ids that one call reads. */
const AT_ONCE = 64;

/** Runs the same steps on a real engine, in its own namespace, and on the model. Answers and states must be equal. */
export class Pair {
  readonly ns = randomNamespace('model');
  readonly space: Space;
  readonly leases: { readonly id: string; readonly lease: number }[] = [];
  /** Ids of all jobs so far. */
  readonly ids: string[] = [];
  /** Number of steps. */
  steps = 0;
  private seen = new Map<string, JobDetails>();
  private isSeen = false;

  constructor(
    readonly f: EngineFixture,
    private readonly redis: Redis,
  ) {
    this.space = new Space(f.nowMs, (id) => this.seen.get(id)?.state ?? null);
  }

  /** Every use may change jobs, so the state must be read again. */
  private get engine(): EngineFixture['engine'] {
    this.isSeen = false;
    return this.f.engine;
  }

  /** In one queue jobs of a key run one at a time, which makes it extended. The other one is simple at first. */
  async open(): Promise<void> {
    await this.control('a', { maxRunningPerKey: 1 });
    await this.control('b', {});
  }

  async publish(jobs: readonly NewJob[]): Promise<void> {
    await this.passBeforeReuse(jobs);
    const wanted = jobs.map(({ body, ...job }) => ({ ...job, body: Buffer.from(body) }));
    const { jobs: native, components } = this.engine;
    const isForBothWays = wanted.every(({ type, tags = [] }) => type !== undefined || tags.length > 0);
    const publishing = isForBothWays ? native : components.extendedPublisher;
    const published = await answerOf(publishing.publish(this.ns, wanted));
    const receptions = jobs.map((job, i): Reception => {
      const made = typeof published === 'string' || published[i]?.existing ? undefined : published[i]?.id;
      return publish(this.space, made ?? job.id ?? `not made ${String(i)}`, job, 'extended');
    });
    if (typeof published === 'string') {
      expect(receptions).toContainEqual({ code: published });
    } else {
      expect(receptions).toEqual(published.map(({ id, existing }) => ({ holder: existing ? id : null })));
      for (const { id, existing } of published) if (!existing) this.add(id);
    }
    await this.drain();
    if (typeof published !== 'string')
      for (const { id, state, existing } of published)
        expect(state).toBe(this.space.jobs.get(id)?.state ?? (existing ? 'gone' : 'cancelled'));
  }

  async put(job: NewJob & { readonly id: string }): Promise<void> {
    await this.passBeforeReuse([job]);
    const answer = await answerOf(this.engine.jobs.put(this.ns, { ...job, body: Buffer.from(job.body) }));
    const known = putJob(this.space, job.id, job);
    expect(typeof answer === 'string' ? { code: answer } : { isReplaced: answer.isReplaced }).toEqual(known);
    if (typeof answer !== 'string') this.add(job.id);
    await this.drain();
    if (typeof answer !== 'string')
      expect(answer.state).toBe(this.space.jobs.get(job.id)?.state ?? 'cancelled');
  }

  async revoke(id: string): Promise<void> {
    const answer = await answerOf(this.engine.settle.revoke(this.ns, id));
    await this.read();
    const code = revokeLease(this.space, id);
    callHeld(this.space);
    expect(typeof answer === 'string' ? answer : null).toBe(code);
    if (typeof answer !== 'string') {
      const state = this.space.jobs.get(id)?.state;
      expect(answer).toMatchObject({ state, dueAtMs: null });
    }
    await this.drain();
  }

  /** By the native API, with options that the simple script knows. */
  async publishNative({ queue, body, id: chosen, tries, delayMs = 0, ttlMs }: NewJob): Promise<void> {
    const named = chosen === undefined ? {} : { id: chosen };
    await this.passBeforeReuse([named]);
    const job = {
      ...{ queue, ...named, delayMs },
      ...(tries === undefined ? {} : { tries }),
      ...(ttlMs === undefined ? {} : { ttlMs }),
    };
    const published = await answerOf(
      this.engine.jobs.publish(this.ns, [{ ...job, body: Buffer.from(body) }]),
    );
    const id = typeof published === 'string' ? published : published[0]!.id;
    const reception = publish(this.space, chosen ?? id, { ...job, body }, 'simple');
    expect('code' in reception ? reception.code : (chosen ?? id)).toBe(id);
    if (!('code' in reception)) this.add(id);
    await this.drain();
  }

  async publishSimple({ queue, body, id: chosen, tries = 1, delayMs = 0, ttlMs = 0 }: NewJob): Promise<void> {
    const named = chosen === undefined ? {} : { id: chosen };
    await this.passBeforeReuse([named]);
    const job = newJob({ body: Buffer.from(body), ...named, tries, delayMs, ttlMs });
    const id = await answerOf(this.engine.publish(this.ns, queue, job));
    const simple = { queue, body, ...named, tries, delayMs, ttlMs };
    const reception = publish(this.space, chosen ?? id, simple, 'lmstfy');
    expect('code' in reception ? reception.code : (chosen ?? id)).toBe(id);
    if (!('code' in reception)) this.add(id);
    await this.drain();
  }

  /** The same request with the same key gets the same answer, whatever became of its jobs; another one is refused. */
  async publishKeyed(
    api: 'native' | 'lmstfy',
    key: string,
    { queue, body, tries = 1, delayMs = 0 }: NewJob,
  ): Promise<void> {
    const { space, ns } = this;
    const options = { idempotencyKey: key };
    const { engine } = this;
    const { jobs: native } = engine;
    const job = { body: Buffer.from(body), tries, delayMs };
    const published = await answerOf<readonly { readonly id: string }[]>(
      api === 'native'
        ? native.publish(ns, [{ queue, ...job }], options)
        : engine.publish(ns, queue, newJob({ ...job, ttlMs: 0 }), options).then((id) => [{ id }]),
    );
    // On lmstfy's API a key is one of its queue.
    const name = api === 'native' ? `native ${key}` : `lmstfy ${queue} ${key}`;
    const request = JSON.stringify([queue, body, tries, delayMs]);
    const first = space.keyed.get(name);
    if (first !== undefined) {
      expect(published).toEqual(first.request === request ? first.answer : 'idempotency_key_reused');
      return this.drain();
    }
    const id = typeof published === 'string' ? 'not made' : published[0]!.id;
    const simple = { queue, body, tries, delayMs };
    const reception = publish(space, id, simple, api === 'native' ? 'simple' : 'lmstfy');
    expect('code' in reception ? reception.code : null).toBe(
      typeof published === 'string' ? published : null,
    );
    if (typeof published !== 'string') {
      space.keyed.set(name, { request, answer: published });
      this.add(id);
    }
    return this.drain();
  }

  /** Moves the id to the end, even if there was an earlier job with it. */
  private add(id: string): void {
    const at = this.ids.indexOf(id);
    if (at >= 0) this.ids.splice(at, 1);
    this.ids.push(id);
  }

  /**
   * Lease numbers of a chosen id follow the clock, one per millisecond. If the clock did not move, old numbers would
   * come again.
   */
  private async passBeforeReuse(jobs: readonly Pick<NewJob, 'id'>[]): Promise<void> {
    if (jobs.some(({ id }) => id !== undefined && this.ids.includes(id))) await this.pass(REUSE_AFTER_MS);
  }

  async lease(request: LeaseRequest): Promise<void> {
    const { isUndelivered = false, ...options } = request;
    // A receipt that is never given stands for a server that was killed before its answer left.
    const confirms = isUndelivered ? { confirms: true } : {};
    const ordered = options.types ? await this.extendedQueues() : [];
    const jobs = await this.engine.lease(this.ns, { ...options, ...confirms, waitMs: 0 });
    await this.read();
    for (const queue of ordered) if (request.queues.includes(queue)) orderByType(this.space, queue);
    lease(
      this.space,
      request,
      jobs.map(({ id }) => id),
    );
    for (const { id, lease: number, triesLeft, leaseEndsAtMs, queue, body } of jobs) {
      const known = this.space.get(id);
      expect({ lease: number, triesLeft, leaseEndsAtMs, queue, body: body.toString() }).toEqual({
        lease: known.lease,
        triesLeft: known.triesLeft,
        leaseEndsAtMs: known.atMs,
        queue: known.queue,
        body: known.body,
      });
      this.leases.push({ id, lease: number });
    }
    await this.drain();
  }

  /** A lease by type orders these queues only. In a simple one no job has a type. */
  private async extendedQueues(): Promise<string[]> {
    const numbers = await this.redis.hgetall(`{${this.ns}}:queues`);
    return Object.keys(numbers).filter((queue) => Number(numbers[queue]) < 0);
  }

  async settle(
    { id, lease: number }: { readonly id: string; readonly lease: number },
    operation: LeaseOperation,
  ): Promise<void> {
    const outcome = await this.send(id, number, operation);
    await this.read();
    const answer = settle(this.space, id, number, operation);
    callHeld(this.space);
    expect(outcome).toEqual(this.expectedOf(answer, id, operation));
    await this.drain();
  }

  /** @returns the result, with the job's state or the end of its lease, and its due time */
  private async send(id: string, number: number, operation: LeaseOperation): Promise<Outcome> {
    const { leaseOperations } = this.engine.components;
    const text = 'text' in operation ? operation.text : undefined;
    const data = text === undefined ? {} : { data: { body: Buffer.from(text) } };
    const given = { id, lease: number, message: 'm', ...data };
    switch (operation.verb) {
      case 'ack': {
        const keep = operation.keepMs === undefined ? {} : { retentionMs: operation.keepMs };
        return { answer: (await leaseOperations.complete(this.ns, [{ ...given, ...keep }]))[0]! };
      }
      case 'move':
        return {
          answer: (await leaseOperations.complete(this.ns, [{ ...given, next: operation.next }]))[0]!,
        };
      case 'heartbeat':
        return outcomeOf(
          leaseOperations.heartbeat(this.ns, given, {
            ttrMs: operation.ttrMs,
            ...(operation.begin && { begin: true }),
            ...(operation.maxRunMs !== undefined && { maxRunMs: operation.maxRunMs }),
            ...(text === undefined ? {} : { data: Buffer.from(text) }),
          }),
        );
      case 'release':
        return outcomeOf(leaseOperations.release(this.ns, { ...given, delayMs: operation.delayMs }));
      case 'retry':
        return outcomeOf(
          leaseOperations.retry(this.ns, {
            ...given,
            group: operation.group,
            ...(operation.delayMs === undefined ? {} : { delayMs: operation.delayMs }),
          }),
        );
      case 'fail':
        return outcomeOf(leaseOperations.fail(this.ns, { ...given, group: operation.group }));
    }
  }

  private expectedOf(answer: Answer, id: string, { verb }: LeaseOperation): Outcome {
    const job = this.space.jobs.get(id);
    if (answer !== 'done' || !job || verb === 'ack' || verb === 'move') return { answer };
    if (verb === 'heartbeat')
      return { answer, leaseEndsAtMs: job.atMs, cancelRequested: job.revokedAtMs > 0 };
    const { state, atMs, triesLeft } = job;
    return { answer, state, dueAtMs: state === 'scheduled' ? atMs : null, triesLeft };
  }

  async acknowledge(queue: string, id: string): Promise<void> {
    expect(await this.engine.ack(this.ns, queue, id)).toBe(acknowledge(this.space, queue, id));
    await this.drain();
  }

  async change(id: string, wish: JobChange): Promise<void> {
    const answer = await answerOf(this.engine.jobs.change(this.ns, id, wish));
    const isUnknown = isDueUnknown(this.space.get(id)) && wish.delayMs === undefined;
    const added = new Set(wish.dependsOn ?? wish.moreDependencies ?? []);
    const missing = [...added].filter((one) => !this.space.jobs.has(one));
    const code = change(this.space, id, wish);
    await this.read();
    callHeld(this.space);
    expect(typeof answer === 'string' ? answer : null).toBe(code);
    const job = this.space.jobs.get(id);
    const dueAtMs = job?.state === 'scheduled' && !isUnknown ? job.atMs : null;
    const lacks = missing.length > 0 ? { missingDependencies: missing } : {};
    if (typeof answer !== 'string') expect(answer).toEqual({ state: job?.state ?? null, dueAtMs, ...lacks });
    await this.drain();
  }

  async cancel(id: string, cascade: boolean, graceMs: number): Promise<void> {
    const answer = await this.engine.jobs
      .cancel(this.ns, id, { cascade, graceMs })
      .then(({ outcome, ...rest }) => ({ code: outcome, ...rest }), cancelRefusal);
    const { dependents, ...known } = cancel(this.space, id, cascade, graceMs);
    expect(answer).toEqual({ ...known, ...(dependents && { dependents: [...dependents].sort() }) });
    await this.drain();
  }

  async cancelMany(ids: readonly string[], cascade: boolean, graceMs: number): Promise<void> {
    const answer = await this.engine.jobs
      .cancelMany(this.ns, ids, { cascade, graceMs })
      .then((results) => results.map(({ outcome, ...rest }) => ({ code: outcome, ...rest })), manyRefusal);
    await this.read();
    expect(answer).toEqual(cancelMany(this.space, ids, cascade, graceMs));
    await this.drain();
  }

  async remove(id: string, request: RemoveRequest): Promise<void> {
    const answer = await this.engine.jobs.remove(this.ns, id, request).then(() => null, cancelRefusal);
    const known = removeJob(this.space, id, request);
    expect(answer).toEqual(
      known && { ...known, ...(known.dependents && { dependents: [...known.dependents].sort() }) },
    );
    await this.drain();
  }

  async control(queue: string, settings: SettingsChange): Promise<void> {
    await this.engine.components.queueControls.change(this.ns, queue, settings);
    const { leaseGraceMs, expired, indexTags, defaults, ...limits } = settings;
    const numbers = Object.entries(limits).map(([name, value]) => [
      name,
      typeof value === 'number' ? value : Infinity,
    ]);
    control(this.space, queue, {
      ...(Object.fromEntries(numbers) as Partial<ModelQueue>),
      ...(leaseGraceMs === undefined ? {} : { leaseGraceMs: leaseGraceMs ?? 0 }),
      ...(expired === undefined ? {} : { putsExpiredFirst: expired === 'front' }),
      ...(indexTags === undefined ? {} : { indexesTags: indexTags ?? true }),
      ...(defaults === undefined ? {} : { defaults: defaults ?? {} }),
    });
    await this.drain();
  }

  async order(queue: string, verb: 'pause' | 'resume' | 'drain'): Promise<void> {
    await this.engine.components.queueControls[verb](this.ns, queue);
    const settings = {
      pause: { isPaused: true },
      resume: { isPaused: false, isDraining: false },
      drain: { isDraining: true },
    };
    control(this.space, queue, settings[verb]);
    await this.drain();
  }

  async purge(queue: string, states: readonly JobState[]): Promise<void> {
    const { removed } = await this.engine.components.queuePurger.purge(this.ns, queue, states);
    expect(removed).toEqual(purge(this.space, queue, states));
    await this.drain();
  }

  async respawn(wish: DeadWish, options: Respawn): Promise<void> {
    const { done } = await this.engine.components.deadJobs.respawn(this.ns, wish, options);
    expect(done).toBe(respawn(this.space, wish, options));
    await this.drain();
  }

  async bury(wish: DeadWish): Promise<void> {
    const { done } = await this.engine.components.deadJobs.delete(this.ns, wish);
    expect(done).toBe(bury(this.space, wish));
    await this.drain();
  }

  /** Starts an operation; all that comes is later than its start. */
  async operate({
    action,
    change,
    respawn: put,
    to,
    cascade,
    graceMs,
    ...wish
  }: OperationWish): Promise<void> {
    const all = { action, change, respawn: put, to, cascade, graceMs, ...wish };
    const answer = await answerOf(
      this.engine.operations.start(this.ns, {
        ...{ ...wish, action, shown: SHOWN },
        ...(action === 'respawn' || action === 'move' ? { respawn: put } : {}),
        ...(action === 'cancel' ? { cascade, graceMs } : {}),
        ...(action === 'move' ? { to } : {}),
        ...(action === 'patch' ? { change } : {}),
      }),
    );
    await this.read();
    expect(typeof answer === 'string' ? answer : null).toBe(whyNotStarted(this.space, all));
    if (typeof answer !== 'string') begin(this.space, answer.details.id, all, this.seen);
    await this.pass(1);
  }

  /** Does the steps of an operation that are due. */
  async doSteps(operation: ModelOperation): Promise<void> {
    await this.read();
    const was = this.seen;
    const { operationRunner: runner } = this.engine.components;
    // No other operation has a step in between.
    await runner.stop();
    runner.want(this.ns, operation.id);
    await runner.runNow();
    await this.read();
    const refused = step(this.space, operation, was, this.seen);
    await this.compareOperation(operation, refused);
    await this.drain();
  }

  async stopOperation(operation: ModelOperation): Promise<void> {
    const { details } = await this.engine.operations.stop(this.ns, operation.id);
    if (operation.state === 'running') operation.state = 'stopped';
    expect({ state: details.state, done: details.done }).toEqual({
      state: operation.state,
      done: operation.acted.size,
    });
    await this.drain();
  }

  private async compareOperation(operation: ModelOperation, refused: RefusalCounts): Promise<void> {
    const { details } = (await this.f.engine.operations.find(this.ns, operation.id))!;
    const { state, matched, done, failed, skipped, refusals } = details;
    const { dryRun, ratePerS } = operation.wish;
    operation.state = state;
    expect(done).toBe(operation.acted.size);
    if (!dryRun) expect(matched).toBe(done + failed + skipped);
    if (state === 'running') expect(ratePerS).toBeGreaterThan(0);
    else expect(missedBy(this.space, operation, this.seen)).toEqual([]);
    if (ratePerS !== undefined) return;
    // All in one instant: the model knows how many are counted.
    const counts = new Map<string | null, number>(refusals.map(({ reason, jobs }) => [reason, jobs]));
    // A dry run counts those that it would act on, and the others act on them.
    counts.set(null, dryRun ? matched - skipped : 0);
    const reasons = [...new Set([...counts.keys(), ...refused.keys()])];
    const wrong = reasons.filter((reason) => {
      const { least, most } = refused.get(reason) ?? { least: 0, most: 0 };
      const count = counts.get(reason) ?? 0;
      return count < least || count > most;
    });
    expect({ wrong, counts, refused }).toEqual({ wrong: [], counts, refused });
  }

  /** Lets time pass; runs the timers whenever something is due, and nothing else in between. */
  async pass(ms: number): Promise<void> {
    const endMs = this.f.nowMs + ms;
    while (this.f.nowMs < endMs) {
      this.f.nowMs = this.space.nowMs = Math.min(nextMs(this.space), endMs);
      await this.fire();
    }
    await this.compare();
  }

  /** Removes all jobs and runs all timers. @returns keys that are left over */
  async clear(): Promise<string[]> {
    for (const operation of this.space.operations) await this.stopOperation(operation);
    await this.engine.components.operationRunner.stop();
    for (const queue of QUEUES) await this.purge(queue, ALL);
    expect([...this.space.jobs.keys()]).toEqual([]);
    this.f.nowMs = this.space.nowMs += LONGER_THAN_ANYTHING_MS;
    await this.engine.pumpNow(this.ns);
    for (const queue of await this.engine.queues.names(this.ns))
      await this.engine.components.queueControls.forget(this.ns, queue);
    // The string of a unique key with a window has a TTL in Redis.
    const isHeld = (key: string): boolean => key.startsWith(`{${this.ns}}o`);
    // So have the record of an idempotency key, of an operation and those of lease requests; that of an undelivered lease goes with the namespace at the latest.
    const isRecord = (key: string): boolean =>
      /^\{[^}]+\}:(?:k|O:|(?:sending|requested|requesters|operations)$)/.test(key);
    return (await testKeys(`{${this.ns}}*`)).filter(
      (key) => !key.endsWith(':meta') && !isHeld(key) && !isRecord(key),
    );
  }

  private async fire(): Promise<void> {
    await this.engine.pumpNow(this.ns);
    const isStale = [...this.space.jobs.values()].some(
      ({ isExtended, state, expiresMs }) =>
        !isExtended && state === 'ready' && expiresMs > 0 && expiresMs <= this.space.nowMs,
    );
    // No timer removes a simple job that expires in its ready list: the janitor or the next call does.
    if (isStale) {
      await this.engine.tidyNow(this.ns);
      // The janitor forgets queues without jobs and settings; later commands name them.
      for (const queue of QUEUES) await this.engine.components.queueControls.change(this.ns, queue, {});
    }
    await this.read();
    tick(this.space);
  }

  /** Finishes everything that the calls have started. */
  private async drain(): Promise<void> {
    await this.keepWindows();
    await this.read();
    callHeld(this.space);
    while (isRinging(this.space)) await this.fire();
    await this.compare();
  }

  /** Redis removes the string of a unique key by its own clock, which goes on while that of the test stands still. */
  private async keepWindows(): Promise<void> {
    for (const [key, { endsMs }] of this.space.keys)
      if (endsMs > 0) await this.f.pool.read('PERSIST', `{${this.ns}}o${key}`);
  }

  private async read(): Promise<void> {
    if (this.isSeen) return;
    const ids = this.ids.filter((id) => this.space.jobs.has(id) || this.seen.has(id));
    this.seen = new Map();
    for (let i = 0; i < ids.length; i += AT_ONCE)
      for (const job of await this.f.engine.components.jobReader.findMany(this.ns, ids.slice(i, i + AT_ONCE)))
        if (job) this.seen.set(job.id, job);
    this.isSeen = true;
  }

  private async compare(): Promise<void> {
    await this.read();
    expect([...this.seen.values()].map(seenOf)).toEqual(
      this.ids.filter((id) => this.space.jobs.has(id)).map((id) => knownOf(this.space, id)),
    );
    const found = await this.f.engine.queues.counts(this.ns, QUEUES);
    for (const { queue, ...sizes } of found) expect(sizes).toMatchObject(counts(this.space, queue));
    if (this.steps % LIST_EACH === 0) await this.compareList();
    if (this.steps % LIST_EACH === 1) await this.compareTags();
  }

  /** Compares the list of a tag, and the number of jobs of each. */
  private async compareTags(): Promise<void> {
    const { lists, tags } = this.f.engine.components;
    const { items } = await lists.list(this.ns, { tag: 't' }, { limit: AT_ONCE });
    const withTag = (tag: string): string[] =>
      [...this.space.jobs.values()]
        .filter(({ tags: own, isIndexed }) => isIndexed && own.includes(tag))
        .map(({ id }) => id)
        .sort();
    expect(items.map(({ id }) => id).sort()).toEqual(withTag('t'));
    const counted = (await tags.tags(this.ns, { limit: AT_ONCE })).items;
    const known = ['t', 'u'].map((name) => ({ name, jobs: withTag(name).length }));
    const byName = (one: { name: string }, other: { name: string }): number =>
      one.name < other.name ? -1 : 1;
    expect([...counted].sort(byName)).toEqual(known.filter(({ jobs }) => jobs > 0));
  }

  /** Compares one list after the other, one per call. */
  private async compareList(): Promise<void> {
    const at = this.steps / LIST_EACH;
    const [queue, state] = [QUEUES[at % 2] ?? 'a', ALL[(at >> 1) % ALL.length] ?? 'ready'];
    const [oldest, newest] = [
      await this.list(queue, state, 'oldest'),
      await this.list(queue, state, 'newest'),
    ];
    expect(newest).toEqual([...oldest].reverse());
    const known = this.space.in(queue, state).map(({ id }) => id);
    expect([...oldest].sort()).toEqual(known.sort());
    const jobs = oldest.map((id) => this.space.get(id));
    const wrong = jobs.flatMap((later, at) =>
      jobs.slice(0, at).flatMap((one) => (mustList(this.space, later, one) ? [[one.id, later.id]] : [])),
    );
    expect({ queue, state, wrong }).toEqual({ queue, state, wrong: [] });
  }

  private async list(queue: string, state: JobState, order: 'oldest' | 'newest'): Promise<string[]> {
    const { lists } = this.f.engine.components;
    const { items, cursor } = await lists.list(this.ns, { queue, state }, { limit: AT_ONCE, order });
    expect(cursor).toBeNull();
    return items.map(({ id }) => id);
  }
}
