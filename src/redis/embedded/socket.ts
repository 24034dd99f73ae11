import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedisError } from './error.js';

/** `sun_path` holds 104 bytes on BSD and macOS and 108 on Linux, including a terminating zero. */
const MAX_SOCKET_PATH_BYTES = 100;

/**
 * Path of the socket of the embedded Redis of the data folder `dir`: in that folder, or, if that path is too long for a
 * Unix socket, in a private folder of this user in the system's folder for temporary files.
 *
 * @throws {EmbeddedRedisError} the folder for temporary files is not private, or its path is too long as well
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

/** Another user may have created the folder in /tmp: its owner could listen instead of our Redis. */
function refuseUnlessPrivate(folder: string, uid: number): void {
  const stat = lstatSync(folder);
  const isOurs = stat.isDirectory() && (uid < 0 || stat.uid === uid) && (stat.mode & 0o077) === 0;
  if (!isOurs) throw new EmbeddedRedisError(`${folder} must be a folder of this user's with mode 0700`);
}
