import { jest } from '@jest/globals';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { socketPathOf } from '../../src/redis/embedded/socket.js';
import { BuiltServer } from '../support/built-server.js';
import { waitFor } from '../support/redis.js';
import { Trial } from './trial.js';
import { IS_LONG, ROUNDS, SLOWNESS } from '../support/scale.js';

/** Start, faults, and leases of 2 s that must run out, in ms. */
jest.setTimeout((90_000 + ROUNDS * 15_000) * SLOWNESS);

/** The long form plays each fault with both; here each fault with one of them, and the kill of the server with both. */
describe.each([
  ['one process', '1', /of the server|of its Redis/],
  ['two workers', '2', /of the server|of server and Redis|SIGTERM/],
])('the whole server under load, %s', (_name, workers, usual) => {
  const play = (name: string, run: () => Promise<void>): void => {
    if (IS_LONG || usual.test(name)) it(name, run);
  };
  let server: BuiltServer;
  let trial: Trial;

  beforeAll(async () => {
    server = await BuiltServer.create({ PUMPHOUSE_SERVER__WORKERS: workers });
    await server.start();
  });
  afterAll(() => server.remove());
  beforeEach(() => {
    trial = new Trial();
  });
  afterEach(() => trial.end());

  play(`loses no accepted job over ${ROUNDS} × kill -9 of the server`, async () => {
    await survives(async () => {
      await server.end('SIGKILL');
      await server.start();
    });
    expect(server.output).toContain('adopted the embedded Redis');
  });

  play(`loses no accepted job over ${ROUNDS} × kill -9 of its Redis`, async () => {
    await survives(async () => {
      const before = server.redisPid;
      process.kill(before, 'SIGKILL');
      await waitFor(() => server.redisPid !== before, 15_000);
    }, true);
  });

  play(`loses no accepted job over ${ROUNDS} × kill -9 of server and Redis`, async () => {
    await survives(async () => {
      process.kill(server.redisPid, 'SIGKILL');
      await server.end('SIGKILL');
      await server.start();
    }, true);
  });

  play(`loses no accepted job over ${ROUNDS} × SIGTERM, and always ends with 0`, async () => {
    await survives(async () => {
      expect(await server.end('SIGTERM')).toBe(0);
      await server.start();
    });
  });

  /** Breaks the server at random moments under load, lets it drain, and compares what it owed with what came. */
  async function survives(fault: () => Promise<void>, isRedisKilled = false): Promise<void> {
    const { journal } = trial;
    const token = await server.token(trial.namespace);
    trial.start({ urls: [server.url], token, jobs: ROUNDS * (IS_LONG ? 2_000 : 800) });
    for (let round = 0; round < ROUNDS; round++) {
      const before = journal.count('accepted');
      await waitFor(() => journal.count('accepted') > before + 50, 20_000);
      await sleep(trial.random() * 500);
      journal.add({ op: 'fault', what: `round ${round}` });
      await fault();
    }
    const path = socketPathOf(join(server.dir, 'data', 'default'));
    await trial.judge({ path }, isRedisKilled);
    // A Redis that is back within the command timeout: clients need not even notice.
    if (!isRedisKilled) expect(journal.count('failed')).toBeGreaterThan(0);
  }
});
