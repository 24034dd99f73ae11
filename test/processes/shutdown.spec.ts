import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawConnection } from '../support/app.js';
import { BuiltServer, isRedisRunning } from '../support/built-server.js';
import { OwnTime } from '../support/own-time.js';
import { waitFor } from '../support/redis.js';
import { someOf } from '../support/scale.js';

const POLLED = 'no job available';

/** The built server and its signals. */
describe.each([1, 2])('a stopping server of %i process(es)', (workers) => {
  let server: BuiltServer;
  let token: string;

  const boot = async (env: Record<string, string> = {}): Promise<void> => {
    server = await BuiltServer.create({ PUMPHOUSE_SERVER__WORKERS: String(workers), ...env });
    await server.start();
    token = await server.token('stop');
  };
  const send = async (text: string): Promise<RawConnection> => {
    const socket = connect(server.apiPort, '127.0.0.1');
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const connection = new RawConnection(socket);
    connection.write(text);
    return connection;
  };
  const poll = (timeoutS: number): string =>
    `GET /api/stop/q?timeout=${String(timeoutS)} HTTP/1.1\r\nHost: x\r\nX-Token: ${token}\r\n\r\n`;
  const upload = (length: number): string =>
    `PUT /api/stop/up HTTP/1.1\r\nHost: x\r\nX-Token: ${token}\r\nContent-Length: ${String(length)}\r\n\r\n`;

  afterEach(() => server.remove());

  const cases: Record<string, () => Promise<void>> = {
    async 'says so, ends long polls, lets requests finish, stops its Redis last and exits with 0'() {
      await boot({ PUMPHOUSE_SERVER__READY_LAG_MS: '400' });
      const polls = await Promise.all(Array.from({ length: 5 }, () => send(poll(600))));
      const slow = await send(`${upload(4)}ab`);
      const redisPid = server.redisPid;
      await sleep(200);
      const ended = server.end('SIGTERM');
      await waitFor(async () => (await fetch(`${server.url}/readyz`)).status === 503);
      expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(503);
      const served = await fetch(`${server.url}/api/none`);
      expect([served.status, served.headers.get('connection')]).toEqual([404, 'close']);
      for (const connection of polls) {
        const answer = await connection.untilClosed();
        expect(answer).toContain('HTTP/1.1 404');
        expect(answer).toContain(POLLED);
        expect(answer).toContain('Connection: close');
      }
      await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
      slow.write('cd');
      expect(await slow.untilClosed()).toContain('201 Created');
      expect(await ended).toBe(0);
      expect(isRedisRunning(redisPid)).toBe(false);
    },

    async 'T41: answers 200 long polls and ends 50 streams within two seconds, loses no job, and exits with 0'() {
      await boot();
      const polls = await Promise.all(Array.from({ length: 200 }, () => send(poll(600))));
      const streams = await Promise.all(
        Array.from({ length: 50 }, () =>
          send(`GET /v1/stop/events HTTP/1.1\r\nHost: x\r\nX-Token: ${token}\r\n\r\n`),
        ),
      );
      await waitFor(async () => {
        const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
        return (
          text.includes('pumphouse_waiters{pool="default"} 200') &&
          text.includes('pumphouse_event_streams 50')
        );
      });
      const time = new OwnTime();
      const ended = server.end('SIGTERM');
      const answers = await Promise.all(polls.map((connection) => connection.untilClosed()));
      expect(time.end()).toBeLessThan(2_000);
      for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 404 [^]*no job available/);
      for (const stream of streams)
        expect(await stream.untilClosed()).toMatch(/^HTTP\/1\.1 200 [^]*: the server ends the stream/);
      expect(await ended).toBe(0);
      expect(server.output).not.toContain('cut connections');
    },

    async 'T41: loses no job that is published or leased when the signal comes'() {
      await boot();
      const headers = { 'X-Token': token };
      const url = `${server.url}/api/stop/raced`;
      const polls = await Promise.all(
        Array.from({ length: 200 }, () => send(poll(600).replace('/stop/q', '/stop/raced'))),
      );
      const sent = Array.from({ length: 200 }, () =>
        fetch(`${url}?tries=1`, { method: 'PUT', body: 'x', headers }).then(
          ({ status }) => status === 201,
          () => false,
        ),
      );
      const ended = server.end('SIGTERM');
      const given = (await Promise.all(polls.map((connection) => connection.untilClosed())))
        .flatMap((answer) => [...answer.matchAll(/"job_id":"(\w+)"/g)])
        .map(([, id]) => id);
      const stored = (await Promise.all(sent)).filter(Boolean).length;
      expect(await ended).toBe(0);

      await server.start();
      const size = async (rest: string): Promise<number> =>
        ((await (await fetch(`${url}${rest}/size`, { headers })).json()) as { size: number }).size;
      expect(new Set(given).size).toBe(given.length);
      // What was stored and not told (its connection was closed first) may be there too: never less.
      expect(given.length + (await size(''))).toBeGreaterThanOrEqual(stored);
      expect(await size('/deadletter')).toBe(0);
    },

    async 'waits no longer than server.drain_ms'() {
      await boot({ PUMPHOUSE_SERVER__DRAIN_MS: '300' });
      const stuck = await send(`${upload(4)}ab`);
      await sleep(100);
      const time = new OwnTime();
      expect(await server.end('SIGTERM')).toBe(0);
      expect(time.end()).toBeLessThan(3_000);
      expect(await stuck.untilClosed()).toBe('');
    },

    async 'is not delayed by idle connections'() {
      await boot();
      const idle = await send('');
      const kept = await send(poll(0));
      await kept.until(POLLED);
      const time = new OwnTime();
      expect(await server.end('SIGTERM')).toBe(0);
      expect(time.end()).toBeLessThan(3_000);
      expect(server.output).not.toContain('cut connections');
      await Promise.all([idle.untilClosed(), kept.untilClosed()]);
    },

    async 'ends at once at a second signal, and leaves its Redis for the next start'() {
      await boot({ PUMPHOUSE_SERVER__READY_LAG_MS: '3000' });
      const waiting = await send(poll(600));
      await sleep(100);
      const ended = server.end('SIGTERM');
      await waitFor(async () => (await fetch(`${server.url}/readyz`)).status === 503);
      const time = new OwnTime();
      void server.end('SIGINT');
      expect(await ended).toBe(1);
      expect(time.end()).toBeLessThan(2_500);
      await waiting.untilClosed();
      expect(isRedisRunning(server.redisPid)).toBe(true);
    },
  };
  const names = Object.keys(cases);
  // Each start with two workers loads the program three times.
  it.each(workers === 1 ? names : someOf(names, 0))('passes the case: %s', (name) => cases[name]!(), 60_000);
});
