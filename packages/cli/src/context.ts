import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileProblem, readTextFile, TextError } from '#src/config/text-files';
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

const ELSEWHERE =
  'Set XDG_CONFIG_HOME to a folder that you can write to; or set PUMPHOUSE_TOKEN, which needs no login';

/**
 * @param configHome `XDG_CONFIG_HOME`; `~/.config` if it is left out or empty
 * @returns undefined: this user has no home folder, as in many containers
 */
export function contextFile(configHome: string | undefined, home = homedir): string | undefined {
  const folder = configHome === undefined || configHome === '' ? configFolderIn(home) : configHome;
  return folder === undefined ? undefined : join(folder, 'pumphouse', 'context.json');
}

function configFolderIn(home: () => string): string | undefined {
  try {
    const folder = home();
    // Else it would be below the folder in which the command runs, which another user may own.
    return /* guard: no-login-in-the-working-folder */ folder === '' ? undefined : join(folder, '.config');
  } catch {
    // Neither HOME nor an entry in the list of users.
    return undefined;
  }
}

/** The context; empty if there is none. @throws {Unreachable} other users can read the file, or it is damaged */
export function readContext(file: string | undefined): Context {
  if (file === undefined) return {};
  try {
    const stats = statsOf(file);
    if (stats === undefined) return {};
    if (process.platform !== 'win32' && (stats.mode & OTHERS) !== 0) {
      throw new TextError('other users can read it. Run: chmod 600, or log in again');
    }
    const fields = new Map(entriesOf(JSON.parse(readTextFile(file))));
    return Object.fromEntries(
      NAMES.flatMap((name) => {
        const value = fields.get(name);
        return typeof value === 'string' ? [[name, value]] : [];
      }),
    );
  } catch (error) {
    // The message of a JSON error quotes the file, and so the token.
    const reason = error instanceof SyntaxError ? 'it is not JSON. Log in again' : fileProblem(error);
    throw new Unreachable(`cannot use ${file}: ${reason}`);
  }
}

/** Undefined if it is not there, or in a folder that this user may not enter. */
function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch (error) {
    if (isAbsent(error) || codeOf(error) === 'EACCES') return undefined;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** Writes the file in one step, readable by its owner only, whatever it was before. */
export function writeContext(file: string | undefined, context: Context): string {
  if (file === undefined)
    throw new Unreachable(`there is no home folder to store the login in. ${ELSEWHERE}`);
  const fresh = `${file}.${String(process.pid)}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: FOLDER_MODE });
    writeFileSync(fresh, `${JSON.stringify(context, null, 2)}\n`, { mode: MODE });
    // A file that was left over keeps its own mode.
    chmodSync(fresh, MODE);
    renameSync(fresh, file);
    return file;
  } catch (error) {
    if (existsSync(fresh)) rmSync(fresh);
    // Of a read-only file system Node.js says that there is no such file.
    const reason = isAbsent(error) ? 'its folder cannot be created' : fileProblem(error);
    throw new Unreachable(`cannot write ${file}: ${reason}. ${ELSEWHERE}`);
  }
}

/** @returns false: there was none */
export function deleteContext(file: string | undefined): boolean {
  try {
    if (file === undefined || statsOf(file) === undefined) return false;
    rmSync(file);
    return true;
  } catch (error) {
    throw new Unreachable(`cannot delete ${file ?? ''}: ${fileProblem(error)}`);
  }
}
