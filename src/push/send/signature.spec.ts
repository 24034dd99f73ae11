import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { isSecret, newSecret, signatureOf } from './signature.js';

describe('signatures of push', () => {
  it('equal the signatures of the library standardwebhooks', () => {
    for (let i = 0; i < 50; i++) {
      const [secret, at] = [newSecret(), 1_700_000_000 + i];
      const body = Buffer.from(randomBytes(i * 7).toString('base64'));
      const expected = new Webhook(secret).sign(`job-${String(i)}`, new Date(at * 1_000), body.toString());

      expect(signatureOf([secret], `job-${String(i)}`, at, body)).toBe(expected);
    }
  });

  it('contain one signature for each of two secrets', () => {
    const secrets = [newSecret(), newSecret()];
    const both = signatureOf(secrets, 'a', 1, Buffer.from('b'));

    expect(both).toBe(secrets.map((one) => signatureOf([one], 'a', 1, Buffer.from('b'))).join(' '));
  });

  it('need a secret of 24 to 64 bytes in base64 after whsec_', () => {
    const of = (bytes: number): string => `whsec_${randomBytes(bytes).toString('base64')}`;
    expect([of(24), of(64), newSecret()].map(isSecret)).toEqual([true, true, true]);
    expect([of(23), of(65), of(32).slice(6), `${of(32)}!`, 'whsec_'].map(isSecret)).toEqual(
      Array(5).fill(false),
    );
  });
});
