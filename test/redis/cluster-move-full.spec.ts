import type { LeasedJob } from '../../src/domain/job.js';
import { QueueEngine } from '../../src/engine/engine.js';
import { encodeId } from '../../src/engine/ids.js';
import { RedisPool } from '../../src/redis/pool.js';
import * as full from '../../src/redis/scripts/full.js';
import { listen, pump } from '../../src/redis/scripts/plain.js';
import { SlotMove, TestCluster } from '../support/cluster.js';
import { randomNamespace } from '../support/redis.js';
import { Audit, SLOT_MS } from './audit.js';
import type { Call } from './cluster-cases.js';
import { newJob, silentLog } from './fixture.js';
import { dump, send } from './slot-calls.js';

/** A namespace in which every key is there that a script may look for first: nothing stops it before it writes. */
interface Seeded {
  readonly ns: string;
  readonly nowMs: number;
  readonly leased: LeasedJob;
  readonly scheduled: string;
}

describe('a slot that is moving, of which no key has moved yet', () => {
  let cluster: TestCluster;
  let pool: RedisPool;
  beforeAll(async () => {
    cluster = await TestCluster.start();
    const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000 };
    pool = await RedisPool.connect('default', { ...options, clusterNodes: cluster.addresses }, silentLog);
  });
  afterAll(async () => {
    await pool.close();
    await cluster.stop();
  });

  /** One lease that has run out, or lasts, and one job for later, with dead, far and ready ones and ghosts beside them. */
  async function seed(isRich: boolean): Promise<Seeded> {
    const ns = randomNamespace();
    const nowMs = Math.floor(Date.now() / SLOT_MS) * SLOT_MS - 30_000;
    const engine = new QueueEngine(pool, { clock: () => nowMs - 60_000 });
    const type = { type: 't', tags: ['tag'] };
    const put = async (job: object): Promise<string> => {
      if (!isRich) return engine.publish(ns, 'q', newJob({ tries: 5, ...job }));
      const whole = { queue: 'q', body: Buffer.from('x'), tries: 5, ...type, ...job };
      return (await engine.full.publishing.publish(ns, [whole]))[0]?.id ?? '';
    };
    const reserve = (ttrMs: number): Promise<LeasedJob[]> =>
      engine.reserve(ns, {
        queues: ['q'],
        count: 1,
        ttrMs,
        waitMs: 0,
        confirms: true,
        ...(isRich ? { worker: 'w' } : {}),
      });
    await pool.run(listen, pool.keys.namespace(ns), { after: '', count: 1, keep_ms: 60_000, most: 10_000 });
    // A lease in another queue, whose answer may not have left.
    await engine.publish(ns, 'p', newJob());
    await engine.reserve(ns, { queues: ['p'], count: 1, ttrMs: 600_000, waitMs: 0, confirms: true });
    await engine.publish(ns, 'q', newJob({ tries: 1 }));
    await reserve(0);
    await engine.pumpNow(ns);
    await engine.publish(ns, 'q', newJob({ delayMs: 18_000_000 }));
    if (isRich) await prepare(engine, ns, put);
    await put({});
    const [leased] = await reserve(isRich ? 600_000 : 30_000);
    const scheduled = await put({ delayMs: isRich ? 30_000 : 600_000 });
    const ready = [
      await put({ ttlMs: 600_000 }),
      await put({ ttlMs: 600_000 }),
      await put({ ttlMs: 600_000 }),
    ];
    await engine.ack(ns, 'q', ready[1] ?? '');
    await pool.read('HSET', `{${ns}}:waiting`, 'somebody', '1');
    await engine.stop();
    return { ns, nowMs, leased: leased!, scheduled };
  }

  /** What the full lane looks for beside jobs: settings, other priorities. */
  async function prepare(
    engine: QueueEngine,
    ns: string,
    put: (job: object) => Promise<string>,
  ): Promise<void> {
    await engine.full.controls.change(ns, 'q', { maxKept: 5, defaults: { tries: 3 } });
    await engine.settings.set(ns, 'grace_ms', 5);
    await put({ priority: 5 });
    await engine.pumpNow(ns);
  }

  it.each<[string, boolean, (seeded: Seeded) => Pick<Call, 'args' | 'items'> & { binding: unknown }]>([
    ['the pump', false, () => ({ binding: pump, args: { limit: 100 }, items: [] })],
    ['the clock', true, () => ({ binding: full.fullTick, args: { limit: 64, quotas: '' }, items: [] })],
    ...['beat', 'release', 'retry', 'fail', 'ack'].map(
      (verb): [string, boolean, (seeded: Seeded) => Pick<Call, 'args' | 'items'> & { binding: unknown }] => [
        verb,
        true,
        ({ leased: { id, lease } }) => ({
          binding: full.fullSettle,
          args: {},
          items: [[verb, encodeId(id)!, lease, '{"delay_ms":1000,"group":"g","message":"m"}', '']],
        }),
      ],
    ),
    [
      'a change',
      true,
      ({ scheduled }) => ({
        binding: full.fullChange,
        args: { id: encodeId(scheduled)!, options: '{"delay_ms":5000}', data: '', adds: '', drops: '' },
        items: [],
      }),
    ],
  ])('%s goes through, or fails and changes nothing', async (_name, isRich, callOf) => {
    const seeded = await seed(isRich);
    const { binding, args, items } = callOf(seeded);
    const call = {
      binding: binding as Call['binding'],
      args: { clock_ms: String(seeded.nowMs), deadline_ms: 0, ...args },
      items,
    };
    const move = await SlotMove.begin(cluster, `{${seeded.ns}}`);
    const before = await dump(move);

    const outcome = await send(move.source.redis, false, call, seeded.ns).catch((error: unknown) => error);

    if (outcome instanceof Error) expect(await dump(move)).toEqual(before);
    await move.complete(100);
    await send(move.target.redis, false, call, seeded.ns);
    expect(await Audit.of(move.target.redis, seeded.ns)).toEqual([]);
  });
});
