import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import * as client from '../../packages/client/src/node.js';
import * as inProcess from '../../packages/engine/src/index.js';
import { TestApp } from '../support/app.js';
import { sectionsOf } from '../support/guide.js';
import { randomNamespace, testTarget } from '../support/redis.js';

const ROOT = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(ROOT, 'docs/how-to/from-worqr.md'), 'utf8');

const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => code);
const sections = sectionsOf(page);
const [engineStart = '', httpStart = ''] = blocksOf(sections[0]!.text);
const examples = sections
  .slice(1)
  .flatMap(({ title, text }) =>
    blocksOf(text).map((code, i) => ({ name: `${title} ${String(i + 1)}`, code })),
  );

/** What an example prints, by the comments behind its `console.log`. */
const expectedOf = (code: string): string[] =>
  [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text = '']) => text);

type Run = (
  load: (name: string) => Promise<unknown>,
  console: { log: (...values: unknown[]) => void },
) => Promise<void>;
const AsyncFunction = (async () => {
  // Only its constructor counts.
}).constructor as new (...parts: string[]) => Run;

/** Modules that an example imports. `connect` uses the Redis and the options of the tests. */
function load(name: string): Promise<unknown> {
  if (name === 'pumphouse/worker') {
    const connect = ({ namespace }: { namespace: string }): Promise<unknown> =>
      inProcess.connect({ redis: testTarget(), namespace });
    return Promise.resolve({ ...inProcess, connect });
  }
  if (name === '@pumphouse/client') return Promise.resolve(client);
  if (name.startsWith('node:')) return import(name);
  throw new Error(`no example may import ${name}`);
}

/** Runs an example behind a start, and gives back what it printed. */
async function printedBy(start: string, code: string): Promise<string[]> {
  const printed: string[] = [];
  const log = (...values: unknown[]): void =>
    void printed.push(values.map((one) => (typeof one === 'string' ? one : inspect(one))).join(' '));
  const asBody = (text: string): string =>
    text.replaceAll(
      /^import (\{.*\}) from '(.*)';$/gm,
      (_, names: string, from: string) => `const ${names.replaceAll(' as ', ': ')} = await load('${from}');`,
    );
  const body = `${asBody(start)}\ntry {${asBody(code)}\n} finally { await pumphouse.close(); }`;
  await new AsyncFunction('load', 'console', body)(load, { log });
  return printed;
}

describe('docs/how-to/from-worqr.md', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it('has at least twelve examples, each with its expected output', () => {
    expect(examples.length).toBeGreaterThanOrEqual(12);
    expect(examples.filter(({ code }) => expectedOf(code).length === 0)).toEqual([]);
    expect(engineStart).toContain('redis://127.0.0.1:6379');
    expect(httpStart).toContain('http://127.0.0.1:7777');
  });

  it('has a row for each defect with a test, in order', () => {
    const spec = readFileSync(join(ROOT, 'test/worker/worqr.spec.ts'), 'utf8');
    const rows = [...page.matchAll(/^\| W(\d+) \|/gm)].map(([, number]) => Number(number));
    const tests = [...spec.matchAll(/\bit\('W(\d+): /g)].map(([, number]) => Number(number));
    expect(rows).toEqual(Array.from({ length: 26 }, (_, i) => i + 1));
    expect(tests.sort((a, b) => a - b)).toEqual(rows);
  });

  it('has a row for each function, option and event of Worqr', () => {
    const named = [
      ...['enqueue', 'getQueues', 'peekQueue', 'countQueue', 'getTasks', 'deleteQueue', 'cancelTasks'],
      ...['startWorker', 'startWork', 'requestWork', 'stopWork', 'dequeue', 'finishProcess', 'stopProcess'],
      ...['getMatchingProcesses', 'getWorkerId', 'getWorkers', 'getWorkingQueues', 'failWorker'],
      ...['cleanupWorkers', 'host', 'port', 'password', 'data', 'subscribe', 'redisKeyPrefix', 'workerId'],
      ...['workerTimeout', 'workerHeartbeatInterval', 'workerCleanupInterval', 'debugMode', 'debugInterval'],
      ...['work', 'cancel', 'delete', 'done', 'error', 'debug'],
    ];
    const cells = page.split('\n').flatMap((line) => (line.startsWith('|') ? [line.split('|')[1]!] : []));
    expect(named.filter((name) => !cells.some((cell) => new RegExp(`\`${name}\\b`).test(cell)))).toEqual([]);
  });

  it.each(examples)('has an example that prints its output without a server: $name', async ({ code }) => {
    const start = engineStart.replace("'demo'", `'${randomNamespace('worqr')}'`);
    expect(await printedBy(start, code)).toEqual(expectedOf(code));
  });

  it.each(examples)('has an example that prints its output over HTTP: $name', async ({ code }) => {
    const start = httpStart
      .replace('http://127.0.0.1:7777', `http://127.0.0.1:${String(app.port)}`)
      .replace("'demo'", `'${app.namespace}'`)
      .replace("'TOKEN'", `'${app.token}'`);
    expect(await printedBy(start, code)).toEqual(expectedOf(code));
  });
});
