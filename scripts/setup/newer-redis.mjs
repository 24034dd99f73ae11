import { readOsRelease, serversOnPath, thisMachine } from './machine.mjs';
import { SetupError } from './run.mjs';
import { findUnpacked, unpack } from './unpacked.mjs';

/** The first with WAITAOF; Valkey began after it. */
const NEEDED = [7, 2];
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * A Redis or Valkey that can be asked to wait for its disk: the one on the PATH, if it can; else the Valkey of Debian's backports, which
 * is unpacked and not installed.
 *
 * @returns {string} the program
 * @throws {SetupError} there is none
 */
export function redisWithWaitAof() {
  const able = serversOnPath().find(
    ({ version: [major, minor] }) => major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]),
  );
  if (able) return able.program;
  const { ID, VERSION_CODENAME: codename } = readOsRelease();
  if (ID !== 'debian' || codename === undefined)
    throw new SetupError(
      'this needs a Redis 7.2 or a Valkey on the PATH, and only on Debian it can be fetched',
    );
  const source = (suite) => `deb [signed-by=${KEYRING}] http://deb.debian.org/debian ${suite} main\n`;
  const valkey = {
    name: 'valkey',
    choose: () => ['valkey-server'],
    programs: { 'valkey-server': '--version' },
    sources: source(codename) + source(`${codename}-backports`),
  };
  const machine = thisMachine();
  return `${findUnpacked(valkey, machine) ?? unpack(valkey, machine)}/valkey-server`;
}
