import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { BuiltServer } from '../support/built-server.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { Load } from './load.js';

/** `npm run chaos` asks for 20. */
const ROUNDS = Number(process.env['PUMPHOUSE_CHAOS_ROUNDS'] ?? 3);
/** Start, faults, and leases of 2 s that must run out, in ms. */
jest.setTimeout(90_000 + ROUNDS * 15_000);
const CLIENTS = { producers: 12, consumers: 12 };

describe.each([
  ['one process', '1'],
  ['two workers', '2'],
])('the whole server under load, %s', (_name, workers) => {
  let server: BuiltServer;
  let load: Load | undefined;

  beforeEach(async () => {
    server = await BuiltServer.create({ PUMPHOUSE_SERVER__WORKERS: workers });
    await server.start();
    const namespace = randomNamespace();
    load = new Load(`${server.url}/api/${namespace}/orders`, await server.token(namespace));
  });

  afterEach(async () => {
    await load?.end();
    load = undefined;
    await server.remove();
  });

  it(`loses no accepted job over ${ROUNDS} × kill -9 of the server`, async () => {
    await survives(async () => {
      await server.end('SIGKILL');
      await server.start();
    });
    expect(server.output).toContain('adopted the embedded Redis');
  });

  it(`loses no accepted job over ${ROUNDS} × kill -9 of its Redis`, async () => {
    // A Redis that is back within the command timeout: clients need not even notice.
    const mayPassUnseen = true;
    await survives(async () => {
      const before = server.redisPid;
      process.kill(before, 'SIGKILL');
      await waitFor(() => server.redisPid !== before, 15_000);
    }, mayPassUnseen);
  });

  it(`loses no accepted job over ${ROUNDS} × kill -9 of both`, async () => {
    await survives(async () => {
      process.kill(server.redisPid, 'SIGKILL');
      await server.end('SIGKILL');
      await server.start();
    });
  });

  it(`loses no accepted job over ${ROUNDS} × SIGTERM, and always ends with 0`, async () => {
    await survives(async () => {
      expect(await server.end('SIGTERM')).toBe(0);
      await server.start();
    });
  });

  /** Breaks the server at random moments under load, lets it drain, and compares what it owed with what came. */
  async function survives(fault: () => Promise<void>, mayPassUnseen = false): Promise<void> {
    if (load === undefined) throw new Error('the server did not start');
    const clients = load;
    const { ledger } = clients;
    clients.start(CLIENTS);
    for (let round = 0; round < ROUNDS; round++) {
      const acceptedBefore = ledger.accepted.size;
      await waitFor(() => ledger.accepted.size > acceptedBefore + 50, 20_000);
      await sleep(Math.random() * 500);
      await fault();
    }
    clients.endProduction();
    // What has not come by then is lost: a lease of 2 s has come back many times over.
    await waitFor(() => ledger.lost().length === 0, 30_000).catch(() => undefined);
    expect(await Promise.all(ledger.lost().map((body) => clients.traceOf(body)))).toEqual([]);
    expect(ledger.deliveredAfterAck).toEqual([]);
    if (!mayPassUnseen) expect(ledger.failures).toBeGreaterThan(0);
  }
});
