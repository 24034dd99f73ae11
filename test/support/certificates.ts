import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Files of a certificate and its key. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];

/** A CA of the tests, made by openssl, and what it signs. */
export class TestCa {
  private constructor(
    readonly dir: string,
    private readonly files: CertificateFiles,
  ) {}

  static create(): TestCa {
    const dir = mkdtempSync(join(tmpdir(), 'pumphouse-ca-'));
    const files = filesOf(dir, 'ca');
    openssl(['req', '-x509', ...KEY, '-keyout', files.key, '-out', files.cert, '-subj', '/CN=test CA']);
    return new TestCa(dir, files);
  }

  /** The file of the CA's own certificate. */
  get file(): string {
    return this.files.cert;
  }

  get pem(): string {
    return readFileSync(this.file, 'utf8');
  }

  /** Signs a certificate for this machine's loopback. @param name of its files, and its subject */
  sign(name: string): CertificateFiles {
    const files = filesOf(this.dir, name);
    openssl([
      ...['req', '-x509', ...KEY, '-keyout', files.key, '-out', files.cert, '-subj', `/CN=${name}`],
      ...['-CA', this.files.cert, '-CAkey', this.files.key],
      ...['-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost', '-addext', 'basicConstraints=CA:FALSE'],
    ]);
    return files;
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function filesOf(dir: string, name: string): CertificateFiles {
  return { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) };
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', [...args], { stdio: 'pipe' });
}
