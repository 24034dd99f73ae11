import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { Quotas } from '../../src/domain/job/quotas.js';
import { EngineFixture, newJob } from './fixture.js';

const UNLIMITED: Quotas = { queues: 0, jobsPerQueue: 0, bytes: 0, workers: 0, keys: 0 };

/** Jobs that have several features at once. */
describe('a job', () => {
  let f: EngineFixture;
  beforeEach(async () => (f = await EngineFixture.withClock()));
  afterEach(async () => {
    expect(await f.audit()).toEqual([]);
    await f.close();
  });

  const job = (more: Partial<NewExtendedJob> = {}): NewExtendedJob => ({
    queue: 'q',
    body: Buffer.from('x'),
    type: 't',
    ...more,
  });
  const publish = (...jobs: NewExtendedJob[]) => f.engine.jobs.publish(f.ns, jobs);
  const lease = async () => (await f.lease('q'))[0]!;
  const limit = (quotas: Partial<Quotas>): void =>
    f.engine.useQuotas(new Map([[f.ns, { ...UNLIMITED, ...quotas }]]));

  it.each<[string, Partial<NewExtendedJob>]>([
    ['its last try', { tries: 1 }],
    ['a policy without another try', { retry: { kind: 'none' } }],
    ['a group that is not tried again', { retry: { kind: 'fixed', delayMs: 5, nonRetryable: ['g'] } }],
  ])(
    'is cancelled with its dependents, as requested, though its worker retries it after %s',
    async (_why, more) => {
      await publish(job({ id: 'needed', ...more }), job({ id: 'waits', dependsOn: ['needed'] }));
      const { id, lease: number } = await lease();
      await f.engine.jobs.cancel(f.ns, id, { cascade: true, graceMs: 60_000 });
      await f.engine.settle.retry(f.ns, { id, lease: number, group: 'g', message: 'm' });
      await f.pass(1);
      for (const one of ['needed', 'waits'])
        expect((await f.find(one))?.state ?? 'cancelled').toBe('cancelled');
      expect((await f.engine.deadLetter.head(f.ns, 'q')).size).toBe(0);
    },
  );

  it('is not cancelled or deleted alone if another one may depend on it, behind many that did', async () => {
    await publish(job({ id: 'needed', delayMs: 60_000 }), job({ id: 'last', dependsOn: ['needed'] }));
    const users = (await f.keys()).find((key) => /u.needed$/.test(key))!;
    // As jobs leave them that have failed by another dependency.
    const former = Array.from({ length: 20_000 }, (_, n) => `\0former-${String(n)}`);
    for (let n = 0; n < former.length; n += 1_000)
      await f.pool.read('SADD', users, ...former.slice(n, n + 1_000));
    for (const call of [f.engine.jobs.cancel(f.ns, 'needed'), f.engine.jobs.remove(f.ns, 'needed')])
      await expect(call).rejects.toMatchObject({ code: 'has_dependents' });
    expect((await f.find('needed'))?.state).toBe('scheduled');
    for (let n = 0; n < former.length; n += 1_000)
      await f.pool.read('SREM', users, ...former.slice(n, n + 1_000));
  });

  it('takes the place of another one in a full queue and namespace', async () => {
    const unique = { key: 'k', mode: 'replace' } as const;
    await publish(job({ id: 'old', unique }));
    const bytes = Number(await f.pool.read('HGET', f.pool.keys.namespace(f.ns).meta, 'bytes'));
    limit({ jobsPerQueue: 1, bytes: bytes + 10_000 });
    await expect(publish(job())).rejects.toMatchObject({ code: 'queue_full' });
    const [fresh] = await publish(job({ unique }));
    expect(await f.engine.republish(f.ns, 'q', fresh!.id, newJob())).toEqual(expect.any(String));
    expect(await f.size('q')).toBe(1);
  });

  it('counts the dependencies that it has, and not those that it had', async () => {
    limit({ bytes: 1_000_000 });
    const edges = async (id: string): Promise<number> =>
      Number((await f.pool.read('HGET', `${f.pool.keys.allOf(f.ns).slice(0, -1)}x\0${id}`, 'edges')) ?? 0);
    const goOn = async (dependsOn: readonly string[]): Promise<void> => {
      const { lease: number } = await lease();
      const next = { queue: 'q', dependsOn };
      await f.engine.settle.complete(f.ns, [{ id: 'steps', lease: number, queue: 'q', next }]);
    };
    const open = ['a', 'b', 'c'];
    await publish(
      ...open.map((id) => job({ id, queue: 'open', delayMs: 60_000 })),
      ...[job({ id: 'first', queue: 'open' }), job({ id: 'steps' })],
    );
    await goOn(['first']);
    expect(await edges('steps')).toBe(1);
    const [first] = await f.lease('open');
    await f.engine.settle.complete(f.ns, [{ id: 'first', lease: first!.lease, queue: 'open' }]);
    await f.pass(1);
    await goOn(open);
    expect(await edges('steps')).toBe(3);
    for (let i = 0; i < 3; i++) {
      await f.engine.jobs.change(f.ns, 'steps', { lessDependencies: ['a'] });
      expect(await edges('steps')).toBe(2);
      await f.engine.jobs.change(f.ns, 'steps', { moreDependencies: ['a', 'b'] });
      expect(await edges('steps')).toBe(3);
    }
  });

  it('leaves no trace if it is debounced and replaced in one call while it waits for another', async () => {
    const unique = (mode: 'debounce' | 'replace') => ({ key: 'k', mode });
    await publish(job({ id: 'needed', delayMs: 60_000 }));
    await publish(job({ id: 'held', dependsOn: ['needed'], unique: unique('replace') }));
    await publish(job({ unique: unique('debounce') }), job({ unique: unique('replace') }));
    expect(await f.counts()).toMatchObject({ blocked: 0, ready: 1 });
  });

  it('replaces itself under the same id and unique key, though the key is held for a time', async () => {
    const put = () =>
      f.engine.jobs.put(f.ns, {
        ...job({ delayMs: 60_000, unique: { key: 'k', mode: 'reject', windowMs: 60_000 } }),
        id: 'same',
      });
    expect(await put()).toMatchObject({ isReplaced: false });
    expect(await put()).toMatchObject({ isReplaced: true });
    await expect(publish(job({ unique: { key: 'k', mode: 'reject' } }))).rejects.toMatchObject({
      code: 'unique_key_taken',
    });
  });

  it('is named as before when its publish is sent again and another job stands for it', async () => {
    await publish(job({ id: 'holder', unique: { key: 'k', mode: 'existing' } }));
    const both = [job(), job({ unique: { key: 'k', mode: 'existing' } })];
    const [stored] = await publish(...both);
    const retryOf = [stored!.id, '01JABCDEFGHJKMNPQRSTVWXYZ0'];
    expect(await f.engine.jobs.publish(f.ns, both, { retryOf })).toMatchObject([
      { id: stored!.id, existing: false },
      { id: 'holder', existing: true, state: 'ready' },
    ]);
  });
});
