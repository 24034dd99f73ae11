import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Times of keys and signatures, in seconds: as old as Debian 12. */
const MADE_S = 1_700_000_000;
const SHA256 = 8;
const RSA = 1;

/**
 * A repository of Debian packages in a folder, signed as those of Debian are: apt reads it by `deb copy:FOLDER ./`.
 *
 * @param {string} dir the folder, which exists
 * @param {{ name: string, version: string, depends?: string, files: Record<string, string>, links?: Record<string, string> }[]} packages
 *   files by path, as programs; symbolic links by path
 */
export function makeRepository(dir, packages) {
  const key = usualKey();
  for (const one of packages) buildPackage(dir, one);
  const index = readdirSync(dir)
    .filter((file) => file.endsWith('.deb'))
    .map((file) => entryOf(dir, file))
    .join('\n');
  writeFileSync(join(dir, 'Packages'), index);
  writeFileSync(join(dir, 'key.gpg'), key.packets());
  signIndex(dir, key);
  return { source: `deb [signed-by=${join(dir, 'key.gpg')}] copy:${dir} ./\n` };
}

/** Signs the index of a repository again, by another key than that which its users have. */
export function signByAnother(dir) {
  signIndex(dir, new SigningKey());
}

let made;

/** One for all repositories: it takes long to make. */
function usualKey() {
  return (made ??= new SigningKey());
}

function signIndex(dir, key) {
  const index = readFileSync(join(dir, 'Packages'));
  const release = `Date: Tue, 14 Nov 2023 22:13:20 UTC\nSHA256:\n ${sha256(index)} ${index.length} Packages\n`;
  writeFileSync(join(dir, 'Release'), release);
  writeFileSync(join(dir, 'Release.gpg'), armored(key.signature(0, Buffer.from(release))));
}

function buildPackage(dir, { name, version, depends = '', files, links = {} }) {
  const tree = join(dir, 'trees', name);
  const control = `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: none <none@example.com>\n${
    depends === '' ? '' : `Depends: ${depends}\n`
  }Description: of a test\n`;
  put(join(tree, 'DEBIAN', 'control'), control, 0o644);
  for (const [path, text] of Object.entries(files)) put(join(tree, path), text, 0o755);
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    execFileSync('ln', ['-s', target, join(tree, path)]);
  }
  execFileSync('chmod', ['-R', 'go-w', tree]);
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', tree, dir], { stdio: 'ignore' });
}

function put(file, text, mode) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
}

function entryOf(dir, file) {
  const control = execFileSync('dpkg-deb', ['--field', join(dir, file)], { encoding: 'utf8' });
  const bytes = readFileSync(join(dir, file));
  return `${control}Filename: ./${file}\nSize: ${statSync(join(dir, file)).size}\nSHA256: ${sha256(bytes)}\n`;
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

/** As much of OpenPGP (RFC 4880) as apt needs: not every machine has a program that signs. */
class SigningKey {
  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    this.privateKey = privateKey;
    const { n, e } = publicKey.export({ format: 'jwk' });
    this.body = Buffer.concat([
      Buffer.from([4]),
      uint(4, MADE_S),
      Buffer.from([RSA]),
      ...[n, e].map((number) => bigNumber(Buffer.from(number, 'base64url'))),
    ]);
    this.fingerprint = createHash('sha1').update(this.hashed()).digest();
  }

  /** The public key with a name and its own signature of both. */
  packets() {
    const name = Buffer.from('test <test@example.com>');
    const both = Buffer.concat([this.hashed(), Buffer.from([0xb4]), uint(4, name.length), name]);
    return Buffer.concat([packet(6, this.body), packet(13, name), this.signature(0x13, both)]);
  }

  /** A signature packet. @param {number} type 0: of a document, 0x13: of a key and its name */
  signature(type, data) {
    const hashed = Buffer.concat([
      subpacket(2, uint(4, MADE_S)),
      ...(type === 0 ? [] : [subpacket(27, Buffer.from([3]))]),
      subpacket(33, Buffer.concat([Buffer.from([4]), this.fingerprint])),
    ]);
    const head = Buffer.concat([Buffer.from([4, type, RSA, SHA256]), uint(2, hashed.length), hashed]);
    const signed = Buffer.concat([data, head, Buffer.from([4, 0xff]), uint(4, head.length)]);
    const issuer = subpacket(16, this.fingerprint.subarray(-8));
    return packet(
      2,
      Buffer.concat([
        head,
        uint(2, issuer.length),
        issuer,
        createHash('sha256').update(signed).digest().subarray(0, 2),
        bigNumber(sign('sha256', signed, this.privateKey)),
      ]),
    );
  }

  hashed() {
    return Buffer.concat([Buffer.from([0x99]), uint(2, this.body.length), this.body]);
  }
}

function packet(tag, body) {
  return Buffer.concat([Buffer.from([0xc0 | tag, 0xff]), uint(4, body.length), body]);
}

function subpacket(type, body) {
  return Buffer.concat([Buffer.from([body.length + 1, type]), body]);
}

function uint(bytes, value) {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}

/** A number without leading zeros, after its length in bits. */
function bigNumber(bytes) {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(start);
  return Buffer.concat([uint(2, digits.length * 8 - Math.clz32(digits[0]) + 24), digits]);
}

function armored(bytes) {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PGP SIGNATURE-----', '', ...lines, '-----END PGP SIGNATURE-----', ''].join('\n');
}
