import { setTimeout as sleep } from 'node:timers/promises';
import { TestApp } from '../support/app.js';
import { SlotMove, TestCluster } from '../support/cluster.js';
import { waitFor } from '../support/redis.js';

const KEYS = ['a', 'b', 'c', 'd'] as const;
const JOBS_OF_KEY = 30;
const TYPES = ['mail', 'sms'] as const;

interface LeasedJob {
  readonly id: string;
  readonly lease: number;
  readonly type: string | null;
  readonly dependencies?: readonly {
    readonly id: string;
    readonly state: string;
    readonly result?: unknown;
  }[];
}

describe('a fair queue with a strict order on a Redis Cluster', () => {
  let cluster: TestCluster;
  let app: TestApp;
  beforeAll(async () => {
    cluster = await TestCluster.start();
    const nodes = cluster.addresses.map(({ host, port }) => `${host}:${String(port)}`);
    app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__CLUSTER: nodes.join(',') });
  });
  afterAll(async () => {
    await app.stop();
    await cluster.stop();
  });

  /** Sent again while the slot moves: then a call may be refused with 503. */
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${String(app.port)}/v1/${app.namespace}/${path}`, {
        ...{ method, headers: { 'X-Token': app.token } },
        ...(body && { body: JSON.stringify(body) }),
      });
      if (answer.status === 503) await sleep(20);
      else if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
      else return await answer.json();
    }
  };

  it('keeps order, results and types while its slot moves, with lease requests that linger', async () => {
    await call('PATCH', 'queues/q', { fair: true, order: 'strict' });
    const ends: string[] = [];
    const types = new Set<string>();
    let results = 0;
    let isOver = false;

    const publish = async (key: string): Promise<void> => {
      for (let i = 0; i < JOBS_OF_KEY; i++) {
        const options = { queue: 'q', concurrency_key: key, type: TYPES[i % 2], retention_ms: 600_000 };
        const id = `${key}-${String(i)}`;
        await call('PUT', `jobs/${id}`, options);
        if (i % 5 === 0) await call('PUT', `jobs/after-${id}`, { queue: 'after', depends_on: [id] });
        await sleep(10);
      }
    };
    const work = async (request: object, allowed: readonly (string | null)[]): Promise<void> => {
      while (!isOver) {
        const body = { queues: ['q'], count: 3, ttr_ms: 60_000, wait_ms: 200, ...request };
        const { jobs } = (await call('POST', 'leases', body)) as { jobs: LeasedJob[] };
        for (const { id, lease, type, dependencies = [] } of jobs) {
          expect(allowed).toContain(type);
          if (type !== null) types.add(type);
          for (const one of dependencies) {
            expect(one).toMatchObject({ state: 'done', result: { of: one.id } });
            results++;
          }
          if (!id.startsWith('after')) ends.push(id);
          await call('POST', `jobs/${id}/ack`, { lease, result: { of: id } });
        }
      }
    };
    const workers = [
      work({ types: ['mail'] }, ['mail']),
      work({ types: ['sms'], linger_ms: 100, min: 2 }, ['sms']),
      work({ linger_ms: 50, min: 3 }, TYPES),
      work({ queues: ['after'] }, [null]),
    ];
    const publishers = KEYS.map(publish);
    for (let i = 0; i < 3; i++) {
      await sleep(200);
      const move = await SlotMove.begin(cluster, `{${app.namespace}}`);
      await sleep(100);
      await move.complete(20);
    }
    await Promise.all(publishers);
    const dependents = KEYS.length * Math.ceil(JOBS_OF_KEY / 5);
    const areDone = waitFor(
      () => ends.length === KEYS.length * JOBS_OF_KEY && results === dependents,
      60_000,
    );
    // A worker ends before that only by an error.
    await Promise.race([areDone, Promise.all(workers)]).finally(() => (isOver = true));
    await Promise.all(workers);

    for (const key of KEYS)
      expect(ends.filter((id) => id.startsWith(key))).toEqual(
        Array.from({ length: JOBS_OF_KEY }, (_none, i) => `${key}-${String(i)}`),
      );
    expect([...types].toSorted()).toEqual([...TYPES]);
  });
});
