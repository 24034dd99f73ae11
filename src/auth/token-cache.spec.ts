import { QueueError } from '../domain/errors.js';
import { TokenCache, VALID_MS } from './token-cache.js';
import type { TokenRecord } from './token-store.js';

const record: TokenRecord = {
  pool: 'default',
  namespace: 'ns',
  token: 'secret',
  description: 'd',
  limit: null,
  rights: null,
};
const away = new QueueError('pool_unavailable', 'away');

/** A store whose answers the test controls, and a clock that the test moves. */
class SlowStore {
  nowMs = 0;
  readonly lookups: { digest: string; answer: (found: TokenRecord | null) => void; fail: () => void }[] = [];
  readonly cache = new TokenCache(
    (digest) =>
      new Promise((resolve, reject) => {
        this.lookups.push({ digest, answer: resolve, fail: () => reject(away) });
      }),
    () => this.nowMs,
  );

  async get(answer: TokenRecord | null, digest = 'd'): Promise<unknown> {
    const found = this.cache.get(digest);
    this.lookups.at(-1)?.answer(answer);
    return (await found)?.record ?? null;
  }
}

/** Lets settled promises run their callbacks. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('the token cache', () => {
  it('answers again within half a second without another read of the store', async () => {
    const store = new SlowStore();
    expect(await store.get(record)).toBe(record);
    store.nowMs = 499;
    expect(store.cache.get('d')).toMatchObject({ record });
    expect(store.lookups).toHaveLength(1);
  });

  it('refreshes a used token in the background after half a second', async () => {
    const store = new SlowStore();
    await store.get(record);
    store.nowMs = 500;
    expect(store.cache.get('d')).toMatchObject({ record });
    expect(store.cache.get('d')).toMatchObject({ record });
    expect(store.lookups).toHaveLength(2);
    store.lookups[1]!.answer(record);
    await turn();
    store.nowMs = 1_400;
    expect(store.cache.get('d')).toMatchObject({ record });
  });

  it('drops a deleted token within a second', async () => {
    const store = new SlowStore();
    await store.get(record);
    store.nowMs = 600;
    void store.cache.get('d');
    store.lookups[1]!.answer(null);
    await turn();
    expect(await store.get(null)).toBeNull();

    const other = new SlowStore();
    await other.get(record);
    other.nowMs = VALID_MS;
    expect(await other.get(null)).toBeNull();
  });

  it('measures the age of a token from the beginning of its lookup, not from a late answer', async () => {
    const store = new SlowStore();
    const slow = store.cache.get('d');
    store.nowMs = 900;
    store.lookups[0]!.answer(record);
    await slow;
    store.nowMs = VALID_MS;
    expect(await store.get(null)).toBeNull();
  });

  it('repeats a lookup for a request that joined it after more than a second', async () => {
    const store = new SlowStore();
    const first = store.cache.get('d');
    store.nowMs = 1_500;
    const second = store.cache.get('d');
    expect(store.lookups).toHaveLength(1);
    store.lookups[0]!.answer(record);
    expect(await first).toMatchObject({ record });
    await turn();
    store.lookups[1]!.answer(null);
    expect(await second).toBeNull();
  });

  it('accepts a token that was created during a lookup that did not find the token', async () => {
    const store = new SlowStore();
    const early = store.cache.get('d');
    const late = store.cache.get('d');
    const later = store.cache.get('d');
    store.lookups[0]!.answer(null);
    expect(await early).toBeNull();
    await turn();
    expect(store.lookups).toHaveLength(2);
    store.lookups[1]!.answer(record);
    expect(await late).toMatchObject({ record });
    expect(await later).toMatchObject({ record });
  });

  it('serves a cached token for a second while the store is unavailable, and then fails', async () => {
    const store = new SlowStore();
    await store.get(record);
    store.nowMs = 700;
    expect(store.cache.get('d')).toMatchObject({ record });
    store.lookups[1]!.fail();
    await turn();
    store.nowMs = 999;
    expect(store.cache.get('d')).toMatchObject({ record });
    store.lookups[2]!.fail();
    await turn();
    store.nowMs = VALID_MS;
    const refused = store.cache.get('d');
    store.lookups[3]!.fail();
    await expect(refused).rejects.toBe(away);
  });

  it('caches no unknown tokens', async () => {
    const store = new SlowStore();
    for (let i = 0; i < 1_000; i++) expect(await store.get(null, `garbage ${i}`)).toBeNull();
    expect(store.cache.size).toBe(0);
  });

  it('keeps the last 20,000 tokens', async () => {
    const store = new SlowStore();
    for (let i = 0; i < 20_010; i++) await store.get(record, `d${i}`);
    expect(store.cache.size).toBe(20_000);
    void store.cache.get('d20009');
    expect(store.lookups).toHaveLength(20_010);
  });
});
