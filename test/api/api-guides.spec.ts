import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenStore } from '../../src/auth/token-store.js';
import { EVENT_NAMES } from '../../src/domain/job/job-event.js';
import { TestApp } from '../support/app.js';
import { GuideReader } from '../support/guide-reader.js';
import { exchangesIn } from '../support/guide.js';
import { answerCheck, type AnswerCheck } from '../support/openapi.js';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');
const PAGES = ['api.md', ...readdirSync(join(DOCS, 'api')).map((name) => join('api', name))];
/** Tables of numbers: it has nothing to call. */
const WITHOUT_EXAMPLES = 'api/limits.md';

const textOf = (page: string): string => readFileSync(join(DOCS, page), 'utf8');
const examplesOf = (page: string): string[] =>
  [...textOf(page).matchAll(/^```http\n(.*?)^```$/gms)].map(([, block = '']) => block);
const examples = PAGES.flatMap((page) =>
  examplesOf(page).map((block, i): [string, string] => [`${page}, ${String(i + 1)}`, block]),
);

/** The guides of the native API show what happens: each example is played against a server. */
describe('the API guides', () => {
  let app: TestApp;
  let document: unknown;
  let check: AnswerCheck;
  beforeAll(async () => {
    app = await TestApp.start();
    document = (await app.get('/v1/openapi.json', { token: null })).json;
    check = answerCheck(document);
  });
  afterAll(() => app.stop());

  it.each(PAGES.filter((page) => page !== WITHOUT_EXAMPLES))('have an example on %s', (page) =>
    expect(examplesOf(page)).not.toEqual([]),
  );

  it('have an example of every call', () => {
    const shown = examples.flatMap(([, block]) => exchangesIn(block));
    const { paths } = document as { paths: Record<string, Record<string, unknown>> };
    const isShown = (method: string, path: string): boolean =>
      shown.some(
        (call) =>
          call.method === method.toUpperCase() &&
          new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(call.path.split('?')[0]!),
      );
    const calls = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((method) => method !== 'parameters')
        .map((method): [string, string] => [method, path]),
    );
    expect(calls.length).toBeGreaterThan(50);
    expect(calls.filter(([method, path]) => !isShown(method, path))).toEqual([]);
  });

  it('list every event and no other', () => {
    const [, table = ''] = textOf('api/events.md').split('| `event` | what happened |');
    const rows = table.split('\n\n')[0]!.split('\n').slice(2);
    const named = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(named.sort()).toEqual([...EVENT_NAMES].sort());
  });

  it.each(PAGES.filter((page) => page !== 'api.md'))(
    'show no call of %s as a curl command, which would not be run',
    (page) => expect(textOf(page)).not.toContain('curl'),
  );

  it.each(examples)('have answers as shown in example %s', async (title, block) => {
    const namespace = `guide-${String(examples.findIndex(([name]) => name === title))}-${app.namespace}`;
    const token = await app.server.admin.app
      .get(TokenStore, { strict: false })
      .create(namespace, 'default', 'guide');
    const reader = new GuideReader(app, namespace, token, check);
    const calls = exchangesIn(block);
    expect(calls.length).toBeGreaterThan(0);
    try {
      for (const call of calls) expect(await reader.follow(call)).toEqual([]);
    } finally {
      reader.leave();
    }
  });
});
