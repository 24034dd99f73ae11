import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

/** Own files only: no inline script or style, no other host, no frame around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of each file. */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const PAGE = 'index.html';
/** Compresses a file of the console in a few milliseconds. */
const BROTLI_QUALITY = 9;

/** Where the build puts the files of packages/console: beside this file, or from the sources in dist. */
const BUILT = [
  join(import.meta.dirname, 'page'),
  join(import.meta.dirname, '..', '..', 'dist', 'console', 'page'),
];

/** A file of the console. */
export interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly brotli: Buffer;
  readonly etag: string;
  /** The name has a hash of the content: it may be kept for ever. */
  readonly isHashed: boolean;
}

/** The built files of packages/console, read at their first request: many servers never serve them. */
export class ConsoleFiles {
  private readonly kept = new Map<string, ConsoleFile>();
  private names: ReadonlySet<string> | undefined;

  /** @param folder of the built page; by default that of the build */
  constructor(private readonly folder = BUILT.find((one) => existsSync(join(one, PAGE))) ?? '') {}

  /** False if the build was made without the console. */
  get isThere(): boolean {
    return this.folder !== '';
  }

  /** A file by its name below the page, such as `assets/index-1a2b3c4d.js`; the empty name is the page itself. */
  file(name: string): ConsoleFile | undefined {
    const found = name === '' ? PAGE : name;
    // guard: console-serves-own-files
    if (!this.known().has(found)) return undefined;
    const file = this.kept.get(found) ?? this.read(found);
    this.kept.set(found, file);
    return file;
  }

  /** Only these are served: a name of a request never becomes a path by itself. */
  private known(): ReadonlySet<string> {
    this.names ??= new Set(
      this.isThere ? [PAGE, ...listed(this.folder, ''), ...listed(this.folder, 'assets/')] : [],
    );
    return this.names;
  }

  private read(name: string): ConsoleFile {
    const bytes = readFileSync(join(this.folder, name));
    return {
      type: TYPES[extname(name)] ?? 'application/octet-stream',
      bytes,
      brotli: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      isHashed: name.startsWith('assets/'),
    };
  }
}

function listed(folder: string, below: string): string[] {
  const path = join(folder, below);
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => `${below}${name}`);
}
