import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BuiltServer } from '../support/built-server.js';
import { waitFor } from '../support/redis.js';

/** A loop may run during a sample, and a sample may miss a file: a file of this many samples belongs to the call. */
const SAMPLES = 10;
const MOST_SAMPLES = 8;
/** A new engineer has to read these to know the whole path. */
const MAX_FILES = 25;

describe('the files that one warm call executes', () => {
  let server: BuiltServer;
  let token: string;
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-executed-'));
  const list = join(dir, 'files.txt');
  beforeAll(async () => {
    server = await BuiltServer.create({
      NODE_OPTIONS: `--import=${join(import.meta.dirname, '../support/executed-files.mjs')}`,
      EXECUTED_FILES: list,
      PUMPHOUSE_SERVER__WORKERS: '1',
    });
    await server.start();
    token = await server.token('ns');
    for (let i = 0; i < 20; i++) await publish();
  });
  afterAll(async () => {
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  async function publish(): Promise<void> {
    const headers = { 'x-token': token };
    const answer = await fetch(`${server.url}/api/ns/q?ttl=0`, { method: 'PUT', headers, body: 'x' });
    expect(answer.status).toBe(201);
    await answer.text();
  }

  /** What has executed since the last time. */
  async function take(): Promise<string[]> {
    rmSync(list, { force: true });
    process.kill(server.pid, 'SIGUSR2');
    await waitFor(() => existsSync(list) && readFileSync(list, 'utf8').endsWith('\n'));
    return readFileSync(list, 'utf8').trim().split('\n');
  }

  it(`are at most ${String(MAX_FILES)} for a publish on lmstfy's wire`, async () => {
    const samples: string[][] = [];
    for (let i = 0; i < SAMPLES; i++) {
      await take();
      await publish();
      samples.push(await take());
    }
    const files = [...new Set(samples.flat())].filter(
      (file) => samples.filter((sample) => sample.includes(file)).length >= MOST_SAMPLES,
    );
    expect(files).toContain('engine/publish/publisher');
    expect(files.slice(MAX_FILES)).toEqual([]);
  });
});
