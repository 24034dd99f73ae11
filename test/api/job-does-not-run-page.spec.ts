import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TokenStore } from '../../src/auth/token-store.js';
import { CAUSES } from '../../src/contract/explain.js';
import { type Answer, TestApp } from '../support/app.js';
import { PROGRAM } from '../support/cli.js';
import { PUSH } from '../support/receiver.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { SLOWNESS } from '../support/scale.js';

const ROOT = join(import.meta.dirname, '..', '..');
const LIMIT_MS = Math.ceil(120_000 * SLOWNESS);
const page = readFileSync(join(ROOT, 'docs', 'how-to', 'job-does-not-run.md'), 'utf8');
const shellOf = (text: string): string => /^```sh\n(.*?)^```$/ms.exec(text)?.[1] ?? '';
const [start = '', ...sections] = page.split(/^## /m);
/** A row of its table: causes, and what to do about them. */
const ROW = /^\| ((?:`\w+`(?:, )?)+) \| (.*) \|$/gm;
const rows = [...start.matchAll(ROW)].map(([, names = '', remedy = '']) => ({
  causes: [...names.matchAll(/`(\w+)`/g)].map(([, cause = '']) => cause),
  remedy,
}));
const anchorOf = (title: string): string => `(#${title.toLowerCase().replaceAll(' ', '-')})`;
const causes = sections.map((text) => ({ title: text.split('\n', 1)[0]!, shell: shellOf(text) }));

/** What makes the job `order-17` wait, in order: method, path below the namespace, body. */
type Calls = readonly (readonly [method: string, path: string, body?: object])[];
const JOB = { queue: 'orders', id: 'order-17', type: 'order' };
const LEASE = { queues: ['orders'], worker: 'host-1', ttr_ms: 3_600_000 };
const lease = (body: object = {}): Calls[number] => ['POST', 'leases', { ...LEASE, ...body }];
/** `<lease>` is the lease number of the job that the call before it has leased. */
const SETUP: Readonly<Record<string, Calls>> = {
  'Why, in one sentence': [
    ['POST', 'jobs', JOB],
    ['POST', 'queues/orders/pause'],
  ],
  'It is not due': [['POST', 'jobs', { ...JOB, delay_ms: 3_600_000 }]],
  'It waits for other jobs': [
    ['POST', 'jobs', { queue: 'payments', id: 'payment-17' }],
    ['POST', 'jobs', { ...JOB, depends_on: ['payment-17'] }],
    lease({ queues: ['payments'] }),
    ['POST', 'jobs/payment-17/fail', { lease: '<lease>' }],
  ],
  'Its key is at a limit': [
    ['PATCH', 'queues/orders', { max_running_per_key: 1 }],
    ['POST', 'jobs', { queue: 'orders', id: 'order-16', concurrency_key: 'ada' }],
    ['POST', 'jobs', { ...JOB, concurrency_key: 'ada' }],
    lease({ count: 2 }),
  ],
  'The queue is paused': [
    ['POST', 'jobs', JOB],
    ['POST', 'queues/orders/pause', { note: 'stocktaking' }],
  ],
  'The queue is at its limit': [
    ['PATCH', 'queues/orders', { max_running: 1 }],
    ['POST', 'jobs', { queue: 'orders', id: 'order-16' }],
    ['POST', 'jobs', JOB],
    lease({ count: 2 }),
  ],
  'No worker leases from its queue': [
    ['POST', 'jobs', { ...JOB, queue: 'order' }],
    [
      'POST',
      'workers/packer-1/heartbeat',
      { ttr_ms: 60_000, leases: [], info: { name: 'packer', queues: ['orders'] } },
    ],
  ],
  'No worker has a handler for its type': [
    ['POST', 'jobs', JOB],
    lease({ worker: 'mailer' }),
    ['POST', 'jobs/order-17/release', { lease: '<lease>', reason: 'no_handler', delay_ms: 3_600_000 }],
  ],
  'A worker has it': [['POST', 'jobs', JOB], lease()],
  'Its push target is paused': [
    ['POST', 'jobs', JOB],
    ['PUT', 'targets/billing', { url: 'https://billing.example/hooks' }],
    ['PATCH', 'queues/orders', { push: { target: 'billing' } }],
    ['POST', 'targets/billing/pause'],
  ],
  'It is dead': [
    ['POST', 'jobs', JOB],
    lease(),
    ['POST', 'jobs/order-17/fail', { lease: '<lease>', group: 'smtp', message: '554 refused' }],
  ],
  'It is gone': [],
  'The publish met a unique key': [
    ['POST', 'jobs', { queue: 'orders', id: 'order-16', unique: { key: 'order-17' } }],
  ],
  'The publish met a quota': [['POST', 'jobs', { queue: 'orders', id: 'order-16', delay_ms: 3_600_000 }]],
  'The publish met a drain': [
    ['POST', 'jobs', { queue: 'orders', id: 'order-16', delay_ms: 3_600_000 }],
    ['POST', 'queues/orders/drain'],
  ],
};
/** The job is not there, or the publish was refused. */
const WITHOUT_CAUSE = [
  'Why, in one sentence',
  ...['It is gone', 'The publish met a unique key', 'The publish met a quota', 'The publish met a drain'],
];
/** A server learns of a quota a moment later: until then this job is stored. */
const FURTHER = '{"queue":"orders","delay_ms":3600000}';
const QUOTA = 'pumphouse quota set demo --max-jobs-per-queue 1';

/** The commands of a section, and the parts that the output of each must have, in order. */
function stepsOf(shell: string): { command: string; parts: string[] }[] {
  const steps: { command: string; parts: string[] }[] = [];
  for (const line of shell.trim().split('\n')) {
    if (line.startsWith('# ')) steps.at(-1)?.parts.push(...line.slice(2).split('…'));
    else steps.push({ command: line, parts: [] });
  }
  return steps;
}

describe('the page about a job that does not run', () => {
  const home = mkdtempSync(join(tmpdir(), 'pumphouse-page-'));
  let app: TestApp;
  let namespace: string;
  let token: string;
  beforeAll(async () => {
    app = await TestApp.start(PUSH);
  });
  beforeEach(async () => {
    namespace = randomNamespace('page');
    const tokens = app.server.admin.app.get(TokenStore, { strict: false });
    token = await tokens.create(namespace, 'default', 'page');
  });
  afterAll(async () => {
    await app.stop();
    rmSync(home, { recursive: true });
  });

  const call = (method: string, path: string, body?: string): Promise<Answer> =>
    app.call(method, `/v1/${namespace}/${path}`, { token, ...(body === undefined ? {} : { body }) });

  async function prepare(calls: Calls): Promise<void> {
    let leased = 0;
    for (const [method, path, body] of calls) {
      const text = body && JSON.stringify(body).replace('"<lease>"', String(leased));
      const { status, json } = await call(method, path, text);
      expect([path, Math.floor(status / 100)]).toEqual([path, 2]);
      leased = (json as { jobs?: { lease?: number }[] } | undefined)?.jobs?.[0]?.lease ?? leased;
    }
  }

  const stuck = async (): Promise<number> =>
    ((await call('GET', 'queues/orders')).json as { counts: { stuck: number } }).counts.stuck;

  /** Runs commands in one shell, after those of the first block; returns what each printed. */
  async function play(commands: readonly string[]): Promise<string[]> {
    const setup = shellOf(start)
      .split('\n')
      .filter((line) => !line.startsWith('v1 "$V1'))
      .join('\n')
      .replace(/^export PUMPHOUSE_TOKEN=….*$/m, `export PUMPHOUSE_TOKEN=${token}`)
      .replace('127.0.0.1:7777', `127.0.0.1:${String(app.port)}`)
      .replace('PUMPHOUSE_NAMESPACE=demo', `PUMPHOUSE_NAMESPACE=${namespace}`);
    const programs =
      `curl() { "${process.execPath}" "${join(ROOT, 'scripts', 'setup', 'curl.mjs')}" "$@"; }\n` +
      `pumphouse() { "${process.execPath}" "${PROGRAM}" "$@"; }\n`;
    const script = commands
      .map((line) => line.replace(/^(pumphouse quota \w+) demo/, `$1 ${namespace}`))
      .map((line) => `${line}\nprintf '\\n====\\n'\n`)
      .join('');
    const { stdout, stderr } = await promisify(execFile)('sh', ['-ec', `${programs}${setup}\n${script}`], {
      timeout: LIMIT_MS,
      env: {
        PATH: process.env['PATH'],
        XDG_CONFIG_HOME: home,
        PUMPHOUSE_ADMIN_URL: `http://127.0.0.1:${String(app.server.admin.port)}`,
      },
    });
    expect(stderr).toBe('');
    return stdout.split('\n====\n').slice(0, -1);
  }

  it('has a section for each cause that a test can make', () => {
    expect(causes.map(({ title }) => title)).toEqual(Object.keys(SETUP));
  });

  it('has one row for each cause that an explanation can name', () => {
    expect(rows.flatMap((row) => row.causes).sort()).toEqual([...CAUSES].sort());
  });

  it.each(causes.filter(({ title }) => !WITHOUT_CAUSE.includes(title)))(
    'leads from the cause that is named to its section: $title',
    async ({ title }) => {
      await prepare(SETUP[title] ?? []);
      await waitFor(async () => {
        const { json } = await call('GET', 'jobs/order-17/explain');
        const { cause } = json as { cause: string };
        const row = rows.find((one) => one.causes.includes(cause));
        return row?.remedy.includes(anchorOf(title)) === true;
      }, LIMIT_MS);
    },
    LIMIT_MS,
  );

  it.each(causes)(
    'shows the cause with commands that work, and mends it: $title',
    async ({ title, shell }) => {
      await prepare(SETUP[title] ?? []);
      // Dependents are notified a moment after the end of a job.
      if (title === 'It waits for other jobs') await waitFor(async () => (await stuck()) === 1, LIMIT_MS);
      if (title === 'The publish met a quota') {
        await play([QUOTA]);
        await waitFor(async () => (await call('POST', 'jobs', FURTHER)).status === 429, LIMIT_MS);
      }
      const steps = stepsOf(shell);
      const outputs = await play(steps.map(({ command }) => command));

      for (const [i, { command, parts }] of steps.entries()) {
        let rest = outputs[i]!;
        for (const part of parts) {
          expect([command, part, rest]).toEqual([command, part, expect.stringContaining(part)]);
          rest = rest.slice(rest.indexOf(part) + part.length);
        }
      }
      if (title === 'The publish met a quota')
        await waitFor(async () => (await call('POST', 'jobs', JSON.stringify(JOB))).status === 201, LIMIT_MS);
      const { json } = await call('POST', 'leases', '{"queues":["orders"],"count":10,"wait_ms":5000}');
      const leased = (json as { jobs: { id: string }[] }).jobs.map(({ id }) => id);
      expect(leased).toContain('order-17');
    },
    LIMIT_MS,
  );
});
