import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface TestServerOptions {
  /** The file of the `pumphouse` command; that of the package `pumphouse`, as seen from the working folder, if it is left out. */
  readonly bin?: string | undefined;
  /** A Redis to use, as `redis://…`. Left out: the server starts one of its own, which needs `redis-server` on the PATH. */
  readonly redisUrl?: string | undefined;
  /** Settings as environment variables, `PUMPHOUSE_…`. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** How long the server may take to start; 30,000. */
  readonly withinMs?: number | undefined;
}

/** A server of its own for a test, with data that go with it. */
export interface TestServer {
  readonly url: string;
  /** A namespace that no other test server has, and a token for all of it. */
  readonly namespace: string;
  readonly token: string;
  readonly pid: number;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

const START_MS = 30_000;
const PROBE_MS = 50;
/** Characters of the server's output that an error shows. */
const OUTPUT = 4_000;
/** A server that does not end by SIGTERM within this time is killed. */
const END_MS = 15_000;

/** Starts a server on free ports of this machine. @throws {Error} it does not start, with what it printed */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const bin = options.bin ?? installedBin();
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-test-'));
  const [port, adminPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const child = spawn(process.execPath, [bin, 'serve'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: dir,
    env: {
      ...process.env, // oxlint-disable-line node/no-process-env -- PATH and the like, for the server
      PUMPHOUSE_SERVER__HOST: '127.0.0.1',
      PUMPHOUSE_SERVER__PORT: String(port),
      PUMPHOUSE_SERVER__READY_LAG_MS: '0',
      PUMPHOUSE_ADMIN__PORT: String(adminPort),
      PUMPHOUSE_DATA__DIR: join(dir, 'data'),
      ...(options.redisUrl === undefined ? {} : { PUMPHOUSE_POOLS__DEFAULT__URL: options.redisUrl }),
      ...options.env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => (output = (output + text.toString()).slice(-OUTPUT)));
  }
  const stop = async (): Promise<void> => {
    await end(child);
    rmSync(dir, { recursive: true, force: true });
  };
  // A test run that ends without `stop` takes the server with it.
  const endWithUs = (): void => void child.kill('SIGTERM');
  process.once('exit', endWithUs);
  child.once('exit', () => process.off('exit', endWithUs));
  try {
    await ready(child, [url, adminUrl], options.withinMs ?? START_MS);
    const namespace = `test-${randomBytes(6).toString('hex')}`;
    const token = await newToken(adminUrl, namespace);
    return { url, namespace, token, pid: child.pid ?? 0, stop };
  } catch (cause) {
    await stop();
    throw new Error(`the test server does not start:\n${output}`, { cause });
  }
}

/** @throws {Error} the package is not installed */
function installedBin(): string {
  try {
    const engine = createRequire(join(process.cwd(), 'package.json')).resolve('pumphouse/engine');
    const bin = fileURLToPath(new URL('../cli/pumphouse.js', pathToFileURL(engine)));
    if (existsSync(bin)) return bin;
  } catch {
    // It is said below.
  }
  throw new Error(
    'the package `pumphouse` is not installed here: `npm install --save-dev pumphouse`, or give `bin`',
  );
}

async function ready(child: ChildProcess, urls: readonly string[], withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const probes = urls.map((url) =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    if ((await Promise.all(probes)).every(Boolean)) return;
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('it has ended');
    if (performance.now() > endMs) throw new Error(`it is not ready after ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
  }
}

async function newToken(adminUrl: string, namespace: string): Promise<string> {
  const body = new URLSearchParams({ description: 'test' });
  const answer = await fetch(`${adminUrl}/token/${namespace}`, { method: 'POST', body });
  if (!answer.ok) throw new Error(`no token: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { token: string }).token;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await ended;
  clearTimeout(timer);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
