import { setTimeout as sleep } from 'node:timers/promises';
import { SlotMove, TestCluster } from '../support/cluster.js';
import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

/** What clients saw, by status; a job that was refused is sent again. */
type Tally = Map<number, number>;

describe('a server on a Cluster whose slots move', () => {
  let cluster: TestCluster;
  let app: TestApp;
  let isOver: boolean;
  let tally: Tally;
  const accepted = new Set<string>();
  const acked = new Set<string>();
  beforeAll(async () => {
    cluster = await TestCluster.start();
    const nodes = cluster.addresses.map(({ host, port }) => `${host}:${String(port)}`);
    app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__CLUSTER: nodes.join(',') });
  });
  afterAll(async () => {
    await app.stop();
    await cluster.stop();
  });
  beforeEach(() => {
    isOver = false;
    tally = new Map();
    accepted.clear();
    acked.clear();
  });

  const note = (status: number): number => {
    tally.set(status, (tally.get(status) ?? 0) + 1);
    return status;
  };

  async function produce(): Promise<void> {
    while (!isOver) {
      const { status, json } = await app.put('jobs?ttl=0&tries=20', 'work');
      if (note(status) === 201) accepted.add((json as { job_id: string }).job_id);
      await sleep(5);
    }
  }

  async function consume(): Promise<void> {
    for (let empty = 0; !isOver || empty < 2;) {
      const { status, json } = await app.get('jobs?timeout=1&ttr=3');
      note(status);
      empty = status === 404 ? empty + 1 : 0;
      if (status !== 200) continue;
      const { job_id: id } = json as { job_id: string };
      await waitFor(async () => note((await app.delete(`jobs/job/${id}`)).status) === 204, 10_000);
      acked.add(id);
    }
  }

  async function underLoad(faults: () => Promise<void>): Promise<void> {
    const clients = [...Array.from({ length: 4 }, produce), ...Array.from({ length: 8 }, consume)];
    await waitFor(() => accepted.size > 20, 10_000);
    await faults();
    isOver = true;
    await Promise.all(clients);
    expect([...accepted].filter((id) => !acked.has(id))).toEqual([]);
    expect([...tally.keys()].filter((status) => ![200, 201, 204, 404, 503].includes(status))).toEqual([]);
    expect((await app.get('jobs/size')).json).toMatchObject({ size: 0 });
  }

  it('T16: loses no job of a namespace that moves to and fro under load, and refuses none of a move of half a second', async () => {
    await underLoad(async () => {
      for (let i = 0; i < 3; i++) {
        const move = await SlotMove.begin(cluster, `{${app.namespace}}`);
        await sleep(200);
        await move.complete(50);
        const served = accepted.size;
        await waitFor(() => accepted.size > served + 10, 5_000);
      }
    });
    expect(tally.get(503) ?? 0).toBe(0);
    console.log(`jobs ${accepted.size}, statuses ${JSON.stringify([...tally])}`);
  });

  it('knows its tokens and counts their requests while the slot of the tokens moves, key by key', async () => {
    const limited = await app.admin('POST', `/token/${app.namespace}/${app.token}/limit`, {
      body: JSON.stringify({ read: 1_000_000, write: 1_000_000, interval: 60 }),
      headers: { 'content-type': 'application/json' },
    });
    expect(limited.status).toBeLessThan(300);
    await underLoad(async () => {
      for (let i = 0; i < 2; i++) {
        const move = await SlotMove.begin(cluster, '{tokens}');
        for (
          let keys = await move.keysAt(move.source);
          keys.length > 0;
          keys = await move.keysAt(move.source)
        ) {
          await move.moveKey(keys[0]!);
          // Tokens are remembered for a second: several of them pass in a move.
          await sleep(400);
        }
        await move.finish();
      }
    });
    expect(tally.get(503) ?? 0).toBe(0);
  });
});
