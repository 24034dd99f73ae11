import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Files of a certificate and its key. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

interface Holder {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const DAY_MS = 86_400_000;

/** A CA of the tests, and what it signs. Node.js alone makes it: a new machine has no openssl. */
export class TestCa {
  private constructor(
    readonly dir: string,
    private readonly self: Holder,
    private readonly files: CertificateFiles,
  ) {}

  static create(): TestCa {
    const dir = mkdtempSync(join(tmpdir(), 'pumphouse-ca-'));
    const self = holderOf('test CA');
    return new TestCa(dir, self, write(dir, 'ca', self, certificate(self, self, [basicConstraints(true)])));
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
    const subject = holderOf(name);
    const signed = certificate(subject, this.self, [LOOPBACK, basicConstraints(false)]);
    return write(this.dir, name, subject, signed);
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function holderOf(name: string): Holder {
  return { name, ...generateKeyPairSync('ec', { namedCurve: 'prime256v1' }) };
}

function write(dir: string, file: string, { privateKey }: Holder, cert: Buffer): CertificateFiles {
  const files = { cert: join(dir, `${file}.crt`), key: join(dir, `${file}.key`) };
  writeFileSync(files.key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const lines = cert.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  writeFileSync(files.cert, `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`);
  return files;
}

/** X.509 version 3 (RFC 5280), valid from yesterday until tomorrow, signed with ECDSA and SHA-256. */
function certificate(subject: Holder, issuer: Holder, extensions: readonly Buffer[]): Buffer {
  const algorithm = sequence(oid('2a8648ce3d040302'));
  const now = Date.now();
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    // Positive, and not shorter than it could be.
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    distinguishedName(issuer.name),
    sequence(utcTime(now - DAY_MS), utcTime(now + DAY_MS)),
    distinguishedName(subject.name),
    subject.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', content, issuer.privateKey);
  return sequence(content, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))));
}

function utcTime(ms: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`));
}

function basicConstraints(isCa: boolean): Buffer {
  const yes = der(0x01, Buffer.from([0xff]));
  return sequence(oid('551d13'), yes, der(0x04, isCa ? sequence(yes) : sequence()));
}

/** The subject's other names: IP 127.0.0.1, DNS localhost. */
const LOOPBACK = sequence(
  oid('551d11'),
  der(0x04, sequence(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from('localhost')))),
);

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

/** A value in DER: its tag, its length, its bytes. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}
