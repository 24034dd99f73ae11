import { setTimeout as sleep } from 'node:timers/promises';
import { EventsService } from '../../src/events/events.service.js';
import { EXAMPLES } from '../../src/openapi/examples.js';
import { head, type RawConnection, type StoreOfOwn, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { addressOf, type Route, withRoutes } from '../support/routes.js';
import { IS_LONG } from '../support/scale.js';

/** `npm run chaos` has each call at each stage hung up in both ways, with Redis stalled for a second. */
const STALL_MS = IS_LONG ? 1_000 : 150;
const NAMES = { queue: 'mail', id: 'order-17', job_id: 'order-17', name: 'host-1', key: 'grace_ms' };
/** What has calls wait that can. */
const WAITS: Readonly<Record<string, string>> = {
  'GET /api/:namespace/:queue': '?timeout=30&ttr=600',
  'POST /v1/:namespace/jobs': '?wait_ms=30000',
  'GET /v1/:namespace/jobs': '?queue=mail',
};

/** How far a client comes with its request. Each gives the packets that it sends. */
const STAGES: Readonly<Record<string, (start: Start, body: string) => string[]>> = {
  'the whole request': (start, body) => [start({ 'Content-Length': String(body.length) }) + body],
  'the head': (start, body) => [start({ 'Content-Length': String(body.length) })],
  'all chunks': (start, body) => [
    start({ 'Transfer-Encoding': 'chunked' }),
    `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ],
  'some chunks': (start, body) => [
    `${start({ 'Transfer-Encoding': 'chunked' })}${body.length.toString(16)}\r\n${body}\r\n`,
  ],
  'an expectation': (start, body) => [
    start({ Expect: '100-continue', 'Content-Length': String(body.length) }),
  ],
  'an expectation and the body': (start, body) => [
    start({ Expect: '100-continue', 'Transfer-Encoding': 'chunked' }),
    `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ],
};
type Start = (headers: Record<string, string>) => string;

/** A close that says so to the server, and one that resets the connection. */
const WAYS: readonly ((connection: RawConnection) => void)[] = [
  (connection) => connection.socket.destroy(),
  (connection) => connection.socket.resetAndDestroy(),
];

describe('T49: clients that disconnect', () => {
  let store: StoreOfOwn & { readonly app: TestApp };
  let app: TestApp;
  let routes: Route[];
  /** Connections and requests that the server has seen so far. */
  let [connections, requests] = [0, 0];
  beforeAll(async () => {
    ({ started: store, routes } = await withRoutes(() => TestApp.alone()));
    ({ app } = store);
    routes = routes.filter(({ template }) => /^\/(api|v1)\/:namespace/.test(template));
    const server = app.server.api.app.getHttpServer();
    server.on('connection', () => connections++).on('request', () => requests++);
    expect(routes.length).toBeGreaterThan(50);
  });
  afterAll(() => app.stop());

  /** Each call in each stage on each path. The short form runs a fifth of them in each round, and event streams in all. */
  function plans(burst: number): { packets: string[]; hangUp: (connection: RawConnection) => void }[] {
    return routes
      .flatMap((route) => {
        const template = `${route.method} ${route.template}`;
        const path = addressOf(route, { namespace: app.namespace, ...NAMES }) + (WAITS[template] ?? '');
        const start: Start = (more) => head(route.method, path, { 'X-Token': app.token, ...more });
        const example = EXAMPLES[template.replaceAll(/:(\w+)/g, '{$1}')];
        const body = example === undefined ? 'hello' : JSON.stringify(example);
        const stages = Object.values(STAGES).map((packets) => packets(start, body));
        if (route.method === 'GET') stages.splice(0, stages.length, [start({})], [start({}) + start({})]);
        const isStream = route.template.endsWith('/events');
        return stages.flatMap((packets) => WAYS.map((hangUp) => ({ packets, hangUp, isStream })));
      })
      .filter(({ isStream }, i) => IS_LONG || isStream || i % 5 === burst);
  }

  /** All that requests hold: nothing but idle connections, once all of them are over. */
  async function held(): Promise<Record<string, number>> {
    const { text } = await app.admin('GET', '/metrics');
    const metric = (name: string): number =>
      text
        .split('\n')
        .filter((line) => line.startsWith(name) && !line.startsWith(`${name}_`))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    const api = app.server.api.app;
    const { loadShedder: gate } = api.getHttpAdapter().getInstance().serverContext;
    const streams = api.get(EventsService, { strict: false });
    return {
      inFlight: metric('pumphouse_http_in_flight'),
      bodyBytes: metric('pumphouse_http_body_bytes'),
      waiters: metric('pumphouse_waiters'),
      streams: metric('pumphouse_event_streams'),
      connections: metric('pumphouse_http_connections'),
      slotsOfWaiters: Reflect.get(gate, 'waiters') as number,
      tokensThatWait: (Reflect.get(gate, 'waitersOf') as Map<string, number>).size,
      openStreams: (Reflect.get(streams, 'streams') as Map<unknown, unknown>).size,
      tokensThatListen: (Reflect.get(streams, 'ofToken') as Map<string, number>).size,
    };
  }

  it.each([
    { burst: 0, when: 'before their token is known', isFresh: true, stall: true, afterMs: 0 },
    { burst: 1, when: 'while their script runs', isFresh: false, stall: true, afterMs: 0 },
    { burst: 2, when: 'while answers are on their way', isFresh: false, stall: true, afterMs: 20 },
    { burst: 3, when: 'at once', isFresh: true, stall: false, afterMs: 0 },
  ])(
    'hold no connection, wait, stream or body of the server if they leave $when',
    async ({ burst, isFresh, stall, afterMs }) => {
      await app.put('mail?tries=1&ttl=0');
      const before = await held();
      if (isFresh) app.server.api.forgetTokens();
      [connections, requests] = [0, 0];
      const all = await Promise.all(
        plans(burst).map(async (plan) => ({ ...plan, connection: await app.open() })),
      );
      // One is accepted in each turn of the event loop: the system says that they are open long before.
      await waitFor(() => connections === all.length, 10_000);
      if (stall) process.kill(store.redis.pid, 'SIGSTOP');
      try {
        for (const { connection, packets } of all) connection.write(packets[0]!);
        if (stall) await waitFor(() => requests >= all.length, 10_000);
        for (const { connection, packets } of all) if (packets[1] !== undefined) connection.write(packets[1]);
        if (stall) await sleep(STALL_MS);
        if (afterMs === 0) for (const { connection, hangUp } of all) hangUp(connection);
        if (stall) await sleep(50);
      } finally {
        if (stall) process.kill(store.redis.pid, 'SIGCONT');
      }
      for (const [i, { connection, hangUp }] of all.entries()) {
        if (i % 50 === 0) await sleep(afterMs / 10);
        hangUp(connection);
      }

      let after: Record<string, number> = {};
      await waitFor(async () => {
        await sleep(40);
        after = await held();
        return JSON.stringify(after) === JSON.stringify(before);
      }, 5_000).catch(() => undefined);
      expect(after).toEqual(before);
      expect(Object.values({ ...after, connections: 0 }).filter((count) => count !== 0)).toEqual([]);
      const leased = async (): Promise<number> =>
        (await app.engine.queues.counts(app.namespace, ['mail']))[0]?.leased ?? 0;
      // What was handed to the system before its client hung up is with that client.
      if (stall && afterMs === 0) await waitFor(async () => (await leased()) === 0, 5_000);
      expect(await app.put('after')).toMatchObject({ status: 201 });
      expect(await app.get('after?timeout=1')).toMatchObject({ status: 200 });
      expect(app.log.filter(({ level }) => level === 'error')).toEqual([]);
    },
    20_000,
  );
});
