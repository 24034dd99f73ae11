import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPemFiles } from './pem-files.js';
import { ConfigError } from './problems.js';

const SECRET = 'aGVsbG8tdGhpcy1pcy1zZWNyZXQ=';

describe('problems of PEM files', () => {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-pem-'));
  const file = join(dir, 'broken.pem');
  writeFileSync(file, `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----\n`);
  afterAll(() => rmSync(dir, { recursive: true }));

  it('are reported all at once, with the keys and without the content of the files', () => {
    const read = () => readPemFiles('tokens', { tls_ca: file, tls_cert: join(dir, 'none'), tls_key: file });
    let problems: readonly string[] = [];
    try {
      read();
    } catch (error) {
      problems = error instanceof ConfigError ? error.problems : [String(error)];
    }

    expect(problems).toEqual([
      `tokens.tls_ca: ${file} holds no certificate (PEM)`,
      `tokens.tls_cert: ${join(dir, 'none')} cannot be read: there is no such file`,
      `tokens.tls_key: ${file} holds no private key (PEM, without a passphrase)`,
    ]);
  });

  it('are absent if no file is configured', () => {
    expect(readPemFiles('tokens', { tls_ca: undefined })).toEqual({});
  });
});
