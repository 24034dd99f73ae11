import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenStore } from '../../src/auth/token-store.js';
import { EVENT_NAMES } from '../../src/domain/job-event.js';
import { PROBLEMS } from '../../src/http/errors.v1.js';
import { TestApp } from '../support/app.js';
import { exchangesIn, sectionsOf } from '../support/guide.js';
import { GuideReader } from '../support/guide-reader.js';
import { type AnswerCheck, answerCheck } from '../support/openapi.js';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'api.md'), 'utf8');
const sections = sectionsOf(page);
const examplesOf = (text: string): string[] =>
  [...text.matchAll(/^```http\n(.*?)^```$/gms)].map(([, block = '']) => block);
const examples = sections.flatMap(({ title, text }) =>
  examplesOf(text).map((block, i): [string, string] => [`${title}, ${String(i + 1)}`, block]),
);

/** What the native API is for, and how the headings of its sections begin. Each of them has an example. */
const PARTS: Readonly<Record<number, readonly string[]>> = {
  1: ['Publish: `POST', 'Fire and wait'],
  2: ['Lease', 'What an owner says', 'Acknowledge many'],
  3: ['Retry policies'],
  4: ['Cancel'],
  5: ['Depend on other jobs'],
  6: ['Look: `GET /v1', 'Lists', 'Workers'],
  7: ['Change'],
  8: ['Queues'],
  9: ['Dead letter: `/v1'],
  10: ['Recurring jobs'],
  11: ['Unique keys'],
  12: ['Retention'],
  13: ['Statistics'],
  14: ['Settings', 'Purge of a namespace'],
  15: ['Events'],
};
const owed = Object.entries(PARTS).flatMap(([part, titles]) =>
  titles.map((title): [number, string] => [Number(part), title]),
);

/** What docs/api.md shows is what happens. */
describe('the guide', () => {
  let app: TestApp;
  let document: unknown;
  let check: AnswerCheck;
  beforeAll(async () => {
    app = await TestApp.start();
    document = (await app.get('/v1/openapi.json', { token: null })).json;
    check = answerCheck(document);
  });
  afterAll(() => app.stop());

  it('has fifteen parts', () =>
    expect(Object.keys(PARTS)).toEqual(Array.from({ length: 15 }, (_, i) => String(i + 1))));

  it.each(owed)('has an example for part %d: %s', (_, title) => {
    const found = sections.filter((section) => section.title.startsWith(title));
    expect(found.map((section) => section.title)).toHaveLength(1);
    expect(examplesOf(found[0]!.text).length).toBeGreaterThan(0);
  });

  it('has an example of every call', () => {
    const shown = examples.flatMap(([, block]) => exchangesIn(block));
    const { paths } = document as { paths: Record<string, Record<string, unknown>> };
    const isShown = (method: string, path: string): boolean =>
      shown.some(
        (exchange) =>
          exchange.method === method.toUpperCase() &&
          new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(exchange.path.split('?')[0]!),
      );
    const calls = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((method) => method !== 'parameters')
        .map((method): [string, string] => [method, path]),
    );
    expect(calls.length).toBeGreaterThan(50);
    expect(calls.filter(([method, path]) => !isShown(method, path))).toEqual([]);
  });

  it('tells what every refusal means, with its status', () => {
    const { text } = sections.find(({ title }) => title === 'Its errors')!;
    const told = [...text.matchAll(/^\| (\d+) \| (.*?) \|/gm)].flatMap(([, status = '', codes = '']) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => `${status} ${code}`),
    );
    const known = Object.entries(PROBLEMS).map(([code, { status }]) => `${String(status)} ${code}`);
    const unread = ['400 bad_request', '404 not_found', '405 method_not_allowed'];
    expect(told.sort()).toEqual([...known, ...unread].sort());
  });

  it('names every event, and none that there is not', () => {
    const { text } = sections.find(({ title }) => title.startsWith('Events'))!;
    const [, table = ''] = text.split('| `event` | what happened |');
    const rows = table.split('\n\n')[0]!.split('\n').slice(2);
    const named = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(named.sort()).toEqual([...EVENT_NAMES].sort());
  });

  it('shows no call of the native API that is not run', () => {
    const [, chapter = ''] = page.split('\n## The native API\n');
    const [, ...native] = chapter.split('\n## ')[0]!.split('\n### ');
    expect(native.length).toBeGreaterThan(20);
    expect(native.filter((text) => text.includes('curl'))).toEqual([]);
  });

  it.each(examples)('%s', async (title, block) => {
    const namespace = `guide-${String(examples.findIndex(([name]) => name === title))}-${app.namespace}`;
    const token = await app.server.admin.app
      .get(TokenStore, { strict: false })
      .create(namespace, 'default', 'guide');
    const reader = new GuideReader(app, namespace, token, check);
    const exchanges = exchangesIn(block);
    expect(exchanges.length).toBeGreaterThan(0);
    try {
      for (const exchange of exchanges) expect(await reader.follow(exchange)).toEqual([]);
    } finally {
      reader.leave();
    }
  });
});
