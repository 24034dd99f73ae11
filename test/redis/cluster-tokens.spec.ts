import { tokenDigest } from '../../src/auth/credentials.js';
import { TokenInventory } from '../../src/auth/token-inventory.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { TokenStore, type TokenId } from '../../src/auth/token-store.js';
import { RedisPool } from '../../src/redis/pool.js';
import { SlotMove, TestCluster } from '../support/cluster.js';
import { silentLog } from './fixture.js';

const LIMIT = { read: 5, write: 5, intervalS: 600 };
const ORDERS: [string, (a: string, b: string) => number][] = [
  ['from the first to the last', (a, b) => (a < b ? -1 : 1)],
  ['from the last to the first', (a, b) => (a < b ? 1 : -1)],
];

describe('the token store in a slot that is moving', () => {
  let cluster: TestCluster;
  let pools: RedisPool[];
  let store: TokenStore;
  /** Its changes are refused soon when the move holds them up. */
  let hasty: TokenStore;
  const keys = new TokenKeys('');
  beforeAll(async () => {
    cluster = await TestCluster.start();
    pools = await Promise.all(
      [5_000, 250].map((commandTimeoutMs) => {
        const options = {
          allowUnsafe: false,
          keyPrefix: '',
          commandTimeoutMs,
          clusterNodes: cluster.addresses,
        };
        return RedisPool.connect('tokens', options, silentLog);
      }),
    );
    [store, hasty] = pools.map((pool) => new TokenStore(pool)) as [TokenStore, TokenStore];
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    await cluster.stop();
  });

  const idOf = (namespace: string, token: string): TokenId => ({ pool: 'default', namespace, token });
  const digestOf = ({ pool: name, namespace, token }: TokenId): string => tokenDigest(name, namespace, token);

  it.each(ORDERS)(
    'knows every token all the time, and changes wholly or not at all, %s',
    async (name, order) => {
      const ns = `ns-${name.replaceAll(' ', '-')}`;
      const kept = idOf(ns, await store.create(ns, 'default', 'kept'));
      const doomed = idOf(ns, await store.create(ns, 'default', 'doomed'));
      for (const id of [kept, doomed]) await store.setLimit(id, LIMIT, false);
      const isChanged = { created: false, deleted: false, limited: false };
      const trying = async (what: keyof typeof isChanged, change: () => Promise<unknown>): Promise<void> => {
        if (isChanged[what]) return;
        await change().then(
          () => (isChanged[what] = true),
          // Refused it may be, but then it has not been done in part: see below.
          (error: unknown) => expect(error).toMatchObject({ code: 'pool_unavailable' }),
        );
      };
      const move = await SlotMove.begin(cluster, keys.limited);
      let counted = 0;
      for (;;) {
        expect(await store.find(digestOf(kept))).toMatchObject({ description: 'kept' });
        if ((await store.count(digestOf(kept), 'read', LIMIT.read, LIMIT.intervalS)) > 0) counted++;
        await Promise.all([
          trying('created', () => hasty.create(ns, 'default', 'new', 'new-token')),
          trying('deleted', () => hasty.delete(doomed)),
          trying('limited', () => hasty.setLimit(kept, { ...LIMIT, read: 6 }, false)),
        ]);
        const [next] = (await move.keysAt(move.source)).sort((a, b) => order(a.toString(), b.toString()));
        if (!next) break;
        await move.moveKey(next);
      }
      await move.finish();

      const listed = (await new TokenInventory(pools[0]!).describeAll(ns, 'default')).map(
        ({ token }) => token,
      );
      const expected = [kept.token, ...(isChanged.deleted ? [] : [doomed.token])];
      expect(listed.sort()).toEqual([...expected, ...(isChanged.created ? ['new-token'] : [])].sort());
      for (const token of [kept.token, doomed.token, 'new-token']) {
        expect((await store.find(digestOf(idOf(ns, token)))) !== null).toBe(listed.includes(token));
      }
      expect(
        (await store.limits()).filter(({ namespace }) => namespace === ns).map(({ token }) => token),
      ).toEqual(expected.sort());
      // A limit that is set anew counts from zero; else none was counted beyond it.
      if (!isChanged.limited) expect(counted).toBeLessThanOrEqual(LIMIT.read);
      expect(counted).toBeGreaterThan(0);
    },
  );
});
