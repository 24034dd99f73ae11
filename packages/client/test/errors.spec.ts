import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TestCa } from '../../../test/support/certificates.js';
import { isPumphouseError, type Pumphouse, PumphouseError, type PumphouseOptions } from '../src/node.js';
import { fetchTransport } from '../src/transport/fetch-transport.js';
import { nodeTransport } from '../src/transport/node-transport.js';
import { app, clientOf, fresh, proxy, useServer } from './fixture.js';
import type { Fault } from './faulty-proxy.js';

useServer();

const clients: Pumphouse[] = [];
const made = (options: Partial<PumphouseOptions>): Pumphouse => {
  const one = clientOf({ retry: { tries: 1, attemptMs: 2_000 }, ...options });
  clients.push(one);
  return one;
};
afterEach(() => {
  for (const one of clients.splice(0)) one.close();
});

/** The message of the error of a call: one line. */
const messageOf = async (call: Promise<unknown>): Promise<string> => {
  const error: unknown = await call.then(
    () => Promise.reject(new Error('it was answered')),
    (reason: unknown) => reason,
  );
  if (!isPumphouseError(error)) throw error;
  expect(error.message).not.toContain('\n');
  return error.message;
};
const local = (port: number, protocol = 'http'): string => `${protocol}://127.0.0.1:${String(port)}`;

describe.each([
  ['node:http', nodeTransport],
  ['fetch', fetchTransport],
])('the error of a client call without an answer, over %s', (_, transport) => {
  let ca: TestCa;
  let secure: Server;
  let securePort: number;
  let closedPort: number;
  beforeAll(async () => {
    ca = TestCa.create();
    const { cert, key } = ca.sign('server');
    secure = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_request, response) =>
      response.end('{}'),
    );
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    securePort = (secure.address() as AddressInfo).port;
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    closedPort = (closed.address() as AddressInfo).port;
    await new Promise((resolve) => closed.close(resolve));
  });
  afterAll(async () => {
    secure.closeAllConnections();
    await new Promise((resolve) => secure.close(resolve));
    ca.remove();
  });

  it.each<[string, () => string, RegExp]>([
    [
      'no server listens',
      () => local(closedPort),
      /^network: no server accepts connections at http:\/\/127\.0\.0\.1:\d+: is it running, and is the url right\? \(ECONNREFUSED; GET \/v1\/app-\w+\/queues\)$/,
    ],
    [
      'the host name does not exist',
      () => 'http://nowhere.invalid:7777',
      /^network: the host name in http:\/\/nowhere\.invalid:7777 (is unknown: is the url right\?|cannot be resolved now: .*) \(E\w+; GET .*\)$/,
    ],
    [
      'the port wants TLS',
      () => local(securePort),
      /^network: the connection to http:\/\/127\.0\.0\.1:\d+ ended without an answer: if it is a port with TLS, use https:\/\/ \(.*; GET .*\)$/,
    ],
    [
      'the port has no TLS',
      () => local(app.port, 'https'),
      /^network: https:\/\/127\.0\.0\.1:\d+ does not answer with TLS: is it a port for http:\/\/\? \(\w+; GET .*\)$/,
    ],
    [
      'the certificate is not trusted',
      () => local(securePort, 'https'),
      /^network: the certificate of https:\/\/127\.0\.0\.1:\d+ is not trusted: give the CA of its certificate as tls\.ca \(\w+; GET .*\)$/,
    ],
  ])('says what to do if %s', async (_title, url, message) => {
    expect(await messageOf(made({ url: url(), transport }).queues.list())).toMatch(message);
  });

  it('names the server, the call and the time if there is no answer in time', async () => {
    proxy.rule = () => 'hang';
    const hasty = made({ url: proxy.url, transport, retry: { tries: 1, attemptMs: 100 } });
    expect(await messageOf(hasty.queues.list())).toBe(
      `timeout: no answer within 100 ms from ${proxy.url} (GET /v1/${app.namespace}/queues): is the server overloaded, or its network? retry.attemptMs allows more time`,
    );
    expect(await messageOf(hasty.publish({ queue: fresh() }))).toContain(`(POST /v1/${app.namespace}/jobs)`);
  });

  it('shows no password of the url', async () => {
    const one = made({ url: `http://user:of-the-proxy@127.0.0.1:${String(closedPort)}/path`, transport });
    const message = await messageOf(one.queues.list());
    expect(message).toContain(local(closedPort));
    expect(message).toContain(`GET /path/v1/${app.namespace}/queues`);
    expect(message).not.toContain('of-the-proxy');
  });
});

describe('the error of a client call that no server of Pumphouse answers', () => {
  const page = '<html><body>Nothing to see here</body></html>';
  it.each<[string, Fault, RegExp]>([
    [
      'a page with 404',
      { status: 404, text: page },
      /^http_404: http:\S+ answers 404 to GET \S+\/queues, and not as the API of Pumphouse: is the url right\? the API of Pumphouse has port 7777 by default, and 7778 is its admin port$/,
    ],
    [
      'a page with 200',
      { status: 200, text: page },
      /^invalid_response: http:\S+ answers 200 to GET \S+\/queues, and not as the API of Pumphouse: is the url right\?/,
    ],
    [
      'the page of a proxy whose server is down',
      { status: 502, text: page },
      /^http_502: .* a proxy in between does not reach the server: is it running\?$/,
    ],
    [
      'a proxy that wants a login',
      { status: 403, text: page },
      /^http_403: .* a proxy in between refuses the call$/,
    ],
    [
      'a redirect',
      { status: 301, text: '', headers: { location: 'https://queue.example.com/login?token=secret' } },
      /^http_301: .* it redirects to https:\/\/queue\.example\.com\/login, which the client does not follow: use the final url$/,
    ],
  ])('says so and what to do: %s', async (_, fault, message) => {
    proxy.rule = () => fault;
    const shown = await messageOf(made({ url: proxy.url }).queues.list());
    expect(shown).toMatch(message);
    expect(shown).not.toContain('Nothing to see here');
  });

  it('names the admin port if that answers', async () => {
    const { port } = app.server.admin.app.getHttpServer().address() as AddressInfo;
    expect(await messageOf(made({ url: local(port) }).publish({ queue: fresh() }))).toMatch(
      /^http_404: .*7778 is its admin port$/,
    );
  });
});

describe('the error of a client call that the server refuses', () => {
  it('has the code once, what is wrong, the call and the status', async () => {
    const { namespace } = app;
    const message = await messageOf(made({}).jobs.get('none'));
    expect(message).toMatch(/^job_not_found: .+ \(GET \/v1\/[\w-]+\/jobs\/none: 404\)$/);
    expect(await messageOf(made({ token: 'nonsense' }).queues.list())).toMatch(
      new RegExp(
        `^token_invalid: .+ \\(GET /v1/${namespace}/queues: 401\\)\\. Make one: pumphouse token create ${namespace} -d 'what it is for'$`,
      ),
    );
  });

  it('says that the url of the client ends before /v1', async () => {
    expect(await messageOf(made({ url: `${local(app.port)}/v1` }).queues.list())).toMatch(
      /^not_found: .+ \(GET \/v1\/v1\/\S+: 404\)\. The URL of the client ends before \/v1$/,
    );
  });

  it('lists each refused field once with its rule', async () => {
    const wrong = { queue: fresh(), tries: 0, priority: 1_000 };
    const message = await messageOf(made({}).publish(wrong));
    expect(message).toMatch(
      /^invalid_argument: (tries: .+; priority: .+|priority: .+; tries: .+) \(POST \/v1\/\S+\/jobs: 400\)$/,
    );
    expect(message.match(/tries|priority/g)).toHaveLength(2);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['delayMs', () => made({}).publish({ queue: fresh(), delayMs: -1 }), 'delayMs: must be a whole number'],
    [
      'delay',
      () => made({}).publish({ queue: fresh(), ...{ delay: 1 } }),
      'delay: unknown field; did you mean delayMs?',
    ],
    [
      'retry.delayMs',
      () => made({}).publish({ queue: fresh(), retry: { kind: 'fixed', delayMs: -1 } }),
      'retry.delayMs: must be a whole number',
    ],
    [
      'jobs[1].maxRunMs',
      () => made({}).publishMany([{ queue: fresh() }, { queue: fresh(), maxRunMs: 0 }]),
      'jobs[1].maxRunMs: must be a whole number',
    ],
    [
      'runAt',
      () => made({}).publish({ queue: fresh(), runAt: new Date(), delayMs: 1 }),
      'runAt: must not be set together with delayMs',
    ],
    [
      'ttlMs',
      () => made({}).publish({ queue: fresh(), ttlMs: 1, delayMs: 2 }),
      'ttlMs: must be 0, or at least delayMs',
    ],
    [
      'idempotencyTtlMs',
      () => made({}).publish({ queue: fresh() }, { idempotencyKey: 'k', idempotencyTtlMs: 1 }),
      'idempotencyTtlMs: must be',
    ],
    [
      'idempotencyKey',
      () => made({}).publish({ queue: fresh() }, { idempotencyKey: 'a b' }),
      'idempotencyKey: must have',
    ],
    ['durability', () => made({}).publish({ queue: fresh() }, { durability: 'x' }), 'durability: must be'],
    [
      'dependsOn[0]',
      () => made({}).publish({ queue: fresh(), dependsOn: ['my_order'], onMissingDependency: 'refuse' }),
      'dependsOn[0]: must be the id of a job that exists: there is no job my_order.',
    ],
    [
      'attributes',
      () => made({}).publish({ queue: fresh(), attributes: { 'a b': 'x' } }),
      'attributes: must',
    ],
    [
      'maxRunningPerKey',
      () => made({}).queues.update(fresh(), { maxRunningPerKey: 0 }),
      'maxRunningPerKey: must be a whole number',
    ],
    [
      'schedule.offsetMs',
      () =>
        made({}).recurring.put('r', { schedule: { everyMs: 1_000, offsetMs: -1 }, job: { queue: fresh() } }),
      'schedule.offsetMs: must be',
    ],
    ['limit', () => made({}).jobs.list({ limit: 0 }), 'limit: must be'],
  ])('names the refused field %s as the client calls it', async (field, call, part) => {
    const error = await call().then(
      () => new Error('it was not refused'),
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(PumphouseError);
    const { message, fields, details } = error as PumphouseError;
    expect(fields.map((one) => one.field)).toEqual([field]);
    expect(message).toContain(`: ${part}`);
    const [{ field: own }] = details['errors'] as [{ field: string }];
    expect(message.includes(own)).toBe(own === field);
  });

  it('lists five refused fields and the number of the others', async () => {
    const errors = Array.from({ length: 7 }, (_, i) => ({ field: `f${String(i)}`, rule: 'must be right' }));
    proxy.rule = () => ({ status: 400, body: { code: 'invalid_argument', detail: 'no', errors } });
    const shown = ['f0', 'f1', 'f2', 'f3', 'f4'].map((field) => `${field}: must be right`).join('; ');
    expect(await messageOf(made({ url: proxy.url }).queues.list())).toBe(
      `invalid_argument: ${shown}; and 2 more fields (GET /v1/${app.namespace}/queues: 400)`,
    );
  });
});
