import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedisError } from './error.js';

/** `sun_path` holds 104 bytes on BSD and macOS and 108 on Linux, with a zero at its end. */
const MAX_SOCKET_PATH_BYTES = 100;

/**
 * Where the embedded Redis of the data folder `dir` listens: in that folder, or, if that path is too long for a Unix
 * socket, in a folder that only this user may enter, under the system's folder for temporary files.
 *
 * @throws {EmbeddedRedisError} the folder for temporary files is not ours alone, or its path is too long as well
 */
export function socketPathOf(dir: string): string {
  const near = join(dir, 'redis.sock');
  if (fits(near)) return near;
  const { uid, username } = userInfo();
  const folder = join(tmpdir(), `pumphouse-${uid >= 0 ? uid : username}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  refuseUnlessPrivate(folder, uid);
  const far = join(folder, `${createHash('sha256').update(dir).digest('hex').slice(0, 16)}.sock`);
  if (!fits(far))
    throw new EmbeddedRedisError(`no path short enough for a Unix socket: neither ${near} nor ${far}`);
  return far;
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES;
}

/** A folder in /tmp may have been put there by anyone: who owns it could listen in our place. */
function refuseUnlessPrivate(folder: string, uid: number): void {
  const stat = lstatSync(folder);
  const isOurs = stat.isDirectory() && (uid < 0 || stat.uid === uid) && (stat.mode & 0o077) === 0;
  if (!isOurs) throw new EmbeddedRedisError(`${folder} must be a folder of this user's with mode 0700`);
}
