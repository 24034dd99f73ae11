import { decoyOf, hashPassword, hasHash, parsePasswordHash } from './password-hash.js';

const [SALT, DIGEST] = ['MDEyMzQ1Njc4OWFiY2RlZg', 'A'.repeat(43)];

describe('the hash of a password', () => {
  it('is of its password alone, and differs each time', async () => {
    const [one, other] = [await hashPassword('a long pässword'), await hashPassword('a long pässword')];
    expect(one).toMatch(/^scrypt:15:8:3:[-_\w]{22}:[-_\w]{43}$/);
    expect(one).not.toBe(other);
    const hash = parsePasswordHash(one)!;
    for (const [password, isRight] of [
      ['a long pässword', true],
      ['a long passwort', false],
      ['a long pässword ', false],
      ['', false],
    ] as const)
      expect([password, await hasHash(password, hash)]).toEqual([password, isRight]);
    expect(await hasHash('a long pässword', decoyOf(hash))).toBe(false);
  });

  it.each([
    ['nothing', ''],
    ['a password', 'secret'],
    ['another algorithm', `argon2:14:8:1:${SALT}:${DIGEST}`],
    ['too little work', `scrypt:13:8:1:${SALT}:${DIGEST}`],
    ['more than 256 MiB', `scrypt:18:9:1:${SALT}:${DIGEST}`],
    ['no blocks', `scrypt:15:0:1:${SALT}:${DIGEST}`],
    ['no pass', `scrypt:15:8:0:${SALT}:${DIGEST}`],
    ['too many passes', `scrypt:15:8:17:${SALT}:${DIGEST}`],
    ['a short salt', `scrypt:15:8:1:${SALT.slice(1)}:${DIGEST}`],
    ['a short digest', `scrypt:15:8:1:${SALT}:${DIGEST.slice(1)}`],
    ['a second line', `scrypt:15:8:1:${SALT}:${DIGEST}\n`],
  ])('is refused in the configuration: %s', (_what, text) => {
    expect(parsePasswordHash(text)).toBeNull();
  });

  it('is accepted with 256 MiB', () => {
    expect(parsePasswordHash(`scrypt:18:8:1:${SALT}:${DIGEST}`)?.options).toMatchObject({
      N: 262_144,
      r: 8,
      p: 1,
    });
  });
});
