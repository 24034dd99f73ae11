import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Unreachable } from './admin-client.js';
import { entriesOf } from './print.js';

/** Names of PEM files. */
export interface TlsFiles {
  /** The CAs that signed the certificate of the server. */
  readonly ca?: string;
  /** The client certificate, and its private key. */
  readonly cert?: string;
  readonly key?: string;
}

/** What `pumphouse login` stores: the address of a server, and the credentials for it. */
export interface Context extends TlsFiles {
  readonly url?: string;
  readonly namespace?: string;
  readonly token?: string;
  readonly admin?: string;
  /** `user:password` of the admin port. */
  readonly account?: string;
}

const NAMES = ['url', 'namespace', 'token', 'admin', 'account', 'ca', 'cert', 'key'] as const;
/** Permissions of the file: its owner reads and writes it. */
const MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Permission bits of other users. */
const OTHERS = 0o077;

/** @param configHome `XDG_CONFIG_HOME`; `~/.config` if it is left out */
export function contextFile(configHome: string | undefined): string {
  const home = configHome === undefined || configHome === '' ? join(homedir(), '.config') : configHome;
  return join(home, 'pumphouse', 'context.json');
}

/** The context; empty if there is none. @throws {Unreachable} other users can read the file, or it is damaged */
export function readContext(file: string): Context {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return {};
    if (process.platform !== 'win32' && (stats.mode & OTHERS) !== 0) {
      throw new Error('other users can read it. Run: chmod 600, or log in again');
    }
    const fields = new Map(entriesOf(JSON.parse(readFileSync(file, 'utf8'))));
    return Object.fromEntries(
      NAMES.flatMap((name) => {
        const value = fields.get(name);
        return typeof value === 'string' ? [[name, value]] : [];
      }),
    );
  } catch (error) {
    // The message of a JSON error quotes the file, and so the token.
    const reason = error instanceof SyntaxError ? 'it is not JSON. Log in again' : messageOf(error);
    throw new Unreachable(`cannot use ${file}: ${reason}`);
  }
}

/** Writes the file in one step, readable by its owner only, whatever it was before. */
export function writeContext(file: string, context: Context): void {
  const fresh = `${file}.${String(process.pid)}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: FOLDER_MODE });
    writeFileSync(fresh, `${JSON.stringify(context, null, 2)}\n`, { mode: MODE });
    // A file that was left over keeps its own mode.
    chmodSync(fresh, MODE);
    renameSync(fresh, file);
  } catch (error) {
    throw new Unreachable(`cannot write ${file}: ${messageOf(error)}`);
  }
}

/** @returns false: there was none */
export function deleteContext(file: string): boolean {
  if (!existsSync(file)) return false;
  try {
    rmSync(file);
    return true;
  } catch (error) {
    throw new Unreachable(`cannot delete ${file}: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
