import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenStore } from '../../src/auth/token-store.js';
import { type Answer, TestApp } from '../support/app.js';
import { answerCheck } from '../support/openapi.js';
import { exchangesIn, filledIn, match, type Names, sectionsOf } from '../support/guide.js';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'api.md'), 'utf8');
const examples = sectionsOf(page).flatMap(({ title, text }) =>
  [...text.matchAll(/^```http\n(.*?)^```$/gms)].map(([, block = ''], i): [string, string] => [
    `${title}, ${String(i + 1)}`,
    block,
  ]),
);

/** What docs/api.md shows is what happens. */
describe('the guide', () => {
  let app: TestApp;
  let check: (method: string, path: string, answer: Answer) => void;
  beforeAll(async () => {
    app = await TestApp.start();
    check = answerCheck((await app.get('/v1/openapi.json', { token: null })).json);
  });
  afterAll(() => app.stop());

  it('has examples', () => expect(examples.length).toBeGreaterThan(4));

  it.each(examples)('%s', async (title, block) => {
    const namespace = `guide-${String(examples.findIndex(([name]) => name === title))}-${app.namespace}`;
    const store = app.server.admin.app.get(TokenStore, { strict: false });
    const token = await store.create(namespace, 'default', 'guide');
    const names: Names = new Map();
    const exchanges = exchangesIn(block);
    expect(exchanges.length).toBeGreaterThan(0);
    for (const { method, path, body, status, answer } of exchanges) {
      const address = filledIn(path, names).replace('/demo/', `/${namespace}/`);
      const got = await app.call(method, address, {
        token,
        ...(body === '' ? {} : { body: filledIn(body, names) }),
      });
      expect([path, got.status, got.text]).toEqual([path, status, got.text]);
      if (address.startsWith(`/v1/${namespace}/`)) {
        check(method, address.slice(`/v1/${namespace}`.length).split('?')[0]!, got);
      }
      if (answer !== '') expect(match(JSON.parse(answer), got.json, names)).toEqual([]);
    }
  });
});
