import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../../test/support/redis.js';
import {
  type EventOptions,
  Fail,
  type FailureGroup,
  isPumphouseError,
  type JobsPause,
  type JobState,
  type PlacedEvent,
  type Pumphouse,
} from '../src/node.js';

/** What a Pumphouse has, over HTTP or in process. */
export interface ProducerUnderTest extends Pick<
  Pumphouse,
  'publish' | 'publishMany' | 'publishAndWait' | 'worker' | 'events'
> {
  readonly jobs: Pick<Pumphouse['jobs'], keyof Pumphouse['jobs']>;
  readonly queues: Pick<Pumphouse['queues'], keyof Pumphouse['queues']>;
  readonly deadLetter: Pick<Pumphouse['deadLetter'], keyof Pumphouse['deadLetter']>;
  readonly operations: Pick<Pumphouse['operations'], keyof Pumphouse['operations']>;
  readonly recurring: Pick<Pumphouse['recurring'], keyof Pumphouse['recurring']>;
  readonly stats: Pick<Pumphouse['stats'], keyof Pumphouse['stats']>;
  readonly workers: Pick<Pumphouse['workers'], keyof Pumphouse['workers']>;
  readonly variables: Pick<Pumphouse['variables'], keyof Pumphouse['variables']>;
}

type Part =
  | ('jobs' | 'queues' | 'deadLetter' | 'operations' | 'recurring')
  | ('stats' | 'workers' | 'variables');
/** Every call: one that is missing in a table of them is an error of the compiler. */
type CallName =
  | ('publish' | 'publishMany' | 'publishAndWait')
  | { [P in Part]: `${P}.${keyof ProducerUnderTest[P] & string}` }[Part];

let count = 0;
const fresh = (what = 'q'): string => `${what}-${String(process.pid)}-${String(count++)}`;

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: unknown) => (isPumphouseError(error) ? error.code : String(error)),
  );

/** Collects events until `stop`. Resolves when what happens from then on is received. */
export async function follow(
  pumphouse: Pick<ProducerUnderTest, 'events'>,
  options: EventOptions = {},
): Promise<{ readonly events: PlacedEvent[]; readonly stop: () => Promise<void> }> {
  const events: PlacedEvent[] = [];
  const abort = new AbortController();
  let ended: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    const read = async (): Promise<void> => {
      for await (const event of pumphouse.events({ ...options, onOpen: resolve, signal: abort.signal })) {
        events.push(event);
      }
    };
    ended = read().catch((error: unknown) => {
      if (!abort.signal.aborted) reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
  return {
    events,
    stop: async () => {
      abort.abort();
      await ended;
    },
  };
}

/** Queues, workers and events: the same with and without a server. */
export function producerContract(name: string, underTest: () => ProducerUnderTest): void {
  describe(`a Pumphouse ${name}`, () => {
    let pumphouse: ProducerUnderTest;
    let queue: string;
    beforeEach(() => {
      pumphouse = underTest();
      queue = fresh();
    });

    const quiet = { warn: () => undefined, error: () => undefined };
    const workerOf = (from: string, more: object = {}) =>
      pumphouse.worker({
        ...{ queues: [from], ttrMs: 900, waitMs: 300, shutdownGraceMs: 0, logger: quiet },
        ...more,
      });

    it('shows the counts and settings of a queue that does not exist and of a queue with jobs', async () => {
      const none = {
        ...{ maxRunning: null, maxRunningPerKey: null, rate: null, ratePerKey: null, defaults: {} },
        ...{ maxKept: null, indexTags: true, leaseGraceMs: null, expired: 'back', fair: false, redact: null },
        ...{ order: null, onDead: 'continue' },
        ...{
          pausedAt: null,
          pausedBy: null,
          pauseNote: null,
          pauseEndsAt: null,
          pauses: [],
          drainingAt: null,
          push: null,
        },
      };
      const zero = {
        ...{ ready: 0, scheduled: 0, blocked: 0, stuck: 0, held: 0, leased: 0 },
        ...{ stalled: 0, dead: 0, done: 0, cancelled: 0, recurring: 0 },
      };
      expect(await pumphouse.queues.get(queue)).toEqual({
        ...{ queue, exists: false, length: 0, work: 0, workers: 0, counts: zero },
        ...none,
      });
      await pumphouse.publishMany([{ queue }, { queue, delayMs: 60_000 }]);
      expect(await pumphouse.queues.get(queue)).toEqual({
        ...{
          queue,
          exists: true,
          length: 2,
          work: 1,
          workers: 0,
          counts: { ...zero, ready: 1, scheduled: 1 },
        },
        ...none,
      });
    });

    it('shows dependencies that no job has, and refuses them on request', async () => {
      const job = { queue, data: 1, dependsOn: ['typo'] };
      expect(await pumphouse.publish(job)).toMatchObject({ state: 'ready', missingDependencies: ['typo'] });
      expect(await pumphouse.publishMany([{ queue }, job])).toMatchObject([
        { state: 'ready' },
        { missingDependencies: ['typo'] },
      ]);
      expect(await pumphouse.jobs.put(fresh(), job)).toMatchObject({ missingDependencies: ['typo'] });
      const { id } = await pumphouse.publish({ queue, delayMs: 60_000 });
      expect(await pumphouse.jobs.update(id, { dependsOn: ['typo'] })).toMatchObject({
        missingDependencies: ['typo'],
      });
      const refused = { ...job, onMissingDependency: 'refuse' } as const;
      expect(await codeOf(pumphouse.publish(refused))).toBe('missing_dependency');
      expect(
        await codeOf(pumphouse.jobs.update(id, { dependsOn: ['typo'], onMissingDependency: 'refuse' })),
      ).toBe('missing_dependency');
    });

    it('keeps variables with any JSON as a value, and emits their changes', async () => {
      const { events, stop } = await follow(pumphouse, { events: ['variable_changed', 'variable_deleted'] });
      const { variables } = pumphouse;
      const name = fresh('v.');
      const value = { snake_case: [1.5, null, 'ü'], camelCase: { at_ms: '2030' } };
      await variables.set(name, value);
      await variables.set(name, value);
      expect(await variables.get(name)).toEqual(value);
      await variables.set(name, 'a text');
      expect((await variables.list()).filter((one) => one.name === name)).toEqual([
        { name, value: 'a text' },
      ]);
      await variables.delete(name);
      for (const call of [() => variables.get(name), () => variables.delete(name)])
        expect(await codeOf(call())).toBe('variable_not_found');
      expect(await codeOf(variables.set('no/name', 1))).toBe('invalid_argument');
      expect(await codeOf(variables.set(name, undefined))).toBe('invalid_argument');
      expect(await codeOf(variables.set(name, 'x'.repeat(4_095)))).toBe('invalid_argument');
      await waitFor(() => events.some(({ event }) => event === 'variable_deleted'), 5_000);
      expect(events.map(({ event, variable }) => [event, variable])).toEqual([
        ...[
          ['variable_changed', name],
          ['variable_changed', name],
          ['variable_deleted', name],
        ],
      ]);
      await stop();
    });

    it('lists queues page by page', async () => {
      const own = [fresh('page'), fresh('page'), fresh('page')];
      await pumphouse.publishMany(own.map((one) => ({ queue: one })));
      const first = await pumphouse.queues.list({ limit: 1 });
      expect(first.items).toHaveLength(1);
      expect(first.nextCursor).not.toBeNull();
      const names: string[] = [];
      for await (const one of pumphouse.queues.each({ limit: 1 })) names.push(one.queue);
      expect(names).toEqual([...names].sort());
      expect(names.filter((one) => own.includes(one))).toEqual([...own].sort());
      expect(await codeOf(pumphouse.queues.list({ limit: 0 }))).toBe('invalid_argument');
      expect((await pumphouse.jobs.list({ queue, state: ['stalled'] })).items).toEqual([]);
      expect(await codeOf(pumphouse.jobs.list({ state: ['stalled', 'ready'] }))).toBe('invalid_argument');
    });

    it('changes settings of a queue: an omitted setting stays, and null removes a setting', async () => {
      const changed = await pumphouse.queues.update(queue, {
        maxRunning: 3,
        rate: { rate: 10, periodMs: 1_000 },
        defaults: { tries: 7, retry: { kind: 'fixed', delayMs: 5 }, maxRunMs: 60_000 },
        leaseGraceMs: 1_500,
        expired: 'front',
      });
      expect(changed).toMatchObject({
        created: true,
        maxRunning: 3,
        rate: { rate: 10, periodMs: 1_000, burst: 1 },
      });
      const { id } = await pumphouse.publish({ queue });
      expect(await pumphouse.jobs.get(id)).toMatchObject({ tries: 7, maxRunMs: 60_000 });
      const retry = { kind: 'list', delaysMs: [5], nonRetryable: ['g'] } as const;
      const made = await pumphouse.publish({ queue, retry, ttrMs: 1_000, maxRunMs: 8, retentionMs: 9 });
      const shown = { retry, ttrMs: 1_000, maxRunMs: 8, retentionMs: 9, leaseGraceMs: null };
      expect(await pumphouse.jobs.get(made.id)).toMatchObject(shown);
      const again = await pumphouse.queues.update(queue, { rate: null, expired: null });
      expect(again).toMatchObject({ maxRunning: 3, rate: null, leaseGraceMs: 1_500, expired: 'back' });
      expect(again.created).toBeUndefined();
      expect(await codeOf(pumphouse.queues.update(queue, { maxRunning: 0 }))).toBe('invalid_argument');
    });

    it('pauses and resumes a queue', async () => {
      expect(await pumphouse.queues.pause(queue)).toMatchObject({ created: true });
      const ran: unknown[] = [];
      const worker = workerOf(queue).handle('*', ({ data }) => void ran.push(data));
      void worker.run();
      await pumphouse.publish({ queue, data: 1 });
      await sleep(200);
      expect(ran).toEqual([]);
      expect((await pumphouse.queues.get(queue)).pausedAt).toEqual(expect.any(String));
      expect((await pumphouse.queues.resume(queue)).pausedAt).toBeNull();
      await waitFor(() => ran.length === 1, 5_000);
      await worker.stop();
      expect(await codeOf(pumphouse.queues.resume(fresh('none')))).toBe('queue_not_found');
    });

    it('drains a queue, and waits until it is empty', async () => {
      await pumphouse.publish({ queue });
      expect(await pumphouse.queues.drain(queue, { waitMs: 0.4 })).toMatchObject({
        length: 1,
        drainingAt: expect.any(String) as string,
      });
      expect(await codeOf(pumphouse.publish({ queue }))).toBe('queue_draining');
      const drained = pumphouse.queues.drain(queue, { waitMs: Infinity });
      const worker = workerOf(queue).handle('*', () => undefined);
      void worker.run();
      expect(await drained).toMatchObject({ length: 0, drainingAt: null });
      await worker.stop();
      expect(await codeOf(pumphouse.publish({ queue }))).toBe('none');
      expect(await codeOf(pumphouse.queues.drain(queue, { waitMs: -1 }))).toBe('invalid_argument');
    });

    it('purges jobs by state, and deletes only an empty queue', async () => {
      await pumphouse.publishMany([{ queue }, { queue }, { queue, delayMs: 60_000 }]);
      expect(await codeOf(pumphouse.queues.delete(queue))).toBe('queue_not_empty');
      const counted = await pumphouse.queues.purge(queue, ['ready'], { dryRun: true });
      expect(counted).toEqual({ jobs: { ready: 2 }, dryRun: true, complete: true });
      const purged = await pumphouse.queues.purge(queue, ['ready', 'scheduled']);
      expect(purged).toEqual({ jobs: { ready: 2, scheduled: 1 }, dryRun: false, complete: true });
      const wrong: readonly string[][] = [[], ['exploded']];
      for (const states of wrong)
        expect(await codeOf(pumphouse.queues.purge(queue, states as JobState[]))).toBe('invalid_argument');
      await pumphouse.queues.delete(queue);
      expect((await pumphouse.queues.get(queue)).exists).toBe(false);
      expect(await codeOf(pumphouse.queues.delete(queue))).toBe('queue_not_found');
      expect(await codeOf(pumphouse.queues.purge(queue, ['ready']))).toBe('queue_not_found');
    });

    it('refuses invalid names of queues', async () => {
      expect(await codeOf(pumphouse.queues.get('a:b'))).toBe('invalid_argument');
      expect(await codeOf(pumphouse.queues.pause('a b'))).toBe('invalid_argument');
    });

    it('shows a worker without jobs from its start to its end', async () => {
      const worker = workerOf(queue, { name: 'mailer', concurrency: 3 }).handle('*', () => undefined);
      const running = worker.run();
      const found = await waitFor(() => pumphouse.workers.get(worker.id).catch(() => null), 5_000);
      const time = expect.any(String) as string;
      expect(found).toEqual({
        ...{ name: worker.id, seenAt: time, leased: 0, stalled: 0, displayName: 'mailer' },
        ...{ host: expect.any(String) as string, pid: process.pid, version: expect.any(String) as string },
        ...{ language: 'javascript', queues: [queue], concurrency: 3, jobsAtHand: 0 },
        ...{ startedAt: time, heartbeatAt: time, quiet: false, stop: false, lost: false },
      });
      const page = await pumphouse.workers.list({ limit: 1 });
      expect(page.items).toHaveLength(1);
      await pumphouse.workers.quiet(worker.id);
      expect(await pumphouse.workers.get(worker.id)).toMatchObject({ quiet: true, stop: false });
      await pumphouse.workers.stop(worker.id);
      await running;
      expect(await codeOf(pumphouse.workers.get(worker.id))).toBe('worker_not_found');
      expect(await codeOf(pumphouse.workers.stop(worker.id))).toBe('worker_not_found');
      expect(await codeOf(pumphouse.workers.delete(worker.id))).toBe('worker_not_found');
    });

    it('shows 1,150 running jobs of one worker, and runs each of them once', async () => {
      const many = 1_150;
      await pumphouse.publishMany(Array.from({ length: many }, () => ({ queue, tries: 1 })));
      let end: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const runs = new Map<string, number>();
      const warned: unknown[] = [];
      const warn = (message: string): void => {
        if (!message.includes('blocked')) warned.push(message);
      };
      const worker = workerOf(queue, {
        ...{ ttrMs: 6_000, concurrency: many, shutdownGraceMs: 5_000, logger: { warn, error: warn } },
      }).handle('*', async ({ id }) => {
        runs.set(id, (runs.get(id) ?? 0) + 1);
        await ended;
      });
      void worker.run();
      await waitFor(() => worker.heldCount === many, 10_000);
      const startMs = Date.now();
      const shown = new Set<number | null>();
      // Longer than a lease, and several heartbeats of all leases.
      while (Date.now() - startMs < 8_000) {
        const { jobsAtHand, heartbeatAt } = await pumphouse.workers.get(worker.id);
        if (Date.parse(heartbeatAt!) > startMs + 2_500) shown.add(jobsAtHand);
        await sleep(5);
      }
      expect([...shown]).toEqual([many]);
      end();
      await waitFor(async () => (await pumphouse.queues.get(queue)).length === 0, 10_000);
      await worker.stop();
      expect([...runs.values()].filter((times) => times !== 1)).toEqual([]);
      expect([runs.size, warned]).toEqual([many, []]);
    });

    it('lists the fair keys of a queue, the largest first', async () => {
      const weights = { a: 2, bigShop: 3, big_shop: 4 };
      const fair = { weights };
      expect((await pumphouse.queues.update(queue, { fair })).fair).toMatchObject(fair);
      expect((await pumphouse.queues.get(queue)).fair).toMatchObject(fair);
      await pumphouse.publishMany(['a', 'b', 'b'].map((fairKey) => ({ queue, fairKey })));
      const { keys, complete } = await pumphouse.queues.keys(queue, { limit: 1 });
      expect(keys).toMatchObject([{ key: 'b', ready: 2 }]);
      expect(Date.parse(keys[0]!.oldestPublishedAt!)).toBeGreaterThan(0);
      expect(complete).toBe(true);
      expect(await pumphouse.queues.update(queue, { fair: false })).toMatchObject({ fair: false });
    });

    it('sets a strict order of a queue, and refuses it beside a higher limit per key', async () => {
      const { queues } = pumphouse;
      const strict = { order: 'strict', onDead: 'block' } as const;
      expect(await queues.update(queue, strict)).toMatchObject(strict);
      await expect(queues.update(queue, { maxRunningPerKey: 2 })).rejects.toMatchObject({
        code: 'invalid_argument',
      });
      expect(await queues.update(queue, { order: null })).toMatchObject({
        order: null,
        maxRunningPerKey: null,
      });
    });

    it.each([{ type: 'sms' }, { type: null }, { concurrencyKey: 'ada' }])(
      'pauses some jobs of a queue for a time, and resumes them: %j',
      async (jobs) => {
        const { queues } = pumphouse;
        const options = { note: 'provider is down', forMs: 600_000 };
        const paused = await queues.pause(queue, { ...jobs, ...options });
        expect(paused).toMatchObject({ pausedAt: null, pauses: [{ ...jobs, note: options.note }] });
        const [{ pausedAt, endsAt }] = paused.pauses as [JobsPause];
        expect(Date.parse(endsAt!) - Date.parse(pausedAt)).toBeGreaterThanOrEqual(options.forMs);
        const { id } = await pumphouse.publish({ queue, type: 'sms', concurrencyKey: 'ada' });
        const { cause } = await pumphouse.jobs.explain(id);
        expect(cause).toMatch('concurrencyKey' in jobs ? /^key_paused$/ : jobs.type ? /^type_paused$/ : /./);
        expect(await queues.resume(queue, jobs)).toMatchObject({ pauses: [] });
      },
    );

    it('refuses a pause of two kinds of jobs in one call', async () => {
      const both = { type: 'sms', concurrencyKey: 'ada' };
      await expect(pumphouse.queues.pause(queue, both)).rejects.toMatchObject({ code: 'invalid_argument' });
      await expect(pumphouse.queues.pause(queue, { fairKey: 'ada' })).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    });

    it('rejects every call with the reason of its signal', async () => {
      const { jobs, queues, deadLetter, operations, recurring, stats, workers, variables } = pumphouse;
      const reason = new Error('enough');
      const schedule = { everyMs: 60_000 };
      const job = { queue };
      const calls: Record<CallName, (options: { signal: AbortSignal }) => Promise<unknown>> = {
        publish: (options) => pumphouse.publish({ queue }, options),
        publishMany: (options) => pumphouse.publishMany([{ queue }], options),
        publishAndWait: (options) => pumphouse.publishAndWait({ queue }, options),
        'jobs.get': (options) => jobs.get('a', options),
        'jobs.list': (options) => jobs.list({}, options),
        'jobs.each': (options) => jobs.each({}, options).next(),
        'jobs.update': (options) => jobs.update('a', { priority: 1 }, options),
        'jobs.put': (options) => jobs.put('a', { queue }, options),
        'jobs.cancel': (options) => jobs.cancel('a', options),
        'jobs.revoke': (options) => jobs.revoke('a', options),
        'jobs.explain': (options) => jobs.explain('a', options),
        'jobs.log': (options) => jobs.log('a', 'm', undefined, options),
        'jobs.delete': (options) => jobs.delete('a', options),
        'queues.get': (options) => queues.get(queue, options),
        'queues.explain': (options) => queues.explain(queue, options),
        'queues.keys': (options) => queues.keys(queue, options),
        'queues.list': (options) => queues.list({}, options),
        'queues.each': (options) => queues.each({}, options).next(),
        'queues.update': (options) => queues.update(queue, { maxRunning: 1 }, options),
        'queues.pause': (options) => queues.pause(queue, { ...options }),
        'queues.resume': (options) => queues.resume(queue, options),
        'queues.drain': (options) => queues.drain(queue, { waitMs: 5_000, ...options }),
        'queues.purge': (options) => queues.purge(queue, ['ready'], { ...options }),
        'queues.delete': (options) => queues.delete(queue, options),
        'deadLetter.list': (options) => deadLetter.list({}, options),
        'deadLetter.each': (options) => deadLetter.each({}, options).next(),
        'deadLetter.groups': (options) => deadLetter.groups({}, options),
        'deadLetter.eachGroup': (options) => deadLetter.eachGroup({}, options).next(),
        'deadLetter.respawn': (options) => deadLetter.respawn({ ids: ['a'] }, options),
        'deadLetter.move': (options) => deadLetter.move({ ids: ['a'], toQueue: queue }, options),
        'deadLetter.delete': (options) => deadLetter.delete({ ids: ['a'] }, options),
        'operations.start': (options) => operations.start({ action: 'cancel', filter: { queue } }, options),
        'operations.get': (options) => operations.get('a', options),
        'operations.list': (options) => operations.list({}, options),
        'operations.stop': (options) => operations.stop('a', options),
        'operations.undo': (options) => operations.undo('a', options),
        'operations.wait': (options) => operations.wait('a', options),
        'recurring.put': (options) => recurring.put('a', { schedule, job }, options),
        'recurring.get': (options) => recurring.get('a', options),
        'recurring.explain': (options) => recurring.explain('a', options),
        'recurring.list': (options) => recurring.list({}, options),
        'recurring.each': (options) => recurring.each({}, options).next(),
        'recurring.update': (options) => recurring.update('a', { job }, options),
        'recurring.pause': (options) => recurring.pause('a', { ...options }),
        'recurring.resume': (options) => recurring.resume('a', options),
        'recurring.run': (options) => recurring.run('a', options),
        'recurring.next': (options) => recurring.next('a', 1, options),
        'recurring.preview': (options) => recurring.preview(schedule, 1, options),
        'recurring.delete': (options) => recurring.delete('a', options),
        'stats.get': (options) => stats.get({}, options),
        'workers.list': (options) => workers.list({}, options),
        'workers.get': (options) => workers.get('a', options),
        'workers.quiet': (options) => workers.quiet('a', options),
        'workers.stop': (options) => workers.stop('a', options),
        'workers.delete': (options) => workers.delete('a', options),
        'variables.list': (options) => variables.list(options),
        'variables.get': (options) => variables.get('a', options),
        'variables.set': (options) => variables.set('a', 1, options),
        'variables.delete': (options) => variables.delete('a', options),
      };
      for (const [what, call] of Object.entries(calls)) {
        const before = await call({ signal: AbortSignal.abort(reason) }).catch((error: unknown) => error);
        expect([what, before]).toEqual([what, reason]);
        const abort = new AbortController();
        const during = call({ signal: abort.signal }).catch((error: unknown) => error);
        abort.abort(reason);
        expect([what, await during]).toEqual([what, reason]);
      }
    });

    it('does an action with all jobs that a filter matches', async () => {
      // A type of its own: the index of a type has the jobs of all queues.
      const ours = `of ${queue}`;
      for (const type of [ours, 'b', ours]) await pumphouse.publish({ queue, type, data: 1 });
      const filter = { queue, type: ours };
      const dry = await pumphouse.operations.start({ action: 'cancel', filter, dryRun: true });
      expect(await pumphouse.operations.wait(dry.id, { pollMs: 20 })).toMatchObject({ matched: 2, done: 0 });
      const set = { priority: 4, ttlMs: 600_000, data: { new: true } };
      const { id } = await pumphouse.operations.start({ action: 'patch', filter, set });
      const seen: string[] = [];
      const onProgress = ({ state }: { readonly state: string }): void => void seen.push(state);
      const ended = await pumphouse.operations.wait(id, { pollMs: 20, onProgress });
      expect(ended).toMatchObject({
        ...{ action: 'patch', state: 'done', matched: 2, done: 2, toLook: 2, refusals: [] },
        ...{ set: { priority: 4, ttlMs: 600_000, data: true }, filter },
      });
      expect(seen.at(-1)).toBe('done');
      expect((await pumphouse.operations.list({ limit: 1 })).items[0]!.id).toBe(id);
      expect((await pumphouse.operations.stop(id)).state).toBe('done');
      const changed = await pumphouse.jobs.get(ended.samples[0]!.id);
      expect(changed).toMatchObject({ priority: 4, data: { new: true } });
      expect(await codeOf(pumphouse.operations.get('none'))).toBe('operation_not_found');
      expect(await codeOf(pumphouse.operations.start({ action: 'move', filter }))).toBe('invalid_argument');
    });

    it('undoes an action with many jobs', async () => {
      const published = await pumphouse.publish({ queue, type: 'a', data: { n: 1 }, priority: 3 });
      const before = await pumphouse.jobs.get(published.id);
      const filter = { queue, type: 'a' };
      const { id } = await pumphouse.operations.start({ action: 'delete', filter, undoMs: 60_000 });
      const deleted = await pumphouse.operations.wait(id, { pollMs: 20 });
      expect(deleted.undo).toMatchObject({ state: 'kept', jobs: 1, restored: 0, message: null });
      expect(await codeOf(pumphouse.jobs.get(published.id))).toBe('job_not_found');
      expect((await pumphouse.operations.undo(id)).undo?.state).toBe('running');
      const undone = await pumphouse.operations.wait(id, { pollMs: 20 });
      expect(undone.undo).toMatchObject({
        state: 'done',
        restored: 1,
        failed: 0,
        refusals: [],
      });
      const { timeline, ...job } = before;
      const back = await pumphouse.jobs.get(published.id);
      expect(back).toMatchObject(job);
      expect(back.timeline).toHaveLength(timeline.length + 1);
      const other = await pumphouse.operations.start({ action: 'delete', filter });
      await pumphouse.operations.wait(other.id, { pollMs: 20 });
      expect(await codeOf(pumphouse.operations.undo(other.id))).toBe('undo_gone');
      const moved = { action: 'move', filter, to: 'b', undoMs: 60_000 } as const;
      expect(await codeOf(pumphouse.operations.start(moved))).toBe('invalid_argument');
    });

    it('says why a job does not run, and why a queue gives no jobs', async () => {
      const { id } = await pumphouse.publish({ queue, data: 1 });
      expect(await pumphouse.queues.pause(queue, { note: 'stocktaking' })).toMatchObject({
        pauseNote: 'stocktaking',
      });
      const found = await pumphouse.jobs.explain(id);
      expect(found).toMatchObject({ cause: 'paused', nextAt: null, facts: { queue, note: 'stocktaking' } });
      expect(Date.parse(found.since!)).toBeGreaterThan(0);
      expect(await pumphouse.queues.explain(queue)).toMatchObject({ cause: 'paused' });
      await expect(pumphouse.jobs.explain('none')).rejects.toMatchObject({ code: 'job_not_found' });
      const recurring = fresh('recurring');
      const schedule = { everyMs: 3_600_000, offsetMs: 3_600_000 };
      const { nextAt } = await pumphouse.recurring.put(recurring, { schedule, job: { queue } });
      expect(await pumphouse.recurring.explain(recurring)).toMatchObject({
        ...{ cause: 'scheduled', nextAt, facts: { recurring, queue } },
        also: expect.arrayContaining([expect.objectContaining({ cause: 'paused' })]) as unknown,
      });
      await expect(pumphouse.recurring.explain('none')).rejects.toMatchObject({
        code: 'recurring_not_found',
      });
      await pumphouse.recurring.delete(recurring);
    });

    it('emits the events of a job with its worker and its result', async () => {
      const { events, stop } = await follow(pumphouse, { queues: [queue] });
      const worker = workerOf(queue).handle('sum', ({ data }) => ({ some_key: data }));
      void worker.run();
      await pumphouse.publish({ queue: fresh('other') });
      const { id, result } = await pumphouse.publishAndWait({ queue, type: 'sum', data: 3, tags: ['x'] });
      expect(result).toEqual({ some_key: 3 });
      await waitFor(() => events.some(({ event }) => event === 'acked'), 5_000);
      await stop();
      await worker.stop();
      const own = {
        ...{ at: expect.any(String) as string, queue, id, type: 'sum', tags: ['x'] },
        place: expect.stringMatching(/^\d+-\d+$/) as string,
      };
      expect(events.filter(({ event }) => event !== 'heartbeat')).toEqual([
        { ...own, event: 'published' },
        { ...own, event: 'leased', attempt: 1, worker: worker.id },
        {
          ...{ ...own, event: 'acked', worker: worker.id },
          result: { data: { some_key: 3 }, contentType: 'application/json' },
        },
      ]);
    });

    it('emits the events of a worker from its start to its end', async () => {
      const worker = workerOf(queue, { name: 'mailer' }).handle('*', () => undefined);
      const { events, stop } = await follow(pumphouse);
      const own = (): PlacedEvent[] => events.filter((event) => event.worker === worker.id);
      void worker.run();
      await waitFor(() => own().length === 1, 5_000);
      await pumphouse.workers.quiet(worker.id);
      await pumphouse.workers.stop(worker.id);
      await waitFor(() => own().length === 4, 5_000);
      await stop();
      const shown = { queue: '', worker: worker.id, name: 'mailer' };
      expect(own()).toMatchObject([
        { event: 'worker_started', ...shown },
        { event: 'worker_quieted', ...shown },
        { event: 'worker_stopping', ...shown },
        { event: 'worker_ended', ...shown },
      ]);
    });

    it('emits the events of a queue including its deletion', async () => {
      const { events, stop } = await follow(pumphouse, { queues: [queue] });
      await pumphouse.queues.pause(queue);
      await pumphouse.queues.resume(queue);
      await pumphouse.queues.delete(queue);
      await waitFor(() => events.length === 3, 5_000);
      await stop();
      expect(events.map(({ event, id }) => [event, id])).toEqual([
        ['paused', undefined],
        ['resumed', undefined],
        ['queue_deleted', undefined],
      ]);
    });

    it('emits no event after the reader aborted the signal', async () => {
      const abort = new AbortController();
      const reason = new Error('seen enough');
      const seen: PlacedEvent[] = [];
      let isOpen = false;
      const onOpen = (): void => {
        isOpen = true;
      };
      const reading = (async () => {
        for await (const event of pumphouse.events({ queues: [queue], signal: abort.signal, onOpen })) {
          seen.push(event);
          abort.abort(reason);
        }
      })();
      const outcome = reading.catch((error: unknown) => error);
      await waitFor(() => isOpen, 5_000);
      await pumphouse.publish({ queue });
      expect(await Promise.race([outcome, sleep(5_000, 'still reading')])).toBe(reason);
      expect(seen).toHaveLength(1);
    });

    it('stores no job of a long list of which one is no JSON, and names its place', async () => {
      const jobs = Array.from({ length: 101 }, (_, i) => ({ queue, data: i === 100 ? [NaN] : i }));
      await expect(pumphouse.publishMany(jobs)).rejects.toThrow(
        'jobs[100].data[0]: must be a JSON value, not NaN',
      );
      expect((await pumphouse.queues.get(queue)).length).toBe(0);
    });

    it('filters events, and resumes after a given event', async () => {
      const all = await follow(pumphouse);
      const other = fresh('other');
      const [a, b] = await pumphouse.publishMany([
        { queue, type: 'a' },
        { queue, type: 'b', tags: ['t'] },
      ]);
      await pumphouse.publish({ queue: other, type: 'b' });
      await pumphouse.jobs.cancel(b!.id);
      await waitFor(
        () => all.events.filter(({ queue: of }) => of === queue || of === other).length === 4,
        5_000,
      );
      await all.stop();
      const { place } = all.events.find(({ id }) => id === a!.id)!;
      const seen = async (options: EventOptions, most: number): Promise<string[]> => {
        const { events, stop } = await follow(pumphouse, { after: place!, ...options });
        await waitFor(() => events.length >= most, 5_000);
        await stop();
        return events.map(({ event, queue: of, type }) => `${event} ${of!} ${type!}`);
      };
      const ofB = [`published ${queue} b`, `cancelled ${queue} b`];
      expect(await seen({ queues: [queue] }, 2)).toEqual(ofB);
      expect(await seen({ jobs: [b!.id] }, 2)).toEqual(ofB);
      expect(await seen({ tags: ['t'] }, 2)).toEqual(ofB);
      expect(await seen({ queues: [queue, other], events: ['published'] }, 2)).toEqual([
        `published ${queue} b`,
        `published ${other} b`,
      ]);
      expect(await seen({ types: ['b'], events: ['cancelled'] }, 1)).toEqual([`cancelled ${queue} b`]);
    });

    /** Publishes jobs that fail at once. */
    const kill = async (messages: readonly string[]): Promise<string[]> => {
      const worker = workerOf(queue).handle('*', ({ data }) => {
        throw new Fail(String(data), { group: 'bad' });
      });
      void worker.run();
      const published = await pumphouse.publishMany(
        messages.map((message) => ({
          ...{ queue, type: 'broken', data: message, attributes: { customer: message } },
        })),
      );
      await waitFor(async () => (await pumphouse.queues.get(queue)).counts.dead === messages.length, 5_000);
      await worker.stop();
      return published.map(({ id }) => id);
    };

    it('lists dead jobs by filters, and all pages of them', async () => {
      const ids = await kill(['one', 'two', 'three']);
      const found = async (filter: object): Promise<string[]> => {
        const all: string[] = [];
        for await (const job of pumphouse.deadLetter.each({ queue, ...filter })) all.push(job.id);
        return all;
      };
      expect((await found({ limit: 1 })).sort()).toEqual([...ids].sort());
      expect(await found({ text: 'TWO' })).toEqual([ids[1]]);
      expect(await found({ attribute: 'customer=three' })).toEqual([ids[2]]);
      expect(await found({ group: 'other' })).toEqual([]);
      const groups: FailureGroup[] = [];
      for await (const group of pumphouse.deadLetter.eachGroup({ limit: 1 })) groups.push(group);
      const [bad] = groups.filter(({ name }) => name === 'bad');
      expect(bad).toMatchObject({ firstAt: expect.any(String) as string, sample: { queue } });
      expect(['one', 'two', 'three']).toContain(bad!.sample!.message);
      expect(bad!.jobs).toBeGreaterThanOrEqual(3);
      expect(bad!.trend.reduce((sum, one) => sum + one, 0)).toBe(bad!.jobs);
      expect(await found({ to: new Date(Date.now() - 3_600_000) })).toEqual([]);
      const newest = await pumphouse.deadLetter.list({ queue, order: 'newest', limit: 1 });
      const oldest = await pumphouse.deadLetter.list({ queue, limit: 1 });
      expect(newest.items[0]!.id).not.toBe(oldest.items[0]!.id);
      expect(oldest.nextCursor).not.toBeNull();
      expect(await codeOf(pumphouse.deadLetter.list({ attribute: '=x' }))).toBe('invalid_argument');
    });

    it('counts, respawns, moves and deletes dead jobs', async () => {
      const [a, b, c, d] = await kill(['a', 'b', 'c', 'd']);
      const filter = { queue };
      expect(await pumphouse.deadLetter.respawn({ filter, dryRun: true })).toEqual({
        ...{ jobs: 4, dryRun: true, nextCursor: null },
      });
      const other = fresh('other');
      expect(await pumphouse.deadLetter.move({ ids: [a!], toQueue: other, tries: 7 })).toMatchObject({
        jobs: 1,
      });
      expect(await pumphouse.jobs.get(a!)).toMatchObject({ state: 'ready', queue: other, triesLeft: 7 });
      expect(await pumphouse.deadLetter.delete({ ids: [b!, 'unknown'], filter })).toMatchObject({ jobs: 1 });
      expect(await pumphouse.deadLetter.respawn({ filter, keepTries: true })).toEqual({
        ...{ jobs: 2, dryRun: false, nextCursor: null },
      });
      expect(await pumphouse.jobs.get(c!)).toMatchObject({ state: 'ready', queue });
      expect(await codeOf(pumphouse.jobs.get(b!))).toBe('job_not_found');
      expect((await pumphouse.jobs.get(d!)).state).toBe('ready');
    });

    it('refuses invalid selections of dead jobs', async () => {
      const { deadLetter } = pumphouse;
      expect(await codeOf(deadLetter.respawn({}))).toBe('invalid_argument');
      expect(await codeOf(deadLetter.delete({ ids: ['x'], limit: 1 }))).toBe('invalid_argument');
      expect(await codeOf(deadLetter.delete({ filter: {}, cursor: '!' }))).toBe('invalid_argument');
      expect(await codeOf(deadLetter.respawn({ filter: {}, tries: 0 }))).toBe('invalid_argument');
      expect(await codeOf(deadLetter.respawn({ filter: {}, tries: 2, keepTries: true }))).toBe(
        'invalid_argument',
      );
      expect(await codeOf(deadLetter.move({ filter: {}, toQueue: 'a:b' }))).toBe('invalid_argument');
    });

    it('stores, shows, changes, pauses, runs and deletes a recurring job', async () => {
      const { recurring } = pumphouse;
      const id = fresh('nightly');
      const startAt = new Date(Date.now() + 3_600_000);
      const stored = await recurring.put(id, {
        schedule: { cron: '0 3 * * *', tz: 'Europe/Berlin', jitterMs: 1_000, startAt },
        job: { queue, type: 't', data: { some_key: 1 }, retry: { kind: 'fixed', delayMs: 5 } },
        overlap: 'skip',
      });
      const time = expect.any(String) as string;
      expect(stored).toEqual({
        id,
        schedule: {
          ...{ cron: '0 3 * * *', tz: 'Europe/Berlin', jitterMs: 1_000, startAt: startAt.toISOString() },
        },
        job: {
          ...{ queue, type: 't', data: { some_key: 1 }, contentType: 'application/json' },
          retry: { kind: 'fixed', delayMs: 5 },
        },
        ...{ maxCatchUp: 1, catchUpMs: null, overlap: 'skip', paused: false, note: null },
        ...{ made: 0, skipped: 0, lastSkip: null, nextAt: time, lastAt: null, createdAt: time },
      });
      expect(await recurring.get(id)).toEqual(stored);
      expect(await recurring.pause(id, { note: 'why' })).toMatchObject({ paused: true, note: 'why' });
      expect(await recurring.resume(id)).toMatchObject({ paused: false, note: null });
      const { id: made } = await recurring.run(id);
      expect(await pumphouse.jobs.get(made)).toMatchObject({ queue, type: 't', spawnedFrom: id });
      expect(await codeOf(recurring.run(id))).toBe('unique_key_taken');
      const everyDay = { everyMs: 86_400_000, firstAt: startAt };
      const changed = await recurring.update(id, {
        schedule: everyDay,
        job: { data: 'x' },
        overlap: 'allow',
      });
      expect(changed).toMatchObject({
        ...{ schedule: { ...everyDay, firstAt: startAt.toISOString() }, overlap: 'allow', made: 1 },
        job: { queue, data: 'x' },
      });
      const found: string[] = [];
      for await (const one of recurring.each({ queue, limit: 1 })) found.push(one.id);
      expect(found).toEqual([id]);
      await recurring.delete(id);
      expect(await codeOf(recurring.get(id))).toBe('recurring_not_found');
      expect(await codeOf(recurring.delete(id))).toBe('recurring_not_found');
    });

    it('shows the next slots of a recurring job, and of a schedule that is not stored', async () => {
      const { recurring } = pumphouse;
      const berlin = { cron: '30 2 * * *', tz: 'Europe/Berlin', startAt: '2031-03-29T00:00:00Z' };
      const slots = await recurring.preview(berlin, 2);
      expect(slots).toEqual([
        { at: '2031-03-29T01:30:00.000Z', local: '2031-03-29T02:30:00+01:00', moved: false },
        { at: '2031-03-30T01:00:00.000Z', local: '2031-03-30T03:00:00+02:00', moved: true },
      ]);
      const id = fresh('next');
      await recurring.put(id, { schedule: berlin, job: { queue } });
      expect(await recurring.next(id, 2)).toEqual(slots);
      const [hourly] = await recurring.preview({ everyMs: 3_600_000, offsetMs: 1_000 }, 1);
      expect(hourly).toEqual({ at: expect.any(String) as string, local: null, moved: false });
      expect(await codeOf(recurring.preview(berlin, 0))).toBe('invalid_argument');
      expect(await codeOf(recurring.preview({ cron: '61 * * * *', tz: 'UTC' }))).toBe('invalid_argument');
      expect(await codeOf(recurring.preview({ cron: '* * * * *', tz: 'Mars' }))).toBe('invalid_argument');
      expect(await codeOf(recurring.next(fresh('none')))).toBe('recurring_not_found');
    });

    it('returns the statistics of a queue and a day', async () => {
      await kill(['x', 'y']);
      const day = new Date().toISOString().slice(0, 10);
      const counted = await waitFor(async () => {
        const found = await pumphouse.stats.get({ queue });
        return found.failures === 2 ? found : null;
      }, 10_000);
      expect(counted).toMatchObject({ queue, waits: { count: 2 }, runs: { count: 0 }, stillDead: 2 });
      expect(counted.waits.histogram.reduce((sum, { count }) => sum + count, 0)).toBe(2);
      expect((await pumphouse.stats.get({ day })).queue).toBeNull();
      expect(await pumphouse.stats.get({ queue: '*' })).toMatchObject({ queue: '*', stillDead: null });
      expect(await pumphouse.stats.get({ queue, day: '1999-12-31' })).toMatchObject({ failures: 0 });
      expect(await codeOf(pumphouse.stats.get({ day: '2026-02-30' }))).toBe('invalid_argument');
      expect(await codeOf(pumphouse.stats.get({ queue: 'a:b' }))).toBe('invalid_argument');
    });

    it('refuses invalid filters of events, and ends events with the reason of the signal', async () => {
      const next = (options: EventOptions): Promise<unknown> => pumphouse.events(options).next();
      expect(await codeOf(next({ events: ['exploded'] }))).toBe('invalid_argument');
      expect(await codeOf(next({ queues: ['a:b'] }))).toBe('invalid_argument');
      expect(await codeOf(next({ after: 'yesterday' }))).toBe('invalid_argument');
      const abort = new AbortController();
      const waiting = next({ queues: [queue], signal: abort.signal });
      const reason = new Error('enough');
      setTimeout(() => abort.abort(reason), 50);
      await expect(waiting).rejects.toBe(reason);
      await expect(next({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    });
  });
}
