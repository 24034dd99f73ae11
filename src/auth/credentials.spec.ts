import fc from 'fast-check';
import { mintToken, parseToken, spellToken, tokenDigest, tokenHint } from './credentials.js';

/** Names that collide when they are concatenated without a separator, or with one that a name may contain. */
const collidingName = fc.constantFrom(
  'a',
  'aa',
  'a-a',
  'a_a',
  'aaa',
  '-',
  '_',
  'default',
  'defaulta',
  'adefault',
);
const collidingToken = fc.oneof(
  fc.constantFrom('a', 'aa', 'aaa', 'a/a', 'a:a', 'a,a', '/a', ':a', 'a\u0001a', '', '"', '","'),
  fc.string({ maxLength: 6 }),
);
const triple = fc.tuple(collidingName, collidingName, collidingToken);

/**
 * One text split into three parts at two different pairs of positions: equal when concatenated, but never the same
 * triple.
 */
const movedBoundaries = fc
  .tuple(fc.stringMatching(/^[ab_-]{5,12}$/), fc.subarray([1, 2, 3, 4], { minLength: 3, maxLength: 3 }))
  .map(([text, [a = 1, b = 2, c = 3]]): [Triple, Triple] => [cut(text, a, b), cut(text, a, c)]);

type Triple = [string, string, string];

function cut(text: string, first: number, second: number): Triple {
  return [text.slice(0, first), text.slice(first, second), text.slice(second)];
}

describe('tokens in requests', () => {
  it.each([
    ['abc', 'default', 'abc'],
    ['default:abc', 'default', 'abc'],
    [':abc', 'default', 'abc'],
    ['pool:abc', 'pool', 'abc'],
    ['pool:a:b', 'pool', 'a:b'],
    ['pool:', 'pool', ''],
    ['', 'default', ''],
  ])('are split into pool and token: %j', (text, pool, token) => {
    expect(parseToken(text)).toEqual({ pool, token });
  });

  it('are written without the default pool as a prefix, unless the token contains a colon', () => {
    expect(spellToken({ pool: 'default', token: 'abc' })).toBe('abc');
    expect(spellToken({ pool: 'other', token: 'abc' })).toBe('other:abc');
    expect(spellToken({ pool: 'default', token: 'a:b' })).toBe('default:a:b');
  });

  it('are parsed back from their written form', () => {
    fc.assert(
      fc.property(collidingName, fc.stringMatching(/^[!-~]{1,8}$/), (pool, token) => {
        expect(parseToken(spellToken({ pool, token }))).toEqual({ pool, token });
      }),
    );
  });
});

describe('digests of tokens', () => {
  it('are equal only for equal pool, namespace and token', () => {
    fc.assert(
      fc.property(triple, triple, (one, other) => {
        const isSame = one.every((part, i) => part === other[i]);
        expect(tokenDigest(...one) === tokenDigest(...other)).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
  });

  it('differ when a boundary between pool, namespace and token moves, for random texts', () => {
    fc.assert(
      fc.property(movedBoundaries, ([one, other]) => {
        expect(tokenDigest(...one)).not.toBe(tokenDigest(...other));
      }),
    );
  });

  it('differ when a boundary between pool, namespace and token moves by one character', () => {
    const digests = [
      tokenDigest('default', 'ns', 'xtoken'),
      tokenDigest('default', 'nsx', 'token'),
      tokenDigest('defaultn', 's', 'xtoken'),
      tokenDigest('default', 'n', 'sxtoken'),
    ];
    expect(new Set(digests).size).toBe(digests.length);
  });
});

describe('generated tokens', () => {
  it('are unique ULIDs', () => {
    const tokens = Array.from({ length: 500 }, mintToken);
    for (const token of tokens) expect(token).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(new Set(tokens.map((token) => token.slice(0, 4))).size).toBeGreaterThan(450);
  });

  it('are shown as their first four characters', () => {
    expect(tokenHint('ABCDEFGHIJ')).toBe('ABCD…');
  });
});
