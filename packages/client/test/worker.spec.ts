import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { OwnTime } from '../../../test/support/own-time.js';
import { waitFor } from '../../../test/support/redis.js';
import {
  Bytes,
  defineJob,
  Fail,
  type Handler,
  type HandlerContext,
  Next,
  Release,
  Retry,
} from '../src/node.js';
import type { Worker } from '../src/worker/worker.js';
import { VERSION } from '../src/version.js';
import { consoleLogger } from '../src/worker/logger.js';
import { clock } from '../src/worker/clock.js';
import {
  aborted,
  besidesFailures,
  client,
  clientOf,
  counts,
  deferred,
  faulty,
  fresh,
  heartbeats,
  nextHeartbeat,
  passTime,
  proxy,
  TTR_MS,
  useServer,
  workerOf,
} from './fixture.js';
import type { Fault } from './faulty-proxy.js';

useServer();

/** A list in a list in a list … */
function deep(depth: number): unknown {
  let value: unknown = [];
  for (let i = 1; i < depth; i++) value = [value];
  return value;
}

const plain = (queue: string) => defineJob({ queue });
const formatTooOld: Fault = { status: 409, body: { code: 'format_too_old', title: 'too old', detail: '' } };
/** Of what the proxy saw, the types that each lease request named. */
const namedTypes = (): unknown[] =>
  proxy.of('/leases').map(({ body }) => (JSON.parse(body) as { types?: unknown }).types);
/** Of what the proxy saw, calls that settle a job. */
const settled = (): string[] =>
  proxy.seen.flatMap(({ path }) => /\/(acks|release|retry|fail)$/.exec(path)?.slice(1) ?? []);

describe('a worker of the client', () => {
  it('runs at most concurrency jobs, and leases at most concurrency plus prefetch jobs at once', async () => {
    const queue = fresh();
    await client.publishMany(Array.from({ length: 40 }, (_, i) => ({ queue, data: i })));
    const { worker } = workerOf(queue, { through: faulty, concurrency: 4, prefetch: 3 });
    let running = 0;
    let most = 0;
    let mostHeld = 0;
    let done = 0;
    worker.handle(plain(queue), async () => {
      most = Math.max(most, ++running);
      mostHeld = Math.max(mostHeld, worker.heldCount);
      await sleep(3);
      running--;
      done++;
    });
    void worker.run();
    await waitFor(() => done === 40, 10_000);
    expect([most, mostHeld]).toEqual([4, 7]);
    const leaseCounts = proxy.of('/leases').map(({ body }) => (JSON.parse(body) as { count: number }).count);
    expect(leaseCounts[0]).toBe(7);
    await waitFor(async () => (await counts(queue))['leased'] === 0);
  });

  it('names the types of its handlers in lease requests, unless it takes all or has more than 64', async () => {
    const handled = async (...kinds: Parameters<Worker['handle']>[0][]): Promise<unknown> => {
      proxy.seen.length = 0;
      const { worker } = workerOf('listed', { through: faulty });
      for (const kind of kinds) worker.handle(kind, () => 1);
      void worker.run();
      await waitFor(() => proxy.of('/leases').length > 0);
      await worker.stop();
      return namedTypes()[0];
    };
    const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `t${String(i)}`);
    const typed = defineJob({ queue: 'listed', type: 'b' });
    const elsewhere = defineJob({ queue: 'elsewhere', type: 'x' });
    expect(await handled('a', typed, 'b', plain('listed'), elsewhere)).toEqual(['a', 'b', null]);
    expect(await handled('a', '*')).toBeUndefined();
    expect(await handled()).toBeUndefined();
    expect(await handled(...many(64))).toEqual(many(64));
    expect(await handled(...many(65))).toBeUndefined();
  });

  const OLDER_SERVER: Fault = {
    status: 400,
    body: { code: 'invalid_argument', errors: [{ field: 'types', rule: 'unknown field; known: queues' }] },
  };
  it.each([
    { of: 'an older data format', refusal: formatTooOld },
    { of: 'an older server', refusal: OLDER_SERVER },
  ])(
    'leases jobs of all types for 10 minutes after the refusal of $of, and logs that once',
    async ({ refusal }) => {
      const queue = fresh();
      proxy.rule = ({ path, body }) =>
        path.endsWith('/leases') && body.includes('types') ? refusal : 'pass';
      const { worker, log } = workerOf(queue, { through: faulty, waitMs: 50 });
      const jobs: string[] = [];
      worker.handle('known', ({ id }) => jobs.push(id));
      const published = await client.publish({ queue, type: 'known' });
      void worker.run();
      await waitFor(() => proxy.of('/leases').length >= 4);
      expect(jobs).toEqual([published.id]);
      expect(namedTypes().slice(0, 4)).toEqual([['known'], undefined, undefined, undefined]);

      passTime(590_000);
      const before = proxy.of('/leases').length;
      await waitFor(() => proxy.of('/leases').length > before + 1);
      expect(namedTypes().filter((types) => types !== undefined)).toHaveLength(1);
      passTime(2_000);
      await waitFor(() => namedTypes().filter((types) => types !== undefined).length === 2);
      expect(log).toEqual([
        {
          message: expect.stringContaining('`pumphouse format raise`') as string,
          details: {
            error: expect.stringContaining(refusal === OLDER_SERVER ? 'types' : 'too_old') as string,
          },
        },
      ]);
      // The worker has seen the second refusal: its next request is without types.
      await waitFor(() => namedTypes().at(-1) === undefined);
      proxy.rule = () => 'pass';
      passTime(601_000);
      await waitFor(() => namedTypes().filter((types) => types !== undefined).length >= 4);
      expect(log).toHaveLength(1);
    },
  );

  it('has at most one open lease request, while idle and while busy', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, concurrency: 8, prefetch: 8, waitMs: 100 });
    let done = 0;
    worker.handle(plain(queue), async () => {
      await sleep(1);
      done++;
    });
    void worker.run();
    await sleep(250);
    for (let i = 0; i < 20; i++) {
      await client.publishMany(Array.from({ length: 20 }, () => ({ queue })));
      await sleep(10);
    }
    await waitFor(() => done === 400, 10_000);
    await worker.stop();
    expect(proxy.of('/leases').length).toBeGreaterThan(10);
    expect(proxy.open.get('leases')).toEqual({ now: 0, most: 1 });
  });

  it('sends no lease request while all its slots are in use', async () => {
    const queue = fresh();
    const end = deferred();
    await client.publishMany([{ queue }, { queue }]);
    const { worker } = workerOf(queue, { through: faulty, concurrency: 1 });
    worker.handle(plain(queue), () => end.promise);
    void worker.run();
    await waitFor(() => worker.heldCount === 1);
    await sleep(100);
    expect(proxy.of('/leases')).toHaveLength(1);
    end.resolve();
    await waitFor(() => proxy.of('/leases').length >= 2);
  });

  it('pauses between lease requests if the server answers long polls at once without jobs', async () => {
    const queue = fresh();
    proxy.rule = ({ path }) =>
      path.endsWith('/leases')
        ? proxy.of('/leases').length < 6
          ? { status: 200, body: { jobs: [] } }
          : 'pass'
        : 'pass';
    const { worker } = workerOf(queue, { through: faulty });
    const done = deferred();
    worker.handle(plain(queue), () => done.resolve());
    await client.publish({ queue });
    void worker.run();
    await done.promise;
    const times = proxy.of('/leases').map(({ atMs }) => atMs);
    expect(times[5]! - times[0]!).toBeGreaterThan(30);
  });

  it('pauses longer after each empty answer with waitMs 0', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, waitMs: 0 });
    const done = deferred();
    worker.handle(plain(queue), () => done.resolve());
    void worker.run();
    await sleep(1_500);
    // At least 50, 100, 200, 400 and then 500 ms apart.
    expect(proxy.of('/leases').length).toBeLessThan(9);
    await client.publish({ queue });
    await done.promise;
  });

  it('accepts infinite waits and time limits, also those longer than the longest timer of Node.js', async () => {
    const queue = fresh();
    const patient = clientOf({ retry: { attemptMs: Infinity, withinMs: 2 ** 31 } });
    const endless = { waitMs: Infinity, shutdownGraceMs: 2 ** 31, shutdownAbortMs: Infinity };
    const { worker } = workerOf(queue, { through: patient, ...endless });
    const begun = deferred();
    let isAborted = false;
    worker.handle(plain(queue), async (_job, { signal }) => {
      begun.resolve();
      await sleep(200);
      isAborted = signal.aborted;
    });
    void worker.run();
    const { id } = await patient.publish({ queue, retentionMs: 60_000 });
    await begun.promise;
    await worker.stop();
    expect([isAborted, (await client.jobs.get(id)).state]).toEqual([false, 'done']);
    patient.close();
  });

  it('rejects run() if its token is refused', async () => {
    const wrong = clientOf({ token: 'nonsense' });
    const { worker } = workerOf(fresh(), { through: wrong });
    await expect(worker.run()).rejects.toMatchObject({ code: 'token_invalid' });
    wrong.close();
  });

  it('leases the queues of its handlers if its options name none, also of a handler that is added later', async () => {
    const [a, b, c] = [fresh(), fresh(), fresh()];
    const ran: string[] = [];
    const take: Handler = ({ queue, type }) => void ran.push(`${queue} ${String(type)}`);
    const { worker, log } = workerOf(undefined, { waitMs: 200 });
    worker
      .handle(defineJob({ queue: a, type: 'x' }), take)
      .handle(plain(b), take)
      .handle('*', take);
    await client.publishMany([{ queue: a, type: 'x' }, { queue: a, type: 'y' }, { queue: b }, { queue: c }]);
    void worker.run();
    await waitFor(() => ran.length === 3);
    expect(ran.sort()).toEqual([`${a} x`, `${a} y`, `${b} null`].sort());
    const queuesOf = async (): Promise<unknown> => (await client.workers.get(worker.id)).queues;
    expect(await queuesOf()).toEqual([a, b]);
    worker.handle(plain(c), take);
    await waitFor(() => ran.length === 4);
    expect(ran.at(-1)).toBe(`${c} null`);
    expect(log).toEqual([]);
  });

  it('rejects run() if neither its options nor its handlers name a queue', async () => {
    const { worker } = workerOf(undefined);
    worker.handle('welcome', () => undefined);
    await expect(worker.run()).rejects.toThrow('handle a definition of defineJob, or name `queues`');
  });

  it('warns once of queues without a handler, and of handlers whose queues it does not lease', async () => {
    const [queue, misspelt] = [fresh('mail'), fresh('mial')];
    const { worker, log } = workerOf(misspelt, { waitMs: 50 });
    worker.handle(defineJob({ queue, type: 'welcome' }), () => undefined);
    void worker.run();
    await waitFor(() => client.workers.get(worker.id).catch(() => null));
    await client.publish({ queue: misspelt });
    await waitFor(() => log.length === 3);
    expect(log.slice(0, 2)).toEqual([
      {
        message: 'no handler for jobs of these queues; this worker runs none of them. Is a name misspelt?',
        details: { queues: [misspelt] },
      },
      {
        message: 'these handlers get no jobs: the worker does not lease their queues',
        details: { handlers: [`${queue}/welcome`], queues: [misspelt] },
      },
    ]);
    expect(log[2]?.message).toContain('no handler for jobs of this type');
  });

  it.each<[string, (worker: Worker, queue: string) => unknown]>([
    ['of its queue', (worker, queue) => worker.handle(plain(queue), () => undefined)],
    ['of a type in its queue', (worker, queue) => worker.handle(defineJob({ queue, type: 'a' }), () => 1)],
    ['of a type in any queue', (worker) => worker.handle('welcome', () => undefined)],
    ['of all types', (worker) => worker.handle('*', () => undefined)],
  ])('does not warn with a handler %s', async (_, setUp) => {
    const queue = fresh();
    const { worker, log } = workerOf(queue);
    setUp(worker, queue);
    void worker.run();
    await waitFor(() => client.workers.get(worker.id).catch(() => null));
    expect(log).toEqual([]);
  });

  it('warns in one line with the time, if it has no logger of its own', () => {
    const lines: unknown[][] = [];
    const { warn } = console;
    console.warn = (...line: unknown[]) => void lines.push(line);
    try {
      consoleLogger.warn('beware', { id: 'a' });
    } finally {
      console.warn = warn;
    }
    const [time = '', ...rest] = String(lines[0]?.[0]).split(' ');
    expect([rest.join(' '), lines.length, lines[0]?.length]).toEqual(['pumphouse: beware {"id":"a"}', 1, 1]);
    expect(new Date(time).toISOString()).toBe(time);
  });

  it('refuses invalid options, and a second handler for one type', () => {
    expect(() => client.worker({ queues: [] })).toThrow('queues');
    expect(() => client.worker({ queues: ['q'], concurrency: 0 })).toThrow('concurrency');
    expect(() => client.worker({ queues: ['q'], waitMs: Number.NaN })).toThrow('waitMs');
    const { worker } = workerOf(fresh());
    worker.handle('mail', () => 1);
    expect(() => worker.handle('mail', () => 2)).toThrow('mail');
  });
});

describe('handlers of a client worker', () => {
  it('receive the job as data, text and bytes', async () => {
    const queue = fresh();
    await client.publishMany([
      { queue, json: '{"data":[1,{"jobs":"]}\\"ö"}],"n":12345678901234567890.10}' },
      { queue, json: ' "x" ' },
      { queue, data: Uint8Array.from([255, 0]), contentType: 'image/x' },
      { queue },
    ]);
    const seen: unknown[] = [];
    const { worker } = workerOf(queue, { concurrency: 4 });
    worker.handle(plain(queue), ({ data, text, bytes, contentType, attempts, triesLeft }) => {
      seen.push([data, text, Buffer.from(bytes).toString('latin1'), contentType, attempts, triesLeft]);
    });
    void worker.run();
    await waitFor(() => seen.length === 4);
    const odd = '{"data":[1,{"jobs":"]}\\"\\u00f6"}],"n":12345678901234567890.10}';
    expect(seen).toEqual([
      [{ data: [1, { jobs: ']}"ö' }], n: 12345678901234567000 }, odd, odd, 'application/json', 1, 4],
      ['x', '"x"', '"x"', 'application/json', 1, 4],
      [expect.any(Uint8Array), expect.any(String), 'ÿ\u0000', 'image/x', 1, 4],
      [null, 'null', 'null', 'application/json', 1, 4],
    ]);
  });

  it('receive a job whose copy has all of its fields, and whose JSON has its data', async () => {
    const queue = fresh();
    const input = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ value: 'parsed' }) },
    } as const;
    const parsed = defineJob({ queue, type: 'parsed', input });
    const copies: Record<string, unknown>[] = [];
    const { worker } = workerOf(queue, { concurrency: 3 });
    const take: Handler = (job) => {
      const { id, queue: of } = job;
      copies.push({ ...job }, JSON.parse(JSON.stringify(job)) as Record<string, unknown>);
      expect([id, of]).toEqual([copies.at(-1)?.['id'], queue]);
    };
    worker.handle('json', take).handle('bytes', take).handle(parsed, take);
    await client.publishMany([{ queue, type: 'json', json: '{"to": "ada", "n":1.0}' }]);
    void worker.run();
    await waitFor(() => copies.length === 2);
    await client.publishMany([{ queue, type: 'bytes', data: Uint8Array.of(104, 105) }]);
    await waitFor(() => copies.length === 4);
    await client.publishMany([{ queue, type: 'parsed', data: 1 }]);
    await waitFor(() => copies.length === 6);
    const [copy, json, bytesCopy, , parsedCopy, parsedJson] = copies;
    expect(copy).toMatchObject({ type: 'json', data: { to: 'ada', n: 1 }, text: '{"to": "ada", "n":1.0}' });
    expect(Buffer.from(copy?.['bytes'] as Uint8Array).toString()).toBe('{"to": "ada", "n":1.0}');
    expect(json).toMatchObject({ type: 'json', attempts: 1, data: { to: 'ada', n: 1 } });
    expect(Object.keys(json ?? {})).not.toContain('text');
    expect(bytesCopy).toMatchObject({ text: 'hi', contentType: 'application/octet-stream' });
    expect(parsedCopy).toMatchObject({ data: 'parsed', text: '1' });
    expect(parsedJson).toMatchObject({ data: 'parsed' });
  });

  it('are selected by queue and type, then by type, then by queue, then by *', async () => {
    const queue = fresh();
    const calls: string[] = [];
    const { worker } = workerOf(queue);
    worker.handle(defineJob({ queue, type: 'a' }), () => void calls.push('queue/a'));
    worker.handle('a', () => calls.push('a'));
    worker.handle('b', () => calls.push('b'));
    worker.handle('*', ({ type }) => calls.push(`* ${String(type)}`));
    worker.handle(plain(queue), () => calls.push('queue'));
    await client.publishMany([{ queue, type: 'a' }, { queue, type: 'b' }, { queue, type: 'c' }, { queue }]);
    void worker.run();
    await waitFor(() => calls.length === 4);
    expect(calls.sort()).toEqual(['* c', 'b', 'queue', 'queue/a']);
  });

  it('run inside the middleware, the first middleware outermost, and their results may be replaced', async () => {
    const queue = fresh();
    const calls: string[] = [];
    const { worker } = workerOf(queue);
    const done = deferred();
    worker
      .use(async (job, _, next) => {
        calls.push(`1 ${job.queue === queue ? 'in' : ''}`);
        const result = await next();
        calls.push(`1 out ${String(result)}`);
        done.resolve();
        return 'replaced';
      })
      .use(async (_job, _context, next) => {
        calls.push('2 in');
        return next();
      })
      .handle(plain(queue), () => 'result');
    const { id } = await client.publish({ queue, retentionMs: 60_000 });
    void worker.run();
    await done.promise;
    expect(calls).toEqual(['1 in', '2 in', '1 out result']);
    await waitFor(async () => (await client.jobs.get(id)).state === 'done');
    expect((await client.jobs.get(id)).result?.data).toBe('replaced');
  });

  it('store bytes as results, and move jobs with new data to a next queue', async () => {
    const queue = fresh();
    const other = fresh();
    const { worker } = workerOf(queue);
    worker.handle('bytes', () => Uint8Array.from([255]));
    worker.handle('next', () => new Next({ queue: other, data: { step: 2 } }));
    const [bytes, next] = await client.publishMany([
      { queue, type: 'bytes', retentionMs: 60_000 },
      { queue, type: 'next', data: { step: 1 } },
    ]);
    void worker.run();
    await waitFor(async () => (await client.jobs.get(next!.id)).queue === other);
    expect((await client.jobs.get(next!.id)).data).toEqual({ step: 2 });
    await waitFor(async () => (await client.jobs.get(bytes!.id)).state === 'done');
    expect([...((await client.jobs.get(bytes!.id)).result?.data as Uint8Array)]).toEqual([255]);
  });

  it('store progress and write lines to the log of a job', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue);
    const { id } = await client.publish({ queue, history: true });
    const end = deferred();
    worker.handle(plain(queue), async (_job, { progress, log }) => {
      await Promise.all([progress({ sent: 1 }), progress({ sent: 2 }), progress({ sent: 3 })]);
      await log('half of it', { rows: 1 });
      await log('x'.repeat(1_025));
      await end.promise;
    });
    void worker.run();
    const lines = async (): Promise<unknown[]> =>
      (await client.jobs.get(id)).timeline.filter(({ what }) => what === 'log').map(({ message }) => message);
    await waitFor(async () => (await lines()).length === 2);
    expect(await lines()).toEqual(['half of it', `${'x'.repeat(1_023)}…`]);
    expect((await client.jobs.get(id)).progress).toEqual({ sent: 3 });
    end.resolve();
  });

  it.each<[string, Fault, string]>([
    ['a full Redis', { status: 507, body: { code: 'store_full', detail: 'no room' } }, 'store_full: no room'],
    ['a refusal', { status: 403, body: { code: 'verb_missing', detail: 'no' } }, 'verb_missing: no'],
  ])(
    'may log lines that cannot be stored: the job is done, with one warning (%s)',
    async (_, fault, error) => {
      const queue = fresh();
      const { worker, log } = workerOf(queue, { through: faulty });
      const { id } = await client.publish({ queue, retentionMs: 60_000 });
      proxy.rule = ({ path }) => (path.endsWith('/log') ? fault : 'pass');
      worker.handle(plain(queue), async (_job, context) => {
        await context.log('one');
        await context.log('two', { odd: 1n });
        return 'sent';
      });
      void worker.run();
      await waitFor(async () => (await client.jobs.get(id)).state === 'done');
      expect((await client.jobs.get(id)).result?.data).toBe('sent');
      expect(log).toEqual([
        {
          message: 'a line of the log of a job was not stored',
          details: { id, queue, error: expect.stringContaining(error) as string },
        },
      ]);
    },
  );

  it('receive an error for progress that the server refuses', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue);
    const refusal = deferred<unknown>();
    worker.handle(plain(queue), async (_job, { progress }) => {
      await progress('x'.repeat(100_000)).catch((error: unknown) => refusal.resolve(error));
    });
    await client.publish({ queue });
    void worker.run();
    expect(await refusal.promise).toMatchObject({ status: 400 });
    await waitFor(() => worker.heldCount === 0);
  });
});

describe('outcomes of handlers of a client worker', () => {
  it.each([
    ['an error', () => Promise.reject(new TypeError('odd')), 'scheduled', 'TypeError', 1],
    [
      'an error with a code',
      () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNRESET' })),
      'scheduled',
      'ECONNRESET',
      1,
    ],
    [
      'a thrown text',
      () => {
        // oxlint-disable-next-line typescript/only-throw-error -- handlers do such things
        throw 'text';
      },
      'scheduled',
      'failed',
      1,
    ],
    [
      'Retry',
      () => Promise.reject(new Retry('later', { group: 'smtp', delayMs: 90_000 })),
      'scheduled',
      'smtp',
      1,
    ],
    ['Fail', () => Promise.reject(new Fail('never', { group: 'address' })), 'dead', 'address', 1],
    ['Release', () => Promise.reject(new Release({ delayMs: 60_000 })), 'scheduled', undefined, 0],
    [
      'Retry with a fraction of a millisecond',
      () => Promise.reject(new Retry('later', { delayMs: 1_000 * 1.5 ** 11 })),
      'scheduled',
      'failed',
      1,
    ],
    [
      'Retry with the delay NaN',
      () => Promise.reject(new Retry('x', { delayMs: NaN })),
      'scheduled',
      'failed',
      1,
    ],
    [
      'Retry with the delay Infinity',
      () => Promise.reject(new Retry('x', { delayMs: Infinity })),
      'scheduled',
      'failed',
      1,
    ],
    [
      'Release with a fraction of a millisecond',
      () => Promise.reject(new Release({ delayMs: 60_000.5 })),
      'scheduled',
      undefined,
      0,
    ],
    [
      'half a surrogate pair',
      () => Promise.reject(new Fail('\ud83d', { group: 'a\ude00' })),
      'dead',
      'a\ufffd',
      1,
    ],
    ['an object without text', () => Promise.reject(Object.create(null) as Error), 'scheduled', 'failed', 1],
    ['nothing', () => Promise.reject(undefined as unknown as Error), 'scheduled', 'failed', 1],
    [
      'an error whose name and stack are no texts',
      () => Promise.reject(Object.assign(new Error('x'), { name: 5, stack: { odd: 1 } })),
      'scheduled',
      '5',
      1,
    ],
    [
      'a group and a message that are no texts',
      () => Promise.reject(Object.assign(new Fail('x'), { group: { odd: 1 }, message: 5 })),
      'dead',
      '{"odd":1}',
      1,
    ],
    [
      'an error that cannot be read',
      () => {
        const { proxy: revoked, revoke } = Proxy.revocable(new Error('x'), {});
        revoke();
        return Promise.reject(revoked);
      },
      'scheduled',
      'failed',
      1,
    ],
    [
      'an error whose fields throw',
      () =>
        Promise.reject(
          Object.defineProperty(new Retry('x', { delayMs: 1 }), 'delayMs', {
            get: () => {
              throw new Error('odd');
            },
          }),
        ),
      'scheduled',
      'failed',
      1,
    ],
    ['a deep result', () => deep(100), 'dead', 'invalid_outcome', 1],
    ['a result too deep to write', () => deep(100_000), 'dead', 'invalid_outcome', 1],
    ['an invalid next queue', () => new Next({ queue: 'no queue' }), 'dead', 'invalid_outcome', 1],
    [
      'bytes of an invalid content type',
      () => new Bytes(Buffer.from('x'), 'ä'),
      'dead',
      'invalid_outcome',
      1,
    ],
  ])('settle the job of a handler that throws or returns %s', async (_, handler, state, group, failures) => {
    const queue = fresh();
    const { worker } = workerOf(queue);
    worker.handle(plain(queue), handler);
    const { id } = await client.publish({ queue, retry: { kind: 'fixed', delayMs: 60_000 } });
    void worker.run();
    await waitFor(async () => (await client.jobs.get(id)).state === state);
    const job = await client.jobs.get(id);
    expect([job.failure?.group, job.failures, job.triesLeft]).toEqual([
      group,
      failures,
      group === undefined ? 5 : 4,
    ]);
    expect(worker.heldCount).toBe(0);
  });

  it.each<[string, unknown, string, string]>([
    ['a message and a code', { code: 'E_SMTP', message: 'no answer' }, 'E_SMTP', 'no answer'],
    ['a message', { message: 'no answer', status: 500 }, 'failed', 'no answer'],
    ['no message', { status: 500 }, 'failed', '{"status":500}'],
    ['no prototype', Object.assign(Object.create(null) as object, { a: 1 }), 'failed', '{"a":1}'],
    ['a list', [{ a: 1 }, 'b'], 'failed', '[{"a":1},"b"]'],
    ['no JSON', { n: 1n }, 'failed', '[object Object]'],
    ['a message that is too long', { message: 'x'.repeat(20_000) }, 'failed', `${'x'.repeat(16_383)}…`],
  ])('show a thrown object in the failure: %s', async (_, thrown, group, message) => {
    const queue = fresh();
    const { worker } = workerOf(queue);
    worker.handle(plain(queue), () => Promise.reject(thrown as Error));
    const { id } = await client.publish({ queue, tries: 1 });
    void worker.run();
    await waitFor(async () => (await client.jobs.get(id)).state === 'dead');
    expect((await client.jobs.get(id)).failure).toMatchObject({ group, message });
  });

  it('fail jobs with the groups invalid_input and invalid_output, and run no handler for invalid input', async () => {
    const queue = fresh();
    const refuse = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'must be ok' }] }) },
    } as const;
    const { worker } = workerOf(queue);
    let calls = 0;
    worker.handle(defineJob({ queue, type: 'in', input: refuse }), () => {
      calls++;
    });
    worker.handle(defineJob({ queue, type: 'out', output: refuse }), () => 1);
    const [a, b] = await client.publishMany([
      { queue, type: 'in' },
      { queue, type: 'out' },
    ]);
    void worker.run();
    await waitFor(async () => (await counts(queue))['dead'] === 2);
    expect((await client.jobs.get(a!.id)).failure).toMatchObject({
      group: 'invalid_input',
      message: 'invalid_input: value: must be ok',
    });
    expect((await client.jobs.get(b!.id)).failure).toMatchObject({ group: 'invalid_output' });
    expect(calls).toBe(0);
  });

  it('fail a job whose result cannot be stored, and acknowledge other jobs of its batch', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { concurrency: 3 });
    const together = deferred();
    let count = 0;
    worker.handle(plain(queue), async ({ data }) => {
      if (++count === 3) together.resolve();
      await together.promise;
      return data === 1 ? 'x'.repeat(100_000) : data === 2 ? { circular: 1n } : 'ok';
    });
    const jobs = await client.publishMany([0, 1, 2].map((data) => ({ queue, data, retentionMs: 60_000 })));
    void worker.run();
    await waitFor(() => count === 3 && worker.heldCount === 0, 5_000);
    const ended = await Promise.all(jobs.map(({ id }) => client.jobs.get(id)));
    expect(ended.map(({ state, failure }) => [state, failure?.group])).toEqual([
      ['done', undefined],
      ['dead', 'invalid_outcome'],
      ['dead', 'invalid_output'],
    ]);
  });

  it.each<[string, () => Error, string, object]>([
    ['retry', () => new Retry('x', { delayMs: 1 }), 'scheduled', { group: 'invalid_outcome' }],
    ['fail', () => new Fail('x'), 'dead', { group: 'invalid_outcome' }],
    ['release', () => new Release({ delayMs: 60_000 }), 'ready', {}],
  ])(
    'settle a job by a second call without the part that the server refused: %s',
    async (call, make, state, failure) => {
      const queue = fresh();
      const { worker, log } = workerOf(queue, { through: faulty });
      worker.handle(plain(queue), () => {
        worker.quiet();
        throw make();
      });
      const { id } = await client.publish({ queue, retry: { kind: 'fixed', delayMs: 60_000 } });
      proxy.next(`/${call}`, { status: 400, body: { code: 'invalid_argument', detail: 'no' } });
      void worker.run();
      await waitFor(
        async () => (await client.jobs.get(id)).state === state && proxy.of(`/${call}`).length === 2,
      );
      expect((await client.jobs.get(id)).failure ?? {}).toMatchObject(failure);
      expect(besidesFailures(log)).toEqual(['the outcome of a job was refused; it is settled without it']);
    },
  );

  it('write a line with the job and the group of the failure for each failed attempt, without the message', async () => {
    const queue = fresh();
    const { worker, log } = workerOf(queue);
    const outcomes = [new Error('refused'), new Release(), new Fail('refused', { group: 'smtp' })];
    worker.handle(plain(queue), () => Promise.reject(outcomes.shift()!));
    const retry = { kind: 'fixed', delayMs: 0 } as const;
    const { id } = await client.publish({ queue, tries: 3, retry });
    void worker.run();
    await waitFor(async () => (await client.jobs.get(id)).state === 'dead');
    const job = { id, queue, type: null };
    expect(log).toEqual([
      {
        message: 'an attempt at a job failed',
        details: { ...job, attempt: 1, triesLeft: 2, group: 'Error' },
      },
      {
        message: 'a job failed and is not tried again',
        details: { ...job, attempt: 2, triesLeft: 1, group: 'smtp' },
      },
    ]);
  });

  it('fail a job whose data cannot be read, and run the other jobs of the same lease answer', async () => {
    const queue = fresh();
    const ran: unknown[] = [];
    const { worker } = workerOf(queue, { through: faulty, concurrency: 5 });
    worker.handle(plain(queue), ({ data, text }) => {
      ran.push([data, text]);
    });
    const jobs = await client.publishMany(
      [{ n: 1 }, 'poison', ['"', { b: ']' }], Buffer.from('bytes'), 4].map((data) => ({ queue, data })),
    );
    proxy.change = (text) =>
      text.replace('"data":"poison"', '"data":{"a":[01,"}"]}').replace('Ynl0ZXM=', '!?');
    void worker.run();
    await waitFor(async () => (await counts(queue))['dead'] === 2 && ran.length === 3);
    expect(ran).toEqual(
      expect.arrayContaining([
        [{ n: 1 }, '{"n":1}'],
        [['"', { b: ']' }], '["\\"",{"b":"]"}]'],
        [4, '4'],
      ]),
    );
    for (const at of [1, 3]) {
      expect((await client.jobs.get(jobs[at]!.id)).failure).toMatchObject({ group: 'invalid_data' });
    }
  });

  it('pass JSON to the handler although the server sends it in base64 because it is nested deeply', async () => {
    const queue = fresh();
    const seen = deferred<unknown[]>();
    const { worker } = workerOf(queue);
    worker.handle(plain(queue), ({ data, text }) => seen.resolve([JSON.stringify(data), text]));
    const text = '['.repeat(100) + ']'.repeat(100);
    await client.publish({ queue, data: Buffer.from(text), contentType: 'application/json' });
    void worker.run();
    expect(await seen.promise).toEqual([text, text]);
  });

  it('release a job without a handler for about a second, and log one line for two jobs of a type', async () => {
    const queue = fresh();
    proxy.next('/leases', formatTooOld);
    const { worker, log } = workerOf(queue, { through: faulty });
    worker.handle('known', () => 1);
    const jobs = await client.publishMany([
      { queue, type: 'new' },
      { queue, type: 'new' },
    ]);
    void worker.run();
    await waitFor(async () => (await counts(queue))['scheduled'] === 2);
    const job = await client.jobs.get(jobs[0]!.id);
    expect([job.triesLeft, job.failures]).toEqual([5, 0]);
    expect(Date.parse(job.dueAt!) - Date.parse(job.noHandler!.at)).toBeLessThan(1_100);
    expect(job.noHandler).toMatchObject({ count: 1, worker: worker.id });
    expect(job.timeline.at(-1)).toMatchObject({ what: 'released', reason: 'no_handler', worker: worker.id });
    expect(log).toEqual([
      expect.objectContaining({ message: expect.stringContaining('cannot lease by type') as string }),
      {
        message: expect.stringContaining('no handler') as string,
        details: { queue, type: 'new', reason: 'no_handler' },
      },
    ]);
  });

  it('release a job without a handler for the unhandledDelayMs of the worker', async () => {
    const queue = fresh();
    workerOf(queue, { unhandledDelayMs: 90_000 })
      .worker.run()
      .catch(() => undefined);
    const { id } = await client.publish({ queue });
    await waitFor(async () => (await counts(queue))['scheduled'] === 1);
    const job = await client.jobs.get(id);
    expect(Date.parse(job.dueAt!) - Date.parse(job.noHandler!.at)).toBeGreaterThan(80_000);
  });

  it('release a job without a handler for a minute on a server without release reasons', async () => {
    const queue = fresh();
    const refusal = { status: 400, body: { code: 'invalid_argument', title: 'unknown field', detail: '' } };
    proxy.rule = ({ path, body }) =>
      path.endsWith('/release') && body.includes('reason') ? refusal : 'pass';
    const { worker, log } = workerOf(queue, { through: faulty });
    void worker.run();
    const { id } = await client.publish({ queue });
    await waitFor(async () => (await counts(queue))['scheduled'] === 1);
    const job = await client.jobs.get(id);
    expect(Date.parse(job.dueAt!) - Date.now()).toBeGreaterThan(50_000);
    expect(log.map(({ message }) => message)).toEqual([
      expect.stringContaining('jobs of these queues'),
      expect.stringContaining('jobs of this type'),
    ]);
  });
});

describe('settle calls of a client worker', () => {
  it('contain the acks of 50 jobs in one request', async () => {
    const queue = fresh();
    await client.publishMany(Array.from({ length: 50 }, () => ({ queue })));
    const { worker } = workerOf(queue, { through: faulty, concurrency: 50 });
    worker.handle(plain(queue), () => undefined);
    void worker.run();
    await waitFor(() => proxy.of('/acks').length > 0 && worker.heldCount === 0);
    expect(proxy.of('/acks')).toHaveLength(1);
  });

  it('repeat acks after a lost answer, a 503 and a reset connection, without a warning', async () => {
    const queue = fresh();
    await client.publishMany([{ queue }, { queue, retentionMs: 60_000 }]);
    proxy.next('/acks', 'lose', { status: 503 }, 'drop');
    const { worker, log } = workerOf(queue, { through: faulty });
    worker.handle(plain(queue), () => undefined);
    void worker.run();
    await waitFor(() => proxy.of('/acks').length === 4 && worker.heldCount === 0, 5_000);
    expect(log).toEqual([]);
    expect(await counts(queue)).toMatchObject({ ready: 0, leased: 0, scheduled: 0 });
  });

  it.each<[string, Handler, string, object]>([
    ['an ack', () => 'sent', '/acks', { status: 200, body: { results: [{ status: 'store_full' }] } }],
    [
      'a retry',
      () => Promise.reject(new Error('no')),
      '/retry',
      { status: 507, body: { code: 'store_full' } },
    ],
  ])(
    'are repeated while Redis has no room, with one warning for the job: %s',
    async (_, handler, path, fault) => {
      const queue = fresh();
      const { worker, log } = workerOf(queue, { through: faulty });
      const { id } = await client.publish({ queue, retentionMs: 60_000 });
      proxy.rule = (request) =>
        request.path.endsWith(path) && proxy.of(path).length < 4 ? (fault as Fault) : 'pass';
      worker.handle(plain(queue), handler);
      void worker.run();
      await waitFor(() => proxy.of(path).length === 4 && worker.heldCount === 0);
      expect((await client.jobs.get(id)).state).not.toBe('leased');
      const warning = 'the outcome of a job cannot be stored yet; the worker keeps the job and tries again';
      expect(besidesFailures(log)).toEqual([warning]);
      expect(log).toContainEqual({ message: warning, details: { id, queue, reason: 'store_full' } });
    },
  );

  it.each<[string, Handler, string, string]>([
    ['an ack', () => 'sent', '/acks', 'done'],
    ['a retry', () => Promise.reject(new Retry('no', { delayMs: 60_000 })), '/retry', 'scheduled'],
    ['a fail', () => Promise.reject(new Fail('no', { group: 'smtp' })), '/fail', 'dead'],
  ])(
    'are repeated after 404, 403 and 401 of a proxy, with one warning for the job: %s',
    async (_, handler, path, state) => {
      const queue = fresh();
      const { worker, log } = workerOf(queue, { through: faulty });
      const { id } = await client.publish({ queue, retentionMs: 60_000 });
      proxy.next(path, ...[404, 403, 401].map((status) => ({ status, text: '{"code":1}' })));
      worker.handle(plain(queue), handler);
      void worker.run();
      await waitFor(() => proxy.of(path).length > 0 && worker.heldCount === 0);
      expect(proxy.of(path)).toHaveLength(4);
      const job = await client.jobs.get(id);
      expect([job.state, job.failure?.group === 'invalid_outcome']).toEqual([state, false]);
      const warning = 'the outcome of a job cannot be stored yet; the worker keeps the job and tries again';
      expect(besidesFailures(log)).toEqual([warning]);
      expect(log).toContainEqual({ message: warning, details: { id, queue, reason: 'http_404' } });
    },
  );

  it('are repeated for the time of one lease only while a proxy refuses them', async () => {
    const queue = fresh();
    const { worker, log } = workerOf(queue, { through: faulty, ttrMs: 500 });
    const { id } = await client.publish({ queue, tries: 1 });
    proxy.rule = ({ path }) => (path.endsWith('/acks') ? { status: 403, text: 'no' } : 'pass');
    worker.handle(plain(queue), () => 'sent');
    void worker.run();
    await waitFor(() => log.some(({ message }) => message.includes('could not be settled')), 10_000);
    await waitFor(async () => (await client.jobs.get(id)).state === 'dead');
    expect((await client.jobs.get(id)).failures).toBe(0);
    expect(proxy.of('/fail')).toEqual([]);
  });

  it('fail the job if a proxy takes no body of its size', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty });
    const { id } = await client.publish({ queue });
    proxy.next('/acks', { status: 413, text: 'too large' });
    worker.handle(plain(queue), () => 'sent');
    void worker.run();
    await waitFor(async () => (await client.jobs.get(id)).state === 'dead');
    expect((await client.jobs.get(id)).failure?.group).toBe('invalid_outcome');
  });

  it('lead to a warning for each job that is gone or has another lease', async () => {
    const queue = fresh();
    const [gone, released] = await client.publishMany([{ queue }, { queue }, { queue }]);
    const { worker, log } = workerOf(queue);
    const release = deferred();
    let begun = 0;
    worker.handle(plain(queue), async ({ id, lease }) => {
      if (++begun === 3) release.resolve();
      await release.promise;
      if (id === gone!.id) await client.driver.ack([{ id, queue, lease }]);
      if (id === released!.id) await client.driver.release({ id, queue, lease }, { delayMs: 60_000 });
    });
    void worker.run();
    await waitFor(() => begun === 3 && worker.heldCount === 0);
    expect(log.map(({ message, details }) => [details['id'], message]).sort()).toEqual([
      [gone!.id, expect.stringContaining('gone before it was settled')],
      [released!.id, expect.stringContaining('lost before it was settled')],
    ]);
  });

  it.each(['release', 'retry', 'fail'])(
    'repeat %s after a lost answer, and the job is settled once',
    async (what) => {
      const queue = fresh();
      const { id } = await client.publish({ queue });
      proxy.next(`/${what}`, 'lose');
      const { worker, log } = workerOf(queue, { through: faulty });
      const errors = {
        release: new Release({ delayMs: 60_000 }),
        retry: new Retry('x', { delayMs: 60_000 }),
        fail: new Fail('x'),
      };
      worker.handle(plain(queue), () => Promise.reject(errors[what as keyof typeof errors]));
      void worker.run();
      await waitFor(() => proxy.of(`/${what}`).length === 2 && worker.heldCount === 0, 5_000);
      expect((await client.jobs.get(id)).failures).toBe(what === 'release' ? 0 : 1);
      expect(besidesFailures(log)).toEqual([]);
      expect(log).toHaveLength(what === 'release' ? 0 : 1);
    },
  );
});

describe('sessions of client workers', () => {
  const listed = async (id: string) =>
    (await client.workers.list({ limit: 1_000 })).items.find(({ name }) => name === id);

  it('are listed separately for two workers of the same name, from their start to their end', async () => {
    const queue = fresh();
    const options = { name: 'Mail er/1', concurrency: 3 };
    const [one, other] = [workerOf(queue, options).worker, workerOf(queue, options).worker];
    void one.run();
    void other.run();
    await waitFor(async () => (await listed(one.id)) !== undefined && (await listed(other.id)) !== undefined);
    expect(one.id).not.toBe(other.id);
    expect(await listed(one.id)).toMatchObject({
      ...{
        displayName: 'Mail er/1',
        host: hostname(),
        pid: process.pid,
        language: 'javascript',
        version: VERSION,
      },
      ...{ queues: [queue], concurrency: 3, jobsAtHand: 0, quiet: false, stop: false, lost: false },
    });
    await one.stop();
    expect(await listed(one.id)).toBeUndefined();
    expect(await listed(other.id)).toBeDefined();
  });

  it('extend the leases of 20 jobs with one heartbeat', async () => {
    const queue = fresh();
    const end = deferred();
    await client.publishMany(Array.from({ length: 20 }, () => ({ queue })));
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS, concurrency: 20 });
    let calls = 0;
    worker.handle(plain(queue), () => {
      calls++;
      return end.promise;
    });
    void worker.run();
    await waitFor(() => calls === 20);
    const before = heartbeats();
    for (let i = 0; i < 4; i++) await nextHeartbeat();
    expect(heartbeats() - before).toBe(4);
    for (const { body } of proxy.of('/heartbeat').slice(before))
      expect((JSON.parse(body) as { leases: unknown[] }).leases).toHaveLength(20);
    expect(calls).toBe(20);
    end.resolve();
    await waitFor(async () => (await counts(queue))['leased'] === 0);
    expect(calls).toBe(20);
  });

  it('are not listed after stop(), although a heartbeat was in flight', async () => {
    proxy.next('/heartbeat', { afterMs: 200 });
    const { worker } = workerOf(fresh(), { through: faulty });
    void worker.run();
    await waitFor(() => proxy.of('/heartbeat').length === 1);
    await worker.stop();
    await sleep(250);
    expect(await listed(worker.id)).toBeUndefined();
  });

  it('end their jobs, lease no more jobs and stay listed after workers.quiet', async () => {
    const queue = fresh();
    const end = deferred();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS, concurrency: 2 });
    const seen: unknown[] = [];
    worker.handle(plain(queue), async ({ data }) => {
      seen.push(data);
      await end.promise;
    });
    void worker.run();
    const { id } = await client.publish({ queue, data: 1, retentionMs: 60_000 });
    await waitFor(() => seen.length === 1);
    await client.workers.quiet(worker.id);
    await waitFor(async () => (await listed(worker.id))?.quiet === true);
    // The second one is sent when the first one is answered.
    for (let i = 0; i < 2; i++) await nextHeartbeat();
    await client.publish({ queue, data: 2 });
    end.resolve();
    await waitFor(async () => (await client.jobs.get(id)).state === 'done');
    await sleep(300);
    expect(seen).toEqual([1]);
    expect(await counts(queue)).toMatchObject({ ready: 1, leased: 0 });
    expect((await listed(worker.id))?.lost).toBe(false);
  });

  it('end with their jobs done after workers.stop', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS, shutdownGraceMs: 60_000 });
    const started = deferred();
    worker.handle(plain(queue), async () => {
      started.resolve();
      await sleep(300);
      return 'ended';
    });
    let isRunning = true;
    void worker.run().then(() => (isRunning = false));
    const { id } = await client.publish({ queue, retentionMs: 60_000 });
    await started.promise;
    await client.workers.stop(worker.id);
    await nextHeartbeat();
    await waitFor(() => !isRunning);
    expect((await client.jobs.get(id)).result?.data).toBe('ended');
    expect(await listed(worker.id)).toBeUndefined();
  });

  it('are replaced by a heartbeat for each lease on a server without sessions', async () => {
    const queue = fresh();
    await client.publishMany([{ queue }, { queue }]);
    const notFound = { status: 404, body: { code: 'not_found', detail: 'there is no such call' } };
    proxy.rule = ({ path }) => (path.includes('/workers/') ? notFound : 'pass');
    const { worker, log } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    const end = deferred();
    const results: boolean[] = [];
    worker.handle(plain(queue), async (_job, { signal }) => {
      await end.promise;
      results.push(signal.aborted);
    });
    void worker.run();
    await waitFor(() => worker.heldCount === 2);
    for (let i = 0; i < 4; i++) {
      const sent = heartbeats('/jobs/');
      await nextHeartbeat();
      await waitFor(() => heartbeats('/jobs/') >= sent + 2);
    }
    end.resolve();
    await waitFor(() => results.length === 2, 20_000);
    await waitFor(async () => (await counts(queue))['leased'] === 0);
    expect(results).toEqual([false, false]);
    expect(await counts(queue)).toMatchObject({ ready: 0, scheduled: 0 });
    // On a busy machine it may also log that its event loop was blocked.
    expect(log.filter(({ message }) => !message.startsWith('the event loop was blocked'))).toEqual([]);
  });

  it('are listed again with the next heartbeat after workers.delete, and lose no lease', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    const end = deferred();
    const results: boolean[] = [];
    worker.handle(plain(queue), async (_job, { signal }) => {
      await end.promise;
      results.push(signal.aborted);
    });
    void worker.run();
    const { id } = await client.publish({ queue });
    await waitFor(() => worker.heldCount === 1);
    await waitFor(async () => (await listed(worker.id)) !== undefined);
    await client.workers.delete(worker.id);
    await nextHeartbeat(id);
    await waitFor(async () => (await listed(worker.id))?.displayName === 'worker');
    for (let i = 0; i < 3; i++) await nextHeartbeat(id);
    end.resolve();
    await waitFor(() => results.length === 1);
    expect(results).toEqual([false]);
  });

  it('log refused heartbeats once, and only while they have leases', async () => {
    const queue = fresh();
    const refused = { status: 400, body: { code: 'invalid_argument', detail: 'no' } };
    proxy.rule = ({ path }) => (path.includes('/workers/') ? refused : 'pass');
    const { worker, log } = workerOf(queue, { through: faulty, ttrMs: 600 });
    const end = deferred();
    worker.handle(plain(queue), () => end.promise);
    void worker.run();
    await waitFor(() => proxy.of('/heartbeat').length > 1);
    expect(log).toEqual([]);

    await client.publish({ queue });
    const warnings = (): string[] =>
      log.map(({ message }) => message).filter((text) => text.includes('heartbeats'));
    await waitFor(() => warnings().length > 0);
    const sent = proxy.of('/heartbeat').length;
    await waitFor(() => proxy.of('/heartbeat').length > sent + 1);
    end.resolve();
    expect(warnings()).toEqual(['the heartbeats of this worker are refused: its leases will end']);
  });
});

describe('heartbeats of a client worker', () => {
  it('extend a lease for longer than its duration while its handler runs', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    const end = deferred();
    let calls = 0;
    worker.handle(plain(queue), async (_job, { signal }) => {
      calls++;
      await end.promise;
      return signal.aborted;
    });
    const { id } = await client.publish({ queue, retentionMs: 60_000 });
    void worker.run();
    await waitFor(() => calls === 1);
    const endsAt = async (): Promise<number> => Date.parse((await client.jobs.get(id)).leaseEndsAt ?? '');
    // More than the lease lasts.
    for (let i = 0; i < 4; i++) {
      const before = await endsAt();
      await nextHeartbeat(id);
      await waitFor(async () => (await endsAt()) > before);
    }
    expect(heartbeats(id)).toBe(4);
    end.resolve();
    await waitFor(() => worker.heldCount === 0, 5_000);
    expect((await client.jobs.get(id)).result?.data).toBe(false);
    expect(calls).toBe(1);
  });

  it('continue while an ack has no answer', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue });
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    const answer = deferred();
    proxy.rule = ({ path }) => (path.endsWith('/acks') ? { after: answer.promise } : 'pass');
    let calls = 0;
    worker.handle(plain(queue), () => {
      calls++;
    });
    void worker.run();
    await waitFor(() => proxy.of('/acks').length === 1);
    for (let i = 0; i < 4; i++) await nextHeartbeat(id);
    answer.resolve();
    await waitFor(() => worker.heldCount === 0);
    expect(await counts(queue)).toMatchObject({ ready: 0, leased: 0 });
    expect(calls).toBe(1);
  });

  it('are sent again soon after a reset connection, and keep the lease', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue, retentionMs: 60_000 });
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    const end = deferred();
    worker.handle(plain(queue), async (_job, { signal }) => {
      await end.promise;
      return signal.aborted;
    });
    let lost = 0;
    proxy.rule = ({ path, body }) =>
      path.endsWith('/heartbeat') && body.includes(id) && lost++ % 3 < 2 ? 'drop' : 'pass';
    void worker.run();
    await waitFor(() => worker.heldCount === 1);
    // More than the lease lasts; two of three heartbeats are lost.
    for (let i = 0; i < 9; i++) await nextHeartbeat(id, i % 3 === 0 ? 0.37 : 0.06);
    end.resolve();
    await waitFor(() => worker.heldCount === 0, 5_000);
    expect(await client.jobs.get(id)).toMatchObject({ attempts: 1, result: { data: false } });
  });

  it.each([
    ['lease_lost by a revoke', 'returns'],
    ['lease_lost by a revoke', 'throws'],
    ['job_not_found after it was deleted', 'returns'],
  ])(
    'abort the signal of the handler after %s, and the job is not settled when the handler then %s',
    async (how, ending) => {
      const queue = fresh();
      const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS, concurrency: 1 });
      const seen = deferred<string>();
      let calls = 0;
      worker.handle(plain(queue), async (_job, { signal }) => {
        if (calls++ > 0) return;
        seen.resolve(await aborted(signal));
        if (ending === 'throws') throw new Error('the lease is lost');
      });
      const { id } = await client.publish({ queue });
      void worker.run();
      await waitFor(() => calls === 1);
      if (how.startsWith('lease')) {
        await client.queues.pause(queue);
        await client.jobs.revoke(id);
      } else await client.jobs.delete(id, { force: true });
      await nextHeartbeat(id);
      expect(await seen.promise).toBe('lease_lost');
      await waitFor(() => worker.heldCount === 0);
      await sleep(50);
      expect(settled()).toEqual([]);
    },
  );

  it('abort the signal of the handler after 80 % of the lease without an answer, and the job is released if the handler then fails', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    let code = '';
    let begunMs = 0;
    let endedMs = 0;
    worker.handle(plain(queue), async (_job, { signal }) => {
      begunMs = clock.nowMs();
      const reason = await aborted(signal);
      endedMs = clock.nowMs();
      await client.queues.pause(queue);
      code = reason;
      signal.throwIfAborted();
    });
    proxy.rule = ({ path }) => (path.endsWith('/heartbeat') ? 'drop' : 'pass');
    const beforeMs = clock.nowMs();
    const { id } = await client.publish({ queue });
    void worker.run();
    await waitFor(() => begunMs > 0);
    passTime(TTR_MS * 0.7);
    const nextTickMs = TTR_MS / 60;
    await waitFor(
      () => {
        if (endedMs === 0) passTime(nextTickMs);
        return code !== '';
      },
      2_000,
      nextTickMs,
    );
    expect(code).toBe('lease_unconfirmed');
    expect(endedMs - beforeMs).toBeGreaterThan(TTR_MS * 0.8);
    expect(endedMs - begunMs).toBeLessThan(TTR_MS);
    await waitFor(() => worker.heldCount === 0);
    expect(settled()).toEqual(['release']);
    expect(await client.jobs.get(id)).toMatchObject({ state: 'ready', triesLeft: 5, failures: 0 });
  });

  it('prevent a handler from beginning if they have no answer and its lease may have ended, and its job is released', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: 2_000 });
    let calls = 0;
    worker.handle(plain(queue), () => {
      calls++;
    });
    proxy.rule = ({ path }) => (path.endsWith('/heartbeat') ? 'hang' : 'pass');
    // As the driver for Redis alone does; it takes longer than the lease.
    const begin = async (): Promise<void> => {
      await client.queues.pause(queue);
      await sleep(2_500);
    };
    Object.assign(faulty.driver, { begin });
    try {
      const { id } = await client.publish({ queue });
      void worker.run();
      await waitFor(() => settled().length > 0);
      await waitFor(() => worker.heldCount === 0);
      expect(calls).toBe(0);
      expect(await client.jobs.get(id)).toMatchObject({ state: 'ready', failures: 0 });
    } finally {
      Reflect.deleteProperty(faulty.driver, 'begin');
    }
  });

  it('deliver the request to cancel a job, and the job is cancelled if its handler throws and done if its handler returns', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    let calls = 0;
    worker.handle('stops', async (_job, { signal }) => {
      calls++;
      await aborted(signal);
      signal.throwIfAborted();
    });
    worker.handle('ends', async (_job, { signal }) => {
      calls++;
      return aborted(signal);
    });
    const [stops, ends] = await client.publishMany([
      { queue, type: 'stops', retentionMs: 60_000 },
      { queue, type: 'ends', retentionMs: 60_000 },
    ]);
    void worker.run();
    await waitFor(() => calls === 2);
    expect((await client.jobs.cancel(stops!.id)).outcome).toBe('requested');
    await client.jobs.cancel(ends!.id);
    await nextHeartbeat();
    await waitFor(() => worker.heldCount === 0);
    expect(await client.jobs.get(stops!.id)).toMatchObject({ state: 'cancelled' });
    expect(await client.jobs.get(ends!.id)).toMatchObject({ state: 'done', result: { data: 'cancelled' } });
    expect(calls).toBe(2);
  });

  it('are late if a handler blocks the event loop, and the log names that handler', async () => {
    const queue = fresh();
    const { worker, log } = workerOf(queue, { ttrMs: TTR_MS });
    const block = (): void => passTime(TTR_MS * 0.2);
    worker.handle('at-once', block);
    worker.handle('later', async () => {
      await sleep(30);
      block();
      await waitFor(() => log.length === 1);
    });
    worker.handle('innocent', () => undefined);
    void worker.run();
    for (const type of ['at-once', 'later']) {
      log.length = 0;
      await client.publish({ queue, type });
      await waitFor(() => log.length === 1);
      expect(log[0]).toMatchObject({
        message: expect.stringContaining('blocked') as string,
        details: { handlers: [type] },
      });
      expect(log[0]!.details['blockedMs']).toBeGreaterThan(TTR_MS * 0.19);
      await waitFor(() => worker.heldCount === 0);
      // Until the tick after it, a block is one with the next.
      await sleep(TTR_MS / 30);
    }
    log.length = 0;
    await client.publish({ queue, type: 'innocent' });
    await sleep(100);
    expect(log).toEqual([]);
  });
});

describe('stop() of a client worker', () => {
  it('ends leasing, waits for running handlers with heartbeats, and releases jobs whose handlers have not begun', async () => {
    const queue = fresh();
    await client.publishMany([
      { queue, data: 0 },
      { queue, data: 1 },
    ]);
    const { worker } = workerOf(queue, {
      through: faulty,
      concurrency: 1,
      prefetch: 1,
      ttrMs: TTR_MS,
      shutdownGraceMs: 2 * TTR_MS,
    });
    const begun = deferred();
    const end = deferred();
    let calls = 0;
    let wasAborted = true;
    worker.handle(plain(queue), async (_job, { signal }) => {
      calls++;
      begun.resolve();
      await end.promise;
      wasAborted = signal.aborted;
    });
    void worker.run();
    await begun.promise;
    await waitFor(() => worker.heldCount === 2);
    const stopped = worker.stop();
    const leases = proxy.of('/leases').length;
    await waitFor(async () => (await counts(queue))['ready'] === 1);
    await client.publish({ queue });
    for (let i = 0; i < 4; i++) await nextHeartbeat();
    end.resolve();
    await stopped;
    expect([calls, wasAborted, worker.heldCount]).toEqual([1, false, 0]);
    expect(proxy.of('/leases')).toHaveLength(leases);
    expect(await counts(queue)).toMatchObject({ ready: 2, leased: 0 });
    expect((await client.jobs.list({ queue })).items.map(({ triesLeft }) => triesLeft)).toEqual([5, 5]);
  });

  it('aborts handlers after shutdownGraceMs, and releases their jobs without using a try', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue });
    const { worker } = workerOf(queue, { shutdownGraceMs: 150 });
    const begun = deferred();
    let code = '';
    worker.handle(plain(queue), async (_job, { signal }) => {
      begun.resolve();
      code = await aborted(signal);
      signal.throwIfAborted();
    });
    void worker.run();
    await begun.promise;
    const beginMs = performance.now();
    await worker.stop();
    expect(performance.now() - beginMs).toBeGreaterThan(145);
    expect(code).toBe('shutdown');
    expect(await client.jobs.get(id)).toMatchObject({ state: 'ready', triesLeft: 5, failures: 0 });
  });

  it('releases the job of a handler that ignores its signal, and ignores the late result of the handler', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue });
    const { worker } = workerOf(queue, { through: faulty, shutdownGraceMs: 50, shutdownAbortMs: 50 });
    const begun = deferred();
    const end = deferred();
    worker.handle(plain(queue), () => {
      begun.resolve();
      return end.promise;
    });
    void worker.run();
    await begun.promise;
    await worker.stop();
    expect(await client.jobs.get(id)).toMatchObject({ state: 'ready', triesLeft: 5 });
    end.resolve();
    await sleep(50);
    expect(settled()).toEqual(['release']);
  });

  it('ends an idle long poll within a second, and loses no job that is published meanwhile', async () => {
    for (let round = 0; round < 10; round++) {
      const queue = fresh();
      const { worker } = workerOf(queue, { waitMs: 20_000 });
      let calls = 0;
      worker.handle(plain(queue), () => {
        calls++;
      });
      void worker.run();
      await sleep(30);
      const published = client.publish({ queue });
      await sleep(round * 0.7);
      const time = new OwnTime();
      await worker.stop();
      expect(time.end()).toBeLessThan(1_000);
      await published;
      await waitFor(async () => {
        const { ready, leased } = await counts(queue);
        return leased === 0 && ready === 1 - calls;
      });
    }
  });

  it('may be awaited in a handler of the worker, and the job of that handler is done', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue, retentionMs: 60_000 });
    const { worker, log } = workerOf(queue, { shutdownGraceMs: 20_000 });
    let calls = 0;
    worker.handle(plain(queue), async () => {
      calls++;
      await sleep(1);
      await worker.stop();
      return 'stopped';
    });
    const end = worker.run();
    await end;
    expect(await client.jobs.get(id)).toMatchObject({
      state: 'done',
      attempts: 1,
      result: { data: 'stopped' },
    });
    expect([calls, log]).toEqual([1, []]);
  });

  it('waits for running handlers if a handler of another worker calls it', async () => {
    const [queue, other] = [fresh(), fresh()];
    const { worker: long } = workerOf(other, { shutdownGraceMs: 20_000 });
    const begun = deferred();
    let hasEnded = false;
    long.handle(plain(other), async () => {
      begun.resolve();
      await sleep(100);
      hasEnded = true;
    });
    const { worker } = workerOf(queue);
    const seen = deferred<boolean>();
    worker.handle(plain(queue), async () => {
      await long.stop();
      seen.resolve(hasEnded);
    });
    await client.publishMany([{ queue }, { queue: other }]);
    void long.run();
    await begun.promise;
    void worker.run();
    expect(await seen.promise).toBe(true);
  });

  it('may be called before run() and twice', async () => {
    const { worker } = workerOf(fresh());
    await worker.stop();
    await worker.run();
    await Promise.all([worker.stop(), worker.stop()]);
    expect(worker.heldCount).toBe(0);
  });
});

describe('the context of a handler of a client worker', () => {
  it('has the AsyncLocalStorage value of run(), not a value that an earlier handler set', async () => {
    const queue = fresh();
    const store = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const { worker } = workerOf(queue, { concurrency: 2 });
    worker.use((_job, _context, next) => {
      seen.push(store.getStore());
      store.enterWith('middleware');
      return next();
    });
    worker.handle(plain(queue), async ({ data }) => {
      store.enterWith(`job ${String(data)}`);
      await sleep(1);
      store.enterWith(`end of job ${String(data)}`);
    });
    await client.publishMany(Array.from({ length: 10 }, (_, i) => ({ queue, data: i })));
    await store.run('run', async () => {
      void worker.run();
      await waitFor(() => seen.length === 10, 5_000);
    });
    expect(seen).toEqual(Array.from({ length: 10 }, () => 'run'));
  });

  it('has an aborted signal if the lease was lost before the first use of the signal', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    let context: HandlerContext | undefined;
    const end = deferred();
    worker.handle(plain(queue), async (_job, given) => {
      context = given;
      await end.promise;
    });
    const { id } = await client.publish({ queue });
    void worker.run();
    await waitFor(() => context);
    await client.queues.pause(queue);
    await client.jobs.revoke(id);
    await nextHeartbeat(id);
    // It names no lease that is known to be lost.
    await waitFor(async () => {
      const named = heartbeats(id);
      await nextHeartbeat();
      return heartbeats(id) === named;
    });
    expect(context?.signal.aborted).toBe(true);
    expect(context?.signal).toBe(context?.signal);
    end.resolve();
  });
});
