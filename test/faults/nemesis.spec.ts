import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { EngineFixture } from '../engine/fixture.js';
import { BuiltServer } from '../support/built-server.js';
import { startRedis, waitFor } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { startAborting, startLeaseholders, type Bystanders } from './bystanders.js';
import { FAULTS, REDIS_ARGS, schedule, type Stage } from './faults.js';
import { Trial, TTR_S } from './trial.js';
import { IS_LONG, ROUNDS, SLOWNESS } from '../support/scale.js';

/** Some of the kinds, others each time; the long form has each of them as often as there are rounds. */
const COUNT = IS_LONG ? Object.keys(FAULTS).length * ROUNDS : 9;
/** What a server may take to notice that a connection is half open, and clients to send again. */
const RECOVERY_MS = 15_000;
jest.setTimeout((120_000 + COUNT * 20_000) * SLOWNESS);

describe('three servers and an engine on one Redis with faulty networks', () => {
  const trial = new Trial();
  let stage: Stage;
  let library: EngineFixture;
  const bystanders: Bystanders[] = [];
  const closing: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    // A folder that was made for one Redis would go with it, and the next one has to find its data.
    const redis = await startRedis({
      args: REDIS_ARGS,
      dir: mkdtempSync(join(tmpdir(), 'pumphouse-nemesis-')),
    });
    const proxies = await Promise.all([0, 1, 2, 3].map(() => TcpProxy.start(redis.port)));
    const servers = await Promise.all(
      ['2', '1', '1'].map((workers, i) =>
        BuiltServer.create({
          PUMPHOUSE_POOLS__DEFAULT__URL: proxies[i]!.url,
          PUMPHOUSE_SERVER__WORKERS: workers,
        }),
      ),
    );
    stage = { servers, proxies, random: trial.random, redis };
    closing.push(
      async () => {
        await stage.redis.stop();
        rmSync(redis.dir, { recursive: true, force: true });
      },
      ...proxies.map((proxy) => () => proxy.stop()),
      ...servers.map((server) => () => server.remove()),
    );
    await Promise.all(servers.map((server) => server.start()));
    library = await EngineFixture.open({}, { url: proxies[3]!.url, commandTimeoutMs: 1_000 });
    closing.push(() => library.close());
    library.engine.start();
  });
  afterEach(async () => {
    await Promise.all(bystanders.map((one) => one.end()));
    await trial.end();
    for (const close of closing.splice(0).reverse()) await close();
  });

  it(`T13, T17, T42: lose no job over ${COUNT} faults of ${Object.keys(FAULTS).length} kinds, and serve again after each`, async () => {
    const { journal, namespace, random } = trial;
    const token = await stage.servers[0]!.token(trial.namespace);
    const urls = stage.servers.map(({ url }) => url);
    trial.start({ urls, token, jobs: Infinity, maxDelayS: 1, producers: 6, consumers: 12 });
    const ports = stage.servers.map(({ apiPort }) => apiPort);
    const shared = { namespace, random, ttrS: TTR_S };
    bystanders.push(startAborting({ ...shared, clients: 4 }, { ports, token }, journal));
    bystanders.push(startLeaseholders({ ...shared, clients: 4 }, library.engine, journal));

    const slowest = new Map<string, number>();
    for (const name of schedule(COUNT, random)) {
      journal.add({ op: 'fault', what: name });
      await FAULTS[name]!(stage);
      const healedMs = performance.now();
      const isBack = (): boolean =>
        journal.hasSince('accepted', healedMs) && journal.hasSince('delivered', healedMs);
      await waitFor(isBack, RECOVERY_MS);
      slowest.set(name, Math.max(slowest.get(name) ?? 0, performance.now() - healedMs));
    }
    console.log(
      [...slowest].map(([name, ms]) => `${name}: served again after ${ms.toFixed(0)} ms`).join('\n'),
    );
    await trial.endProduction();
    await Promise.all(bystanders.map((one) => one.end()));
    await trial.judge({ port: stage.redis.port }, true);
    for (const { url, output } of stage.servers) {
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      // Anything in its output besides JSON lines and its welcome is a crash; or a worker that reported a problem with
      // the Redis that replaced a killed one, and was replaced too.
      expect(output).not.toMatch(
        /^pumphouse: (?!(the Redis of )?pool default (at |is not available$|is full$|cannot write to its disk$))|^\s+at |^\w*Error:/m,
      );
    }
  });
});
