import { Redis } from 'ioredis';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';

/*
 * New data with the last operation of a lease holder: ack, retry and fail. The bytes that count for a quota must be those that are there, which
 * the audit compares.
 */

const redis = new Redis(testRedisUrl(), { protocol: 2 });
let f: EngineFixture;

beforeEach(async () => {
  f = await EngineFixture.withClock({ quotas: { queues: 0, jobsPerQueue: 0, bytes: 10_000 } });
});
afterEach(async () => {
  expect(await Audit.of(redis, f.ns)).toEqual([]);
  await f.close();
});
afterAll(() => redis.quit());

/** Those of bodies: what jobs have beside them is taken off. */
const bytes = async (): Promise<number> => {
  const sum = Number(await redis.hget(f.pool.keys.namespace(f.ns).meta, 'bytes'));
  const keys = await redis.keysBuffer(`{${f.ns}}x*`);
  const beside = await Promise.all(keys.map(async (key) => Number(await redis.hget(key, 'beside'))));
  return beside.reduce((rest, some) => rest - some, sum);
};
const data = (text: string, contentType?: string): { body: Buffer; contentType?: string } => ({
  body: Buffer.from(text),
  ...(contentType === undefined ? {} : { contentType }),
});
const operations = (): EngineFixture['engine']['components']['leaseOperations'] => f.engine.settle;

/** Publishes a job with 10 bytes and leases it. */
async function leased(job: Partial<NewExtendedJob> = {}): Promise<{ id: string; lease: number }> {
  await f.engine.jobs.publish(f.ns, [{ queue: 'q', body: Buffer.from('0123456789'), tries: 3, ...job }]);
  const [one] = await f.lease('q');
  return { id: one!.id, lease: one!.lease };
}

async function stored(id: string): Promise<[string | undefined, string | null | undefined]> {
  const job = await f.find(id);
  return [job?.body.toString('latin1'), job?.contentType];
}

/** Jobs before a lease: a simple one, which becomes an extended one with its first failure, and one with a content type. */
const JOBS: readonly [string, Partial<NewExtendedJob>][] = [
  ['a simple job', {}],
  ['an extended job', { type: 't', contentType: 'image/png' }],
];
const ODD = Buffer.from([0, 255, 13, 10, 0, 128]);

describe.each(JOBS)('new data of %s', (_name, job) => {
  it.each(['retry', 'fail'] as const)('are set by %s, to the last byte', async (verb) => {
    const one = await leased(job);
    await operations()[verb](f.ns, {
      ...one,
      group: 'g',
      message: 'm',
      delayMs: 0,
      data: { body: ODD, contentType: 'application/x-odd' },
    });
    expect(await stored(one.id)).toEqual([ODD.toString('latin1'), 'application/x-odd']);
    expect(await bytes()).toBe(ODD.length);
    expect((await f.find(one.id))?.state).toBe(verb === 'fail' ? 'dead' : 'ready');

    await f.engine.components.deadJobs.respawnIds(f.ns, [one.id], { ttlMs: 0, tries: 'reset' });
    const [again] = await f.lease('q');
    expect(again?.body).toEqual(ODD);
    // JSON needs no content type, and none is left.
    await operations()[verb](f.ns, {
      id: one.id,
      lease: again!.lease,
      group: 'g',
      message: '',
      data: data('1.50'),
    });
    expect(await stored(one.id)).toEqual(['1.50', null]);
    expect(await bytes()).toBe(4);
  });

  it('are unchanged if absent, and may be empty', async () => {
    const one = await leased(job);
    await operations().retry(f.ns, { ...one, group: 'g', message: '', delayMs: 0 });
    expect(await stored(one.id)).toEqual(['0123456789', job.contentType ?? null]);
    const [again] = await f.lease('q');
    await operations().fail(f.ns, {
      id: one.id,
      lease: again!.lease,
      group: 'g',
      message: '',
      data: data(''),
    });
    expect(await stored(one.id)).toEqual(['', null]);
    expect(await bytes()).toBe(0);
  });

  it('are set by an ack of a kept job, beside its result', async () => {
    const one = await leased({ retentionMs: 60_000, ...job });
    const result = { body: Buffer.from('the result'), contentType: 'text/plain' };
    expect(await operations().complete(f.ns, [{ ...one, data: { body: ODD }, result }])).toEqual(['done']);
    expect(await stored(one.id)).toEqual([ODD.toString('latin1'), null]);
    expect((await f.find(one.id))?.result).toMatchObject(result);
    expect(await bytes()).toBe(ODD.length);
    await f.pass(120_000);
    expect([await f.find(one.id), await bytes()]).toEqual([null, 0]);
  });

  it('are set by an ack that moves the job, also to a waiting one', async () => {
    await f.put('other', { id: 'needed', text: 'abc' });
    const one = await leased(job);
    const next = { queue: 'p', dependsOn: ['needed'] };
    expect(await operations().complete(f.ns, [{ ...one, data: data('{}', 'text/x'), next }])).toEqual([
      'done',
    ]);
    expect(await f.find(one.id)).toMatchObject({ state: 'blocked', queue: 'p', dependsOn: ['needed'] });
    expect(await stored(one.id)).toEqual(['{}', 'text/x']);
    expect(await bytes()).toBe(5);
  });

  it('leave nothing of a job that an ack removes', async () => {
    const one = await leased(job);
    expect(await operations().complete(f.ns, [{ ...one, data: data('x'.repeat(100)) }])).toEqual(['done']);
    expect([await f.find(one.id), await bytes()]).toEqual([null, 0]);
  });
});

it('new data are not stored for a caller without a lease, in any state of the job', async () => {
  const one = await leased({ retentionMs: 60_000 });
  const late = { id: one.id, lease: one.lease, group: 'g', message: '', data: data('late') };
  const refused = { code: 'lease_lost' };
  const wrong = { ...late, lease: one.lease + 1 };
  await expect(operations().fail(f.ns, wrong)).rejects.toMatchObject(refused);
  expect(await operations().complete(f.ns, [wrong])).toEqual(['lease_lost']);
  await operations().release(f.ns, one);
  await expect(operations().fail(f.ns, late)).rejects.toMatchObject(refused);
  await expect(operations().retry(f.ns, late)).rejects.toMatchObject(refused);
  expect(await operations().complete(f.ns, [late])).toEqual(['lease_lost']);
  const [again] = await f.lease('q');
  expect(await operations().complete(f.ns, [{ id: one.id, lease: again!.lease }])).toEqual(['done']);
  expect(await operations().complete(f.ns, [{ ...late, lease: again!.lease }])).toEqual(['not_found']);
  expect(await stored(one.id)).toEqual(['0123456789', null]);
  // Another namespace has no such job.
  await expect(operations().fail(`${f.ns}x`, late)).rejects.toMatchObject({ code: 'job_not_found' });
  expect(await bytes()).toBe(10);
});

it('new data of a job that is listed twice are the first ones', async () => {
  const one = await leased({ retentionMs: 60_000 });
  const acks = [
    { ...one, data: data('first') },
    { ...one, data: data('second') },
  ];
  expect(await operations().complete(f.ns, acks)).toEqual(['done', 'not_found']);
  expect(await stored(one.id)).toEqual(['first', null]);
  expect(await bytes()).toBe(5);
});

it('new data are not stored with an ack that is refused for a circle of dependencies', async () => {
  const one = await leased({ id: 'self' });
  const next = { queue: 'p', dependsOn: ['self'] };
  expect(await operations().complete(f.ns, [{ ...one, data: data('new'), next }])).toEqual([
    'dependency_cycle',
  ]);
  expect(await stored('self')).toEqual(['0123456789', null]);
});

it('new data are accepted after the lease expired, and during a cancel', async () => {
  const one = await leased();
  await f.pass(61_000);
  await operations().retry(f.ns, { ...one, group: 'g', message: '', data: data('late but heard') });
  expect(await stored(one.id)).toEqual(['late but heard', null]);
  await f.pass(60_000);
  const [again] = await f.lease('q');
  await f.engine.jobs.cancel(f.ns, one.id, { graceMs: 60_000 });
  const given = { id: one.id, lease: again!.lease, group: 'g', message: '', data: data('end') };
  expect(await operations().retry(f.ns, given)).toMatchObject({ state: 'cancelled' });
  expect(await stored(one.id)).toEqual(['end', null]);
  expect(await bytes()).toBe(3);
  await f.pass(120_000);
  expect(await bytes()).toBe(0);
});
