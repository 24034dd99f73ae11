/** What targets that refuse every connection cost the others: a part of `node bench/push.mjs`. */
import { pause } from '../load/child-process.mjs';
import { NAMESPACE } from '../servers/test-server.mjs';

const FAILING = 'failing';
/** Each gets one job, which fails until the breaker opens. */
const JOB = { data: 1, tries: 1_000, retry: { kind: 'fixed', delay_ms: 200 } };
const AT_ONCE = 16;
/** Between two publishes of the other namespace. */
const EVERY_MS = 10;
const OPEN_WITHIN_MS = 120_000;

/**
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {string} url that refuses connections
 * @param {{ failing: number, seconds: number }} size
 */
export async function measureFailing(testServer, url, { failing, seconds }) {
  const [token = ''] = await testServer.tokens([FAILING]);
  const alone = await publishes(testServer, seconds);
  const names = Array.from({ length: failing }, (_, i) => `t${i}`);
  await each(names, async (name) => {
    await call(testServer, token, 'PUT', `v1/${FAILING}/targets/${name}`, { url });
    await call(testServer, token, 'PATCH', `v1/${FAILING}/queues/${name}`, { push: { target: name } });
  });
  const startedMs = performance.now();
  await each(names, (queue) => call(testServer, token, 'POST', `v1/${FAILING}/jobs`, { queue, ...JOB }));
  for (let open = 0; open < failing;) {
    if (performance.now() - startedMs > OPEN_WITHIN_MS) throw new Error(`${open} breakers are open`);
    await pause(1_000);
    const { items } = await call(testServer, token, 'GET', `v1/${FAILING}/targets`);
    open = items.filter((/** @type {any} */ { breaker }) => breaker.state !== 'closed').length;
  }
  const openS = (performance.now() - startedMs) / 1_000;
  const beside = await publishes(testServer, seconds);
  return { alone, beside, openS };
}

/** Publishes to another namespace, one after another. @param {import('../servers/test-server.mjs').TestServer} testServer @param {number} seconds */
async function publishes(testServer, seconds) {
  const before = testServer.cpu();
  const startedMs = performance.now();
  const ms = [];
  while (performance.now() - startedMs < seconds * 1_000) {
    const sentMs = performance.now();
    await call(testServer, testServer.token, 'PUT', `api/${NAMESPACE}/beside`, 1);
    ms.push(performance.now() - sentMs);
    await pause(EVERY_MS);
  }
  const tookS = (performance.now() - startedMs) / 1_000;
  const sorted = ms.toSorted((a, b) => a - b);
  return {
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? NaN,
    server: ((testServer.cpu().server - before.server) / tookS) * 100,
  };
}

/** @param {string[]} names @param {(name: string) => Promise<unknown>} act */
async function each(names, act) {
  for (let i = 0; i < names.length; i += AT_ONCE) await Promise.all(names.slice(i, i + AT_ONCE).map(act));
}

/**
 * @param {import('../servers/test-server.mjs').TestServer} testServer
 * @param {string} token
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
async function call({ port }, token, method, path, body) {
  const answer = await fetch(`http://127.0.0.1:${port}/${path}`, {
    ...{ method, headers: { 'x-token': token } },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

/** @param {Awaited<ReturnType<typeof measureFailing>>} measured @returns {import('../report/target-table.mjs').Row} */
export function failingRow({ alone, beside, openS }) {
  const more = beside.server - alone.server;
  return {
    ...{ key: 'push-failing', name: 'publishes of another namespace, while 1,000 targets fail' },
    ...{ unit: 'ms; s; % of a core more than alone' },
    values: { 'p99 alone': alone.p99, p99: beside.p99, 'breakers open after': openS, 'server more': more },
    target: 'p99 ≤ 2 × alone, ≤ 10 % of a core',
    met: beside.p99 <= 2 * alone.p99 && more <= 10,
  };
}
