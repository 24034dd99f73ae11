import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestApp } from '../support/app.js';
import { BuiltServer } from '../support/built-server.js';
import { SlotMove, TestCluster } from '../support/cluster.js';
import { waitFor } from '../support/redis.js';

describe('worker processes', () => {
  /** Several workers behind one port. */
  describe('a server of two workers', () => {
    let server: BuiltServer;
    let headers: Record<string, string>;

    beforeAll(async () => {
      server = await BuiltServer.create({ PUMPHOUSE_SERVER__WORKERS: '2' });
      await server.start();
      headers = { 'X-Token': await server.token('cluster'), Connection: 'close' };
    });
    afterAll(() => server.remove());

    const url = (rest: string): string => `${server.url}/api/cluster/${rest}`;
    const workers = (): number[] =>
      childrenOf(server.pid).filter((pid) => commandOf(pid).includes('main.js'));
    const accessLines = (): string[] =>
      server.output.split('\n').filter((line) => line.includes('"msg":"access"'));

    it('has two worker processes, and answers every request', async () => {
      expect(workers()).toHaveLength(2);
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => fetch(url('q'), { method: 'PUT', body: 'x', headers })),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
      const jobs = (await (await fetch(url('q?count=100'), { headers })).json()) as unknown[];
      expect(jobs).toHaveLength(20);
    });

    it('shows the sum of the metrics of its workers', async () => {
      const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
      const codes = text
        .split('\n')
        .filter((line) => line.startsWith('infra_lmstfy_http_http_codes{') && line.includes('code="201"'));
      expect(codes.map((line) => line.split(' ').at(-1))).toEqual(['20']);
      expect(text).toContain('stale_acks_total');
    });

    it('replaces a killed worker, keeps the access log on in the new one, and lowers no counter', async () => {
      expect(accessLines()).toHaveLength(0);
      await fetch(`${server.adminUrl}/accesslog?status=enable`, { method: 'POST' });
      const before = workers();
      process.kill(before[0]!, 'SIGKILL');
      await waitFor(() => workers().filter((pid) => !before.includes(pid)).length === 1, 5_000);
      await waitFor(async () => {
        await fetch(url('q/size'), { headers });
        return new Set(accessLines().map((line) => (JSON.parse(line) as { pid: number }).pid)).size === 2;
      });
      expect(accessLines()[0]).not.toContain(headers['X-Token']!);
      const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
      const published = /^pumphouse_jobs_published_total\{[^}]*queue="q"\} (\d+)$/m.exec(text)?.[1];
      expect(published).toBe('20');
      expect(await (await fetch(`${server.adminUrl}/accesslog`)).json()).toEqual({ status: 'enabled' });
    });

    it('rejects a deleted token in all workers within a second', async () => {
      const token = await server.token('revoked');
      const path = `${server.url}/api/revoked/q/size`;
      const fetchStatus = async (): Promise<number> =>
        (await fetch(path, { headers: { 'X-Token': token, Connection: 'close' } })).status;
      for (let i = 0; i < 4; i++) expect(await fetchStatus()).toBe(200);
      await fetch(`${server.adminUrl}/token/revoked/${token}`, { method: 'DELETE' });
      await waitFor(async () => (await fetchStatus()) === 401, 900);
      for (let i = 0; i < 4; i++) expect(await fetchStatus()).toBe(401);
    });
  });

  function childrenOf(parent: number): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        try {
          return (
            readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
              .split(') ')[1]
              ?.split(' ')[1] === String(parent)
          );
        } catch {
          return false;
        }
      });
  }

  function commandOf(pid: number): string {
    try {
      return readFileSync(`/proc/${String(pid)}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  }
});

describe('slot moves of a Redis Cluster', () => {
  /** What clients saw, by status; a job that was refused is sent again. */
  type Tally = Map<number, number>;

  describe('a server on a Cluster during slot moves', () => {
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

    const count = (status: number): number => {
      tally.set(status, (tally.get(status) ?? 0) + 1);
      return status;
    };

    async function produce(): Promise<void> {
      while (!isOver) {
        const { status, json } = await app.put('jobs?ttl=0&tries=20', 'work');
        if (count(status) === 201) accepted.add((json as { job_id: string }).job_id);
        await sleep(5);
      }
    }

    async function consume(): Promise<void> {
      for (let empty = 0; !isOver || empty < 2;) {
        const { status, json } = await app.get('jobs?timeout=1&ttr=3');
        count(status);
        empty = status === 404 ? empty + 1 : 0;
        if (status !== 200) continue;
        const { job_id: id } = json as { job_id: string };
        await waitFor(async () => count((await app.delete(`jobs/job/${id}`)).status) === 204, 10_000);
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

    it('T16: loses no job of a namespace while its slot moves under load, and refuses no call in a move of 0.5 s', async () => {
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

    it('accepts its tokens and counts their requests while the slot of the tokens moves', async () => {
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
});
