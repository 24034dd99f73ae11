import { decodeTime, isValid } from 'ulid';
import { packUlid, randomUlid, UlidMinter, ulidSource, unpackUlid } from './ids.js';

const NOW_MS = 1_795_000_000_000;

const minting = (minter: UlidMinter) => (nowMs: number) => minter.mint(nowMs);

describe.each([
  ['of the minter', () => minting(new UlidMinter())],
  ['of the library', ulidSource],
])('ULIDs %s', (_, source) => {
  it('increase, also while the clock stands still or goes back', () => {
    const mint = source();
    let nowMs = NOW_MS;
    const ids = Array.from({ length: 5_000 }, () => mint((nowMs += nowMs % 7 === 0 ? -3 : nowMs % 2)));

    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('are valid and contain their time in milliseconds', () => {
    const id = source()(NOW_MS + 123.9);

    expect(isValid(id)).toBe(true);
    expect(decodeTime(id)).toBe(NOW_MS + 123);
  });
});

describe('ULIDs', () => {
  it('differ in their first eight characters for 1,000 minters', () => {
    const ids = Array.from({ length: 1_000 }, randomUlid);

    expect(ids.every((id) => packUlid(id) !== null)).toBe(true);
    expect(new Set(ids.map((id) => id.slice(0, 8))).size).toBe(1_000);
    expect(new Set(ids.map((id) => id[0])).size).toBe(8);
    expect(new Set(ids.map((id) => id.at(-1))).size).toBe(32);
  });

  it('increase for 1.1 million ids in one millisecond', () => {
    const minter = new UlidMinter();
    let last = '';
    for (let i = 0; i < 1_100_000; i++) {
      const id = minter.mint(NOW_MS);
      if (id <= last) throw new Error(`${id} after ${last}`);
      last = id;
    }

    expect(decodeTime(last)).toBeGreaterThan(NOW_MS);
    expect(decodeTime(last)).toBeLessThan(NOW_MS + 5);
  });

  it('have other random characters for each minter and each millisecond', () => {
    const [one, other] = [new UlidMinter(), new UlidMinter()];
    const tails = Array.from({ length: 1_000 }, (_, i) => one.mint(NOW_MS + i).slice(10));

    expect(one.mint(NOW_MS).slice(0, 22)).not.toBe(other.mint(NOW_MS).slice(0, 22));
    expect(new Set(tails.map((tail) => tail.slice(0, 6))).size).toBe(1_000);
  });

  it('are restored from their 16 bytes', () => {
    for (const id of [
      '7ZZZZZZZZZZZZZZZZZZZZZZZZZ',
      '00000000000000000000000000',
      '0123456789ABCDEFGHJKMNPQRS',
    ]) {
      const bytes = packUlid(id);

      expect(bytes).toHaveLength(16);
      expect(bytes && unpackUlid(bytes)).toBe(id);
    }
  });

  it.each([
    '8ZZZZZZZZZZZZZZZZZZZZZZZZZ',
    '0123456789abcdefghjkmnpqrs',
    '0123456789ABCDEFGHJKMNPQRI',
    '0',
    'é'.repeat(26),
  ])('are not packed from the invalid text %s', (text) => {
    expect(packUlid(text)).toBeNull();
  });
});
