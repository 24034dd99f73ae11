import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { head, RawConnection, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { withRoutes } from '../support/routes.js';

/** Requests that a client sends before it reads a first answer: with the longest path, several packets. */
const REQUESTS = 120;
/** What one connection may make the server hold, by any route, in answers that have begun. */
const MOST_ANSWERS = 33;
/** Buffers beside those that all answers share: the longest answer has 1.5 MB. */
const MOST_BYTES = 10_000_000;

describe('T52: answers that a client does not read', () => {
  let app: TestApp;
  /** Paths that need no token, and some that reject requests without one. */
  let paths: { readonly isAdmin: boolean; readonly path: string }[];
  const responses = new Set<ServerResponse>();
  const open: RawConnection[] = [];
  beforeAll(async () => {
    const { started, routes } = await withRoutes(() => TestApp.start());
    app = started;
    const open = routes.filter(({ method, template }) => method === 'GET' && !template.includes(':'));
    const addresses = [...new Set(open.map(({ template }) => template)), '/api/ns/q', '/v1/ns/jobs', '/none'];
    paths = addresses.map((path) => ({
      path,
      isAdmin: !/^\/(api|v1|docs|healthz|readyz|none)\b/.test(path),
    }));
    for (const { app: each } of [app.server.api, app.server.admin]) {
      each.getHttpServer().on('request', (_request, response: ServerResponse) => responses.add(response));
    }
  });
  afterEach(async () => {
    for (const connection of open.splice(0)) connection.cut();
    responses.clear();
    await waitFor(async () => (await metric('pumphouse_http_in_flight')) === 0, 5_000);
  });
  afterAll(() => app.stop());

  async function metric(name: string): Promise<number> {
    const { text } = await app.admin('GET', '/metrics');
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  }
  /** Sends many requests, and reads nothing. */
  async function flood(path: string, isAdmin = false): Promise<RawConnection> {
    const connection = isAdmin
      ? new RawConnection(connect(app.server.admin.port, '127.0.0.1'))
      : await app.open();
    open.push(connection);
    connection.socket.pause();
    connection.write(head('GET', path).repeat(REQUESTS));
    return connection;
  }
  /** Answers that were handed over, and that the system has not taken. */
  const waiting = (): ServerResponse[] =>
    [...responses].filter(({ headersSent, writableFinished }) => headersSent && !writableFinished);

  it(`are at most ${MOST_ANSWERS} on a connection, and take less than 10 MB`, async () => {
    await app.get('/v1/openapi.json', { token: null });
    await app.get('/docs/swagger-ui-bundle.js', { token: null });
    const before = process.memoryUsage().arrayBuffers;
    const most: Record<string, number> = {};
    let mostBytes = 0;
    for (const { isAdmin, path } of paths) {
      const connection = await flood(path, isAdmin);
      await waitFor(() => responses.size > 0);
      await sleep(10);
      if (waiting().length > MOST_ANSWERS) most[`${path} ${String(isAdmin)}`] = waiting().length;
      mostBytes = Math.max(mostBytes, process.memoryUsage().arrayBuffers - before);
      connection.cut();
      responses.clear();
    }
    expect(most).toEqual({});
    expect(mostBytes).toBeLessThan(MOST_BYTES);
  });

  it('arrive in order, none missing, at a client that reads late', async () => {
    const connection = await flood('/docs/swagger-ui.css');
    await waitFor(() => waiting().length > 1);
    connection.write(head('GET', '/none', { Connection: 'close' }));
    connection.socket.resume();

    const received = await connection.untilClosed();
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    expect(statuses).toEqual([...Array.from({ length: REQUESTS }, () => '200'), '404']);
  });

  it('end long polls of their connection before the wait is over', async () => {
    const connection = await app.open();
    open.push(connection);
    const poll = head('GET', `/api/${app.namespace}/q?timeout=30`, { 'X-Token': app.token });
    connection.write(poll);
    await waitFor(() => responses.size === 1);
    const heldMs = performance.now();
    connection.write(poll.repeat(REQUESTS - 1));

    const received = await connection.until('no job available', REQUESTS - MOST_ANSWERS);
    expect(received).not.toContain('200 OK');
    // A wait that goes on takes 30 s.
    expect(performance.now() - heldMs).toBeLessThan(20_000);
  });
});
