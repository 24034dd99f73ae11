import { connect } from 'node:net';
import fc from 'fast-check';
import { TestApp } from '../support/app.js';
import { garbage } from '../support/garbage.js';
import { bytesOf, oddRequests } from '../support/odd-requests.js';
import { waitFor } from '../support/redis.js';
import { ROUNDS, SEED } from '../support/scale.js';

/** `npm run chaos` asks for 20 rounds; each is 5,000 requests, half of them well framed. */
/** Sent at a time, each on a connection of its own. */
const BATCH = 50;
const RUNS = (ROUNDS * 2_500) / BATCH;
/** A client that has sent all that it has waits this long before it says so, in milliseconds. */
const PATIENCE_MS = 30;
const HANG_MS = 10_000;
/** A 5xx that is no answer to a transfer coding other than chunked: RFC 9112 demands a 501 for that one. */
const FAULT =
  /HTTP\/1\.1 5(?!01 Not Implemented\r\n(?:[^\r\n]+\r\n)*\r\n[^\r\n]*transfer coding not supported)/;

/** Sends bytes, closes its half after a while, and gives back all that came until the server closed its own. */
function roundTrip(port: number, bytes: Buffer, patienceMs: number | null): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const hang = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end after ${JSON.stringify(bytes.toString('latin1').slice(0, 500))}: ${text}`));
    }, HANG_MS);
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    // A server that refuses need not read all of it.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(hang);
      resolve(text);
    });
    socket.on('connect', () => {
      socket.write(bytes);
      if (patienceMs !== null) setTimeout(() => socket.end(), patienceMs);
    });
  });
}

/** Whatever is sent, it is an answer of ours that comes back, or an end, and no bug of ours. */
describe('a server that is sent malformed input', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
    console.log(`${String(RUNS * BATCH * 2)} requests, PUMPHOUSE_CHAOS_SEED=${String(SEED)}`);
  });
  afterAll(() => app.stop());

  /** What every batch must leave behind: a server that works, a clean log, and objects as they were. */
  const expectHealth = async (): Promise<void> => {
    const id = await app.publish('control');
    expect(await app.get('control')).toMatchObject({ status: 200, json: { job_id: id } });
    expect(await app.delete(`control/job/${id}`)).toMatchObject({ status: 204 });
    expect(app.log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  };
  const expectNothingHeld = async (): Promise<void> => {
    await waitFor(async () => {
      const { text } = await app.admin('GET', '/metrics');
      return ['pumphouse_http_in_flight 0', 'pumphouse_waiters{pool="default"} 0'].every((line) =>
        text.includes(line),
      );
    });
  };

  it('answers odd requests, each with an id and none with a 5xx', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(oddRequests(app.namespace, app.token), { minLength: BATCH, maxLength: BATCH }),
        async (requests) => {
          const answers = await Promise.all(requests.map((one) => roundTrip(app.port, bytesOf(one), null)));
          for (const answer of answers) {
            expect(answer).toMatch(/^HTTP\/1\.1 [234]\d\d /);
            expect(answer).toMatch(/\r\nX-Request-Id: [0-9A-Z]{26}\r\n/);
          }
          await expectHealth();
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
    await expectNothingHeld();
  }, 1_800_000);

  it('answers garbage with a 4xx, with 501 for a transfer coding or by closing the connection, and serves on', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(garbage(app.namespace, app.token), { minLength: BATCH, maxLength: BATCH }),
        async (pieces) => {
          const answers = await Promise.all(pieces.map((bytes) => roundTrip(app.port, bytes, PATIENCE_MS)));
          for (const answer of answers) expect(answer).not.toMatch(FAULT);
          await expectHealth();
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
    await expectNothingHeld();
  }, 1_800_000);
});
