/** What is measured: a Redis of our own and the built server over it, fresh for every set of rows. */
import { existsSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { cpuSeconds, freePort, start, startModule, stop, temporaryFolder, until } from './machine.mjs';

/** The built server that is measured unless another one is named. */
export const BUILT_SERVER = join(import.meta.dirname, '..', 'dist', 'main.js');
const HOST = '127.0.0.1';

export const NAMESPACE = 'bench';

/**
 * @typedef {object} Stage
 * @property {number} port where requests go
 * @property {string} token
 * @property {() => { server: number, redis: number }} cpu seconds used so far
 * @property {() => Promise<number>} usedMemory Redis's used_memory in bytes
 * @property {{ server: number, redis: number }} [pids]
 * @property {number} [redisPort]
 * @property {number} [adminPort]
 * @property {() => Promise<void>} stop
 */

/**
 * Starts Redis and the server.
 *
 * @param {{ program: string, redis: string, aof: 'off' | 'everysec', workers: number }} options
 * @returns {Promise<Stage>}
 */
export async function startServer({ program, redis, aof, workers }) {
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`npm run build\` first`);
  const folder = temporaryFolder();
  const [redisPort, port, adminPort] = [await freePort(), await freePort(), await freePort()];
  const store = startRedis(redis, folder, redisPort, aof);
  await until(store, () => redisCommand(redisPort, 'PING'));

  const config = join(folder, 'bench.toml');
  writeFileSync(config, configText({ port, adminPort, redisPort, workers, folder }));
  const server = start(process.execPath, [program, '-c', config], { cwd: folder });
  const token = await until(server, () => makeToken(adminPort));
  await until(server, () => ready(port, token));
  return {
    port,
    token,
    pids: { server: server.pid, redis: store.pid },
    redisPort,
    adminPort,
    cpu: () => ({ server: cpuSeconds(server.pid), redis: cpuSeconds(store.pid) }),
    usedMemory: async () =>
      Number(/used_memory:(\d+)/.exec(await redisCommand(redisPort, 'INFO memory'))?.[1]),
    async stop() {
      await stop(server);
      await stop(store, 'SIGKILL');
    },
  };
}

/** Starts the bare server. @returns {Promise<Stage>} */
export async function startBare() {
  const server = startModule(join(import.meta.dirname, 'bare-server.mjs'));
  const port = await new Promise((resolve) =>
    server.child.once('message', (message) => resolve(message.port)),
  );
  return {
    port,
    token: 'none',
    cpu: () => ({ server: cpuSeconds(server.pid), redis: 0 }),
    usedMemory: () => Promise.resolve(0),
    stop: () => stop(server, 'SIGKILL'),
  };
}

/** Without rewrites of the AOF: when they fall is chance, and they would be counted in one row and not in the next. */
function startRedis(
  /** @type {string} */ program,
  folder,
  /** @type {number} */ port,
  /** @type {string} */ aof,
) {
  const persistence =
    aof === 'off' ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--appendfsync', 'everysec'];
  const quiet = ['--save', '', '--auto-aof-rewrite-percentage', '0', '--loglevel', 'warning'];
  return start(program, ['--port', String(port), '--bind', HOST, '--dir', folder, ...persistence, ...quiet]);
}

function configText({ port, adminPort, redisPort, workers, folder }) {
  return `
[server]
host = "${HOST}"
port = ${port}
workers = ${workers}
drain_ms = 1000
ready_lag_ms = 0

[admin]
host = "${HOST}"
port = ${adminPort}

[pools.default]
url = "redis://${HOST}:${redisPort}"
allow_unsafe = true

[data]
dir = "${join(folder, 'data')}"

[log]
level = "warn"
`;
}

/** @param {number} adminPort @returns {Promise<string>} */
async function makeToken(adminPort) {
  const response = await fetch(`http://${HOST}:${adminPort}/token/${NAMESPACE}?description=bench`, {
    method: 'POST',
  });
  if (response.status !== 201) throw new Error(`no token: status ${response.status}`);
  return (await response.json()).token;
}

async function ready(/** @type {number} */ port, /** @type {string} */ token) {
  const response = await fetch(`http://${HOST}:${port}/api/${NAMESPACE}/none`, {
    headers: { 'X-Token': token },
  });
  if (response.status !== 404) throw new Error(`status ${response.status}`);
}

/** One inline command, its reply as text. @param {number} port @param {string} command @returns {Promise<string>} */
function redisCommand(port, command) {
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
