// Plays the steps of the Dockerfile without a container: each stage in a root of its own, as scripts/image/clean-root.sh makes
// it. Then it starts the server as the image would, and checks it. As root, on a Debian with debootstrap:
//
//   node scripts/image/docker-steps.mjs DIR
//
// What differs from Docker: Node.js is that of this machine, the network and the process ids are those of this machine,
// and the ports are free ones. HEAD is built, without what is not committed. `rm -r --one-file-system DIR` removes all.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { contextNames, parseDockerfile } from './dockerfile.mjs';
import { freePort } from '../setup/free-port.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** What a command needs to reach registries, as in clean-root.sh. */
const KEPT = /^(https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|NODE_EXTRA_CA_CERTS|npm_config_[a-z_]+)$/;
const IN_ROOT = `
  dir=$1; shift
  mount -t proc proc "$dir/proc"
  mount --rbind /dev "$dir/dev"
  exec chroot "$@"`;
/** As `--start-period` of the health check. */
const START_MS = 30_000;

const [dirName] = process.argv.slice(2);
if (dirName === undefined || process.getuid?.() !== 0) {
  console.error('usage, as root: node scripts/image/docker-steps.mjs DIR');
  process.exit(2);
}
const dir = resolve(dirName);
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
const base = join(dir, 'base');
mkdirSync(dir, { recursive: true });
run(join(import.meta.dirname, 'clean-root.sh'), base);
// The image of Node.js has this user; its number is that of the user of clean-root.sh.
const hasUser = spawnSync('chroot', [base, 'id', 'node']).status === 0;
if (!hasUser)
  run('chroot', base, 'usermod', '--login', 'node', '--home', '/home/node', '--move-home', 'newcomer');
if (!hasUser) run('chroot', base, 'groupmod', '--new-name', 'node', 'newcomer');

const context = join(dir, 'context');
rmSync(context, { recursive: true, force: true });
mkdirSync(context);
const clone = join(base, 'root', 'pumphouse');
for (const name of contextNames(clone)) cpSync(join(clone, name), join(context, name), { recursive: true });

const roots = new Map();
let image;
for (const stage of parseDockerfile(readFileSync(join(clone, 'Dockerfile'), 'utf8'))) image = build(stage);
await check(image);
console.log('all steps are done, and all checks have passed');

/** Does the steps of a stage. @returns what is left to start it */
function build({ name, steps }) {
  const root = join(dir, name);
  rmSync(root, { recursive: true, force: true });
  run('cp', '-a', base, root);
  rmSync(join(root, 'root', 'pumphouse'), { recursive: true, force: true });
  roots.set(name, root);
  const state = { root, env: {}, workdir: '/', user: 'root', commands: {} };
  for (const { instruction, text, flags, words } of steps) {
    console.log(`\n[${name}] ${instruction} ${text}`);
    switch (instruction) {
      case 'WORKDIR':
        state.workdir = words[0];
        mkdirSync(join(root, state.workdir), { recursive: true });
        break;
      case 'ARG':
        state.env.COMMIT = commit;
        break;
      case 'ENV':
        for (const word of words)
          state.env[word.slice(0, word.indexOf('='))] = word.slice(word.indexOf('=') + 1);
        break;
      case 'COPY':
        copy(state, flags.from === undefined ? context : roots.get(flags.from), words);
        break;
      case 'RUN':
        execFileSync('unshare', argvOf(state, ['sh', '-c', text]), { stdio: 'inherit' });
        break;
      case 'USER':
        state.user = words[0];
        break;
      case 'VOLUME':
        if (!existsSync(join(root, words[0]))) throw new Error(`there is no ${words[0]}`);
        break;
      case 'EXPOSE':
        break;
      case 'HEALTHCHECK':
      case 'ENTRYPOINT':
      case 'CMD':
        state.commands[instruction] = JSON.parse(text.slice(text.indexOf('[')));
        break;
      default:
        throw new Error(`the instruction ${instruction} is not known here`);
    }
  }
  return state;
}

/** Copies files, and the contents of folders. */
function copy({ root, workdir }, from, words) {
  const target = words.at(-1);
  const to = join(root, target.startsWith('/') ? target : join(workdir, target));
  for (const word of words.slice(0, -1)) {
    const source = join(from, word);
    const isFolder = statSync(source).isDirectory();
    const isInto = isFolder || target.endsWith('/');
    mkdirSync(isInto ? to : join(to, '..'), { recursive: true });
    run('cp', '-a', isFolder ? `${source}/.` : source, isInto && !isFolder ? join(to, basename(word)) : to);
  }
}

/** Starts the image as `docker run` would, and looks at what it does. */
async function check(image) {
  const [port, adminPort] = [await freePort(), await freePort()];
  image.env = { ...image.env, PUMPHOUSE_SERVER__PORT: port, PUMPHOUSE_ADMIN__PORT: adminPort };
  const [url, admin] = [port, adminPort].map((one) => `http://127.0.0.1:${String(one)}`);
  const { HEALTHCHECK: health, ENTRYPOINT: entry, CMD: options } = image.commands;
  for (const name of ['typescript', 'jest', '@nestjs/cli'])
    expect(`${name} is not in the image`, !existsSync(join(image.root, 'app', 'node_modules', name)));

  const server = spawn('unshare', argvOf(image, [...entry, ...options]), { stdio: 'inherit' });
  const exit = once(server, 'exit');
  try {
    const untilMs = Date.now() + START_MS;
    while (code(image, health) !== 0 && Date.now() < untilMs && server.exitCode === null) await sleep(500);
    expect('the health check passes', code(image, health) === 0);
    const version = await (await fetch(`${admin}/version`)).json();
    expect('GET /version has the commit', JSON.stringify(version).includes(commit));

    const cli = ['pumphouse', '--url', url, '--admin', admin, '--namespace', 'demo'];
    const token = output(image, [...cli, 'token', 'create', 'demo', '-d', 'docker-steps']).trim();
    expect('the command line is on the PATH, and creates a token', /^\S{20,}$/.test(token));
    const id = output(image, [...cli, '--token', token, 'job', 'publish', 'mail', '{}']).trim();
    expect('a job is published', /^[0-9A-Z]{26}$/.test(id));

    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect('the metrics show the embedded Redis', metrics.includes('pumphouse_redis_up{pool="default"} 1\n'));
    const maxmemory = `pumphouse_redis_max_memory_bytes{pool="default"} ${image.env.PUMPHOUSE_DATA__MAX_MEMORY_BYTES}\n`;
    expect('the embedded Redis has its maxmemory', metrics.includes(maxmemory));
    const data = join(image.root, image.env.PUMPHOUSE_DATA__DIR, 'default');
    expect('its data is in the volume', existsSync(join(data, 'appendonlydir')));
  } finally {
    server.kill('SIGTERM');
  }
  expect('SIGTERM stops it with exit code 0', (await exit)[0] === 0);
  expect('the health check of a stopped server fails', code(image, health) === 1);
}

function expect(what, isTrue) {
  console.log(`${isTrue ? 'ok ' : 'BAD'} ${what}`);
  if (!isTrue) throw new Error(`not so: ${what}`);
}

/** Arguments of `unshare` for a command in a root; the process stays the same one, so signals reach the command. */
function argvOf({ root, env, workdir, user }, command) {
  const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name));
  const home = user === 'root' ? '/root' : `/home/${user}`;
  const all = { ...Object.fromEntries(kept), ...env, HOME: home, PATH };
  return [
    ...['--mount', '--propagation', 'private', 'sh', '-eu', '-c', IN_ROOT, 'sh', root],
    ...[`--userspec=${user}`, root, '/usr/bin/env', '-i', `--chdir=${workdir}`],
    ...Object.entries(all).map(([name, value]) => `${name}=${String(value)}`),
    ...command,
  ];
}

function code(image, command) {
  return spawnSync('unshare', argvOf(image, command), { stdio: ['ignore', 'inherit', 'inherit'] }).status;
}

function output(image, command) {
  return execFileSync('unshare', argvOf(image, command), { encoding: 'utf8' });
}

function run(program, ...argv) {
  execFileSync(program, argv, { stdio: 'inherit' });
}
