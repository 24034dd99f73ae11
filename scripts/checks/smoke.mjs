/**
 * The first steps of a new user, in a copy of the repository: `npm start`, paste the three printed lines, stop, start
 * again. Run by `npm test`, or by itself: `node scripts/checks/smoke.mjs`. Needs packages and a Redis: `npm test` or
 * `npm start` has seen to both.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../setup/free-port.mjs';
import { Checks } from '../setup/checks.mjs';
import { onPath, ROOT } from '../setup/run.mjs';

/**
 * A second start has nothing to install and nothing to build: it takes less than this many times as long as loading the
 * framework alone. That time is taken beside it, because machines differ, and one machine differs from hour to hour.
 */
const SECOND_START_TIMES = 5;
/** The first one builds, in ms. */
const FIRST_START_MS = 120_000;
const STOP_MS = 30_000;
/** The server prints its lines at a terminal only. */
const AT_TERMINAL = '--import=data:text/javascript,process.stdout.isTTY=true';

/** @returns {Promise<{ passed: number, failed: number }>} */
export async function smoke() {
  const checks = new Checks();
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-smoke-'));
  const copy = join(dir, 'copy');
  let server;
  try {
    copyRepository(copy);
    const ports = { api: await freePort(), admin: await freePort() };
    const start = () => (server = startServer(copy, dir, ports));
    if (!(await firstStart(checks, start(), dir, ports))) return checks;
    await checks.that('ends with exit code 0 on SIGTERM, and its Redis with it', async () => {
      same(await server.stop(), 0);
      same(existsSync(join(copy, 'data', 'default', 'redis.sock')), false);
    });
    await secondStart(checks, start, () => server, ports);
  } catch (error) {
    await checks.that('the smoke test runs to its end', () => {
      throw error;
    });
  } finally {
    if (server?.isRunning()) await server.stop();
    if (checks.failed > 0 && server) console.log(`the server's output:\n${server.output()}`);
    rmSync(dir, { recursive: true, force: true });
  }
  return checks;
}

async function firstStart(checks, server, dir, ports) {
  let lines = [];
  await checks.that('npm start serves in a copy of the repository, and prints three curl lines', async () => {
    await ready(server, ports, FIRST_START_MS);
    lines = await until(() => three(curlLines(server.output())), 5_000);
  });
  if (lines.length !== 3) return false;
  const token = /X-Token: ([\w-]+)/.exec(lines[0])?.[1];
  const url = /'(http[^']*)\/jobs'/.exec(lines[0])[1];
  const output = await pasted(lines, dir);
  const id = /"id":"([^"]+)"/.exec(output[0])?.[1];
  await checks.that('the first line publishes a job', () => same(id !== undefined, true, output[0]));
  await checks.that('the second line leases that job', () =>
    same(/"id":"([^"]+)"/.exec(output[1])?.[1], id, output[1]),
  );
  await checks.that('the third line acknowledges it: it is gone', async () => {
    same(JSON.parse(output[2]).status, 'acked', output[2]);
    const answer = await fetch(`${url}/jobs/${id}`, { headers: { 'X-Token': token } });
    same(answer.status, 404);
  });
  // For the second start: a job that must still be there.
  const published = await post(`${url}/jobs`, token, { queue: 'mail', data: 'kept' });
  server.kept = { url, token, id: published.id };
  return true;
}

async function post(url, token, body) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'X-Token': token },
    body: JSON.stringify(body),
  });
  return answer.json();
}

async function secondStart(checks, start, current, ports) {
  const { kept } = current();
  await checks.that(
    'the second start installs and builds nothing, takes little more than loading the code, and prints no token',
    async () => {
      const loadMs = timeOf(() =>
        spawnSync(
          process.execPath,
          ['--input-type=module', '-e', "await import('@nestjs/platform-fastify')"],
          {
            cwd: ROOT,
          },
        ),
      );
      const begunMs = performance.now();
      await ready(start(), ports, FIRST_START_MS);
      const tookMs = Math.round(performance.now() - begunMs);
      console.log(`    ready after ${tookMs} ms; the framework alone loads in ${loadMs} ms`);
      same(tookMs < SECOND_START_TIMES * loadMs, true, `${tookMs} ms`);
      same(/installing packages|building:/.test(current().output()), false, current().output());
      same(curlLines(current().output()).length, 0);
    },
  );
  await checks.that('a job that was there before the stop is there after it', async () => {
    const { jobs } = await post(`${kept.url}/leases`, kept.token, { queues: ['mail'], wait_ms: 3_000 });
    same(jobs[0]?.id, kept.id);
    same(jobs[0]?.data, 'kept');
  });
  await checks.that('ends with exit code 0 again', async () => same(await current().stop(), 0));
}

function timeOf(work) {
  const begunMs = performance.now();
  work();
  return Math.round(performance.now() - begunMs);
}

/** Everything that git would commit; without git, everything but what .gitignore names. */
function copyRepository(to) {
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const ignored = new Set(['node_modules', 'dist', 'data', '.git', '.pumphouse']);
  const files =
    listed.status === 0
      ? listed.stdout.split('\0').filter(Boolean)
      : readdirSync(ROOT).filter((name) => !ignored.has(name));
  for (const file of files) {
    if (!existsSync(join(ROOT, file))) continue; // deleted, not yet committed
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(ROOT, file), join(to, file), { recursive: true, preserveTimestamps: true });
  }
  copyPackages(join(ROOT, 'node_modules'), join(to, 'node_modules'));
}

/** Spares the download. By hard links where that can be: whatever is done to the copy, ours keeps its files. */
function copyPackages(from, to) {
  for (const how of ['-al', '-a']) {
    if (spawnSync('cp', [how, from, to], { stdio: 'ignore' }).status === 0) return;
    rmSync(to, { recursive: true, force: true });
  }
  throw new Error(`cannot copy ${from}`);
}

function startServer(copy, dir, ports) {
  const file = join(dir, `server-${Date.now()}.log`);
  const out = openSync(file, 'a');
  const env = { ...withoutNpm(process.env), ...settings(ports), NODE_OPTIONS: AT_TERMINAL };
  const child = spawn('npm', ['start'], { cwd: copy, env, stdio: ['ignore', out, out] });
  const exit = once(child, 'exit').then(([code, signal]) => code ?? signal);
  return {
    output: () => readFileSync(file, 'utf8'),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    stop: async () => {
      child.kill('SIGTERM');
      return Promise.race([exit, sleep(STOP_MS, 'no end within 30 s', { ref: false })]);
    },
  };
}

function settings({ api, admin }) {
  return {
    PUMPHOUSE_SERVER__HOST: '127.0.0.1',
    PUMPHOUSE_SERVER__PORT: String(api),
    PUMPHOUSE_ADMIN__PORT: String(admin),
    PUMPHOUSE__NO_INSTALL: '1',
  };
}

/** What the `npm test` that runs us has put there is not a newcomer's; neither are settings of ours. */
function withoutNpm(env) {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(npm_|PUMPHOUSE_|NODE_OPTIONS|INIT_CWD)/.test(name)),
  );
}

async function ready(server, { api }, withinMs) {
  await until(async () => {
    if (!server.isRunning()) throw new Error('npm start has ended');
    return (await fetch(`http://127.0.0.1:${api}/readyz`).catch(() => null))?.ok;
  }, withinMs);
}

/** The lines for pasting: those that start a curl, by itself or into a variable. */
function curlLines(output) {
  return output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(\w+=\$\()?curl /.test(line));
}

function three(lines) {
  return lines.length === 3 ? lines : null;
}

/**
 * Types the lines into one shell, as a person does, and returns what each printed. A pipe of the shell's own stands
 * for the terminal: `tee /dev/stderr` cannot open the sockets that Node.js would put there, and would empty a file.
 */
async function pasted(lines, dir) {
  const shell = spawn('sh', ['-c', 'sh 2>&1 | cat'], { env: { ...process.env, PATH: pathWithCurl(dir) } });
  let output = '';
  shell.stdout.on('data', (text) => (output += text));
  shell.stdin.end(lines.map((line) => `${line}\necho; echo ----\n`).join(''));
  await once(shell, 'close');
  return output.split('----').slice(0, lines.length);
}

/** Where there is no curl, a stand-in runs the same lines through Node.js. */
function pathWithCurl(dir) {
  if (onPath('curl')) return process.env.PATH;
  console.log('  (no curl on this machine: scripts/setup/curl.mjs stands in for it)');
  const bin = join(dir, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(bin, 'curl'),
    `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'scripts/setup/curl.mjs')}' "$@"\n`,
  );
  chmodSync(join(bin, 'curl'), 0o755);
  return `${bin}:${process.env.PATH}`;
}

async function until(probe, withinMs) {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const answer = await probe();
    if (answer) return answer;
    if (performance.now() > endMs) throw new Error(`not so within ${withinMs} ms`);
    await sleep(25);
  }
}

function same(actual, expected, context = '') {
  if (actual !== expected) throw new Error(`expected ${expected}, got ${actual} ${context}`.trim());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { passed, failed } = await smoke();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
