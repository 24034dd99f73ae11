import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenStore } from '../../src/auth/token-store.js';
import { TestApp } from '../support/app.js';
import { GuideReader } from '../support/guide-reader.js';
import { exchangesIn } from '../support/guide.js';
import { answerCheck, type AnswerCheck } from '../support/openapi.js';

const FOLDER = join(import.meta.dirname, '..', '..', 'docs', 'how-to');
const examples = readdirSync(FOLDER).flatMap((page) =>
  [...readFileSync(join(FOLDER, page), 'utf8').matchAll(/^```http\n(.*?)^```$/gms)].map(
    ([, block = ''], i): [string, string] => [`${page.replace('.md', '')}-${String(i + 1)}`, block],
  ),
);

describe('the how-to guides', () => {
  let app: TestApp;
  let check: AnswerCheck;
  beforeAll(async () => {
    app = await TestApp.start();
    check = answerCheck((await app.get('/v1/openapi.json', { token: null })).json);
  });
  afterAll(() => app.stop());

  it('have examples of requests', () => expect(examples).not.toEqual([]));

  // Each example has a namespace of its own, in place of `demo`.
  it.each(examples)('have answers as shown in example %s', async (name, block) => {
    const namespace = `${name}-${app.namespace}`;
    const tokens = app.server.admin.app.get(TokenStore, { strict: false });
    const reader = new GuideReader(app, namespace, await tokens.create(namespace, 'default', 'guide'), check);
    const calls = exchangesIn(block);
    expect(calls.length).toBeGreaterThan(0);
    try {
      for (const call of calls) expect(await reader.follow(call)).toEqual([]);
    } finally {
      reader.leave();
    }
  });
});
