/** A Redis of the benchmark's own, and what it says about itself. */
import net from 'node:net';
import { counterOf } from '../measure/instructions.mjs';
import { cpuSeconds, start, stop, temporaryFolder, until } from '../measure/processes.mjs';
import { freePort } from '../../scripts/setup/free-port.mjs';

const HOST = '127.0.0.1';

/**
 * @typedef {object} MeasuredRedis
 * @property {number} port
 * @property {number} pid
 * @property {string} folder a temporary one, which it works in
 * @property {() => number} cpu seconds used so far
 * @property {() => Promise<number>} usedMemory bytes
 * @property {() => Promise<Calls>} calls
 * @property {() => Promise<number>} [instructions] executed so far, where they are counted
 * @property {() => Promise<void>} stop
 */

/**
 * What Redis has run so far: all commands, those probe scripts too, and scripts.
 *
 * @typedef {{ commands: number, scripts: number }} Calls
 */

/**
 * @param {string} program
 * @param {'off' | 'everysec' | 'always'} aof
 * @param {import('../measure/instructions.mjs').CounterName} [counts] counts its instructions
 * @returns {Promise<MeasuredRedis>}
 */
export async function startRedis(program, aof, counts) {
  const folder = temporaryFolder();
  const port = await freePort();
  const counter = counts && counterOf(counts, folder);
  const [command = program, ...args] = [
    ...(counter?.prefix ?? []),
    program,
    ...redisArguments(folder, port, aof),
  ];
  // What Redis does by itself, ten times a second, would be several percent of a count, and more where the machine is slow.
  if (counter) args.push('--hz', '1');
  const started = start(command, args);
  await until(started, () => inlineCommand(port, 'PING'));
  return {
    port,
    pid: started.pid,
    folder,
    cpu: () => cpuSeconds(started.pid),
    usedMemory: async () => Number(/used_memory:(\d+)/.exec(await inlineCommand(port, 'INFO memory'))?.[1]),
    calls: async () => callsOf(await inlineCommand(port, 'INFO commandstats')),
    ...(counter && { instructions: await counter.attach(started.pid) }),
    stop: () => stop(started, 'SIGKILL'),
  };
}

/** A node of a Redis Cluster, without slots and without AOF. @param {string} program */
export async function startClusterNode(program) {
  const folder = temporaryFolder();
  const [port, busPort] = [await freePort(), await freePort()];
  const cluster = [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--cluster-announce-ip',
    HOST,
  ];
  const started = start(program, [...redisArguments(folder, port, 'off'), ...cluster]);
  await until(started, () => inlineCommand(port, 'PING'));
  return {
    ...{ port, busPort, folder, started, pid: started.pid },
    cpu: () => cpuSeconds(started.pid),
    stop: () => stop(started, 'SIGKILL'),
  };
}

/** Without rewrites of the AOF: when they fall is chance, and they would be counted in one row and not in the next. */
export function redisArguments(
  /** @type {string} */ folder,
  /** @type {number} */ port,
  /** @type {string} */ aof,
) {
  const persistence = aof === 'off' ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--appendfsync', aof];
  const quiet = ['--save', '', '--auto-aof-rewrite-percentage', '0', '--loglevel', 'warning'];
  return ['--port', String(port), '--bind', HOST, '--dir', folder, ...persistence, ...quiet];
}

/** @param {string} stats the text of INFO commandstats @returns {Calls} */
export function callsOf(stats) {
  let [commands, scripts] = [0, 0];
  for (const [, name = '', calls] of stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    commands += Number(calls);
    if (/^(eval|evalsha|fcall)(_ro)?$/.test(name)) scripts += Number(calls);
  }
  return { commands, scripts };
}

/** One inline command, its reply as text. @param {number} port @param {string} command @returns {Promise<string>} */
function inlineCommand(port, command) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, HOST, () => socket.write(`${command}\r\n`));
    let reply = '';
    socket.on('data', (chunk) => {
      reply += chunk.toString();
      const bulk = /^\$(\d+)\r\n/.exec(reply);
      if (bulk ? reply.length < Number(bulk[1]) + bulk[0].length + 2 : !reply.endsWith('\r\n')) return;
      socket.destroy();
      resolve(reply);
    });
    socket.on('error', reject);
  });
}
