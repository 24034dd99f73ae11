import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Seal } from './seal.js';

const SECRETS = { secret: 'whsec_c2VjcmV0', oldSecret: null, headers: { authorization: 'Bearer hush' } };

function fileOf(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'pumphouse-seal-')), 'key');
  writeFileSync(file, text);
  return file;
}

describe('encrypted secrets of a target', () => {
  const seal = Seal.fromFile(fileOf(`${randomBytes(32).toString('base64')}\n`));

  it('are decrypted only with the same key for the same target', () => {
    const sealed = seal.close(SECRETS, 'ns/a');
    expect(sealed).not.toContain('hush');
    expect(seal.open(sealed, 'ns/a')).toEqual(SECRETS);
    expect(seal.open(sealed, 'ns/b')).toBeNull();
    expect(Seal.fromFile(undefined).open(sealed, 'ns/a')).toBeNull();
    const other = Seal.fromFile(fileOf(randomBytes(32).toString('base64')));
    expect(other.open(sealed, 'ns/a')).toBeNull();
  });

  it('are not decrypted from a changed or truncated text', () => {
    const sealed = seal.close(SECRETS, 'ns/a');
    const changed = sealed.slice(0, 30) + (sealed[30] === 'A' ? 'B' : 'A') + sealed.slice(31);
    expect([changed, sealed.slice(0, 40), 'aes:'].map((one) => seal.open(one, 'ns/a'))).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('may have been stored without a key, before push.key_file was set', () => {
    expect(seal.open(Seal.fromFile(undefined).close(SECRETS, 'ns/a'), 'ns/a')).toEqual(SECRETS);
  });

  it('need a key of 32 bytes', () => {
    expect(() => Seal.fromFile(fileOf('c2hvcnQ='))).toThrow(/^push\.key_file must hold 32 bytes/);
  });
});
