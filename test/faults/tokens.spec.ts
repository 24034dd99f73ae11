import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { Agent, request } from 'undici';
import { spellToken } from '../../src/auth/credentials.js';
import { VALID_MS } from '../../src/auth/token-cache.js';
import { TokenStore } from '../../src/auth/token-store.js';
import { randomNamespace } from '../support/redis.js';
import { startAdmin, startApi, testParts, testPools } from '../api/admin-fixture.js';
import { propertyRuns, SEED } from '../support/scale.js';

/** Pairs of triples that are tried. */
const RUNS = propertyRuns(50);
/** Longest time for all of them, in milliseconds, on a machine that has much else to do. */
const LONGEST_MS = 30_000 + RUNS * 100;

/** Pools whose names look like parts of each other, and of what stands between them and a namespace. */
const POOLS = ['default', 'defaulta', 'a', 'aa', 'a-a', 'a_a', '-', '_', 'adefault'];
const NAMESPACES = ['a', 'aa', 'aaa', 'a-a', 'a_a', '-', '_', 'default', 'adefault', 'defaulta'];
/** What stands in keys, digests and credentials between one part and the next. */
const TOKENS = [
  ...['a', 'aa', '-a', '_a', 'a/a', 'a:a', ':a', '/a', 'a,a', '{a}', 'a}:', 'default:a'],
  ...['"a"', 'a|a', '%00a', '\\0a', 'a\\'],
];

interface Triple {
  readonly pool: string;
  readonly namespace: string;
  readonly token: string;
}
const triple = fc.record({
  pool: fc.constantFrom(...POOLS),
  namespace: fc.constantFrom(...NAMESPACES),
  token: fc.constantFrom(...TOKENS),
});
/** The second is the first but for some of its parts. */
const related = fc
  .tuple(triple, triple, fc.subarray(['pool', 'namespace', 'token'] as const))
  .map(([one, other, kept]): [Triple, Triple] => [
    one,
    { ...other, ...Object.fromEntries(kept.map((part) => [part, one[part]])) },
  ]);
const pair = fc.oneof(related, fc.constantFrom(...equalTexts()));

/** All pairs of different triples that are one text when they are strung together by what a name may hold, or by nothing. */
function equalTexts(): [Triple, Triple][] {
  const triples = POOLS.flatMap((pool) =>
    NAMESPACES.flatMap((namespace) => TOKENS.map((token) => ({ pool, namespace, token }))),
  );
  return ['', '-', '_'].flatMap((between) => {
    const byText = new Map<string, Triple[]>();
    for (const each of triples) {
      const text = Object.values(each).join(between);
      byText.set(text, [...(byText.get(text) ?? []), each]);
    }
    return [...byText.values()].flatMap((equal) =>
      equal.flatMap((one, i) => equal.slice(i + 1).map((other): [Triple, Triple] => [one, other])),
    );
  });
}

/** What a caller that was let in is told: there is no job. Every pool that is named exists. */
const NOTHING_THERE = 404;
const REFUSED = 401;

describe('tokens over two servers', () => {
  const agent = new Agent({ connections: 1 });
  let servers: Awaited<ReturnType<typeof startApi>>[];
  let admin: Awaited<ReturnType<typeof startAdmin>>;
  let store: TokenStore;

  beforeAll(async () => {
    const [base] = Object.values(testPools());
    const pools = Object.fromEntries(
      POOLS.map((name) => [name, { ...base!, keyPrefix: `${base!.keyPrefix}${name}:` }]),
    );
    servers = [await startApi(testParts(pools).parts), await startApi(testParts(pools).parts)];
    admin = await startAdmin(testParts(pools).parts);
    store = admin.server.app.get(TokenStore, { strict: false });
  });

  afterAll(async () => {
    await agent.destroy();
    for (const { server } of [...servers, admin]) await server.stop();
  });

  /** Asks for a job, with the token in the header or in the query. @returns the status */
  async function consume(namespace: string, sent: string, server: number, where: string): Promise<number> {
    const query = where === 'query' ? `?token=${encodeURIComponent(sent)}` : '';
    const answer = await request(`${servers[server]!.url}/api/${namespace}/q${query}`, {
      dispatcher: agent,
      headers: where === 'header' ? { 'x-token': sent } : {},
    });
    await answer.body.dump();
    return answer.statusCode;
  }

  it(
    `T25: give access to their own pool and namespace only, for any similar names (seed ${SEED})`,
    async () => {
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(pair, fc.constantFrom('header', 'query'), async ([made, tried], where) => {
          // What a server remembers of an earlier run for its second must not decide this one.
          const end = `-${String(runs++)}`;
          const { namespace } = made;
          const id = { ...made, token: made.token + end };
          await store.create(id.namespace, id.pool, 'd', id.token);
          // The right one first: the connection has proved it when the other one comes.
          expect(await consume(namespace, spellToken(id), 0, where)).toBe(NOTHING_THERE);
          const theirs = { ...tried, token: tried.token + end };
          const isSame =
            made.pool === tried.pool && namespace === tried.namespace && made.token === tried.token;
          for (const sent of [spellToken(theirs), `${theirs.pool}:${theirs.token}`])
            expect(await consume(tried.namespace, sent, 0, where)).toBe(isSame ? NOTHING_THERE : REFUSED);
          await store.delete(id);
        }),
        { numRuns: RUNS, seed: SEED },
      );
      expect(runs).toBeGreaterThanOrEqual(RUNS);
    },
    LONGEST_MS,
  );

  it('T26: have their own limits on two servers, also after the servers read the limits again', async () => {
    const namespace = randomNamespace();
    const limits = [
      { read: 3, write: 11, intervalS: 600 },
      { read: 7, write: 5, intervalS: 1_200 },
    ];
    const tokens = await Promise.all(limits.map(() => store.create(namespace, 'default', 'd')));
    for (const [i, token] of tokens.entries())
      await store.setLimit({ pool: 'default', namespace, token }, limits[i]!, true);
    const used = [0, 0];
    const publish = async (token: string, server: number): Promise<number> => {
      const url = `${servers[server]!.url}/api/${namespace}/q`;
      const headers = { 'x-token': token };
      const answer = await request(url, { method: 'PUT', body: 'x', dispatcher: agent, headers });
      await answer.body.dump();
      return answer.statusCode;
    };
    for (let round = 0; round < 3; round++) {
      for (const [i, token] of tokens.entries())
        for (const server of [0, 1]) if ((await publish(token, server)) === 201) used[i]! += 1;
      expect(used).toEqual([Math.min(2 * (round + 1), 11), Math.min(2 * (round + 1), 5)]);
      // Longer than a server remembers what it read.
      await sleep(VALID_MS + 100);
    }
    for (let i = 0; i < 12; i++)
      for (const [n, token] of tokens.entries()) if ((await publish(token, i % 2)) === 201) used[n]! += 1;
    expect(used).toEqual([11, 5]);
    for (const [i, token] of tokens.entries())
      expect(await store.limit({ pool: 'default', namespace, token })).toEqual(limits[i]);
  });
});
