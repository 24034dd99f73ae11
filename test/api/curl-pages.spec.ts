import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestApp } from '../support/app.js';
import { testTarget } from '../support/redis.js';

const ROOT = join(import.meta.dirname, '..', '..');
const LIMIT_MS = 600_000;
const PUBLISHED = /^\{"job_id":"\w{26}","msg":"published"\}$/;
/** `replicated:1`: a standalone Redis has no replica; in a Sentinel group and in a Cluster each master has one. */
const REPLICATED = testTarget().url === undefined ? PUBLISHED : /^\{"code":"durability_unavailable",/;
/** Not every machine has curl. */
const CURL = `curl() { "${process.execPath}" "${join(ROOT, 'scripts', 'setup', 'curl.mjs')}" "$@"; }\n`;

/** The shell blocks of a page that call the API, and their setup. */
function blocksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)]
    .map(([, code = '']) => code)
    .filter((code) => /curl|^TOKEN=/m.test(code));
}

// In order: each page is one shell, whose blocks see what the earlier ones did.
describe('curl commands of the documents', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  /** @returns what each block prints */
  async function play(page: string): Promise<string[]> {
    const script = blocksOf(page)
      .map((code) => `${code}\nprintf '\\n====\\n'\n`)
      .join('')
      .replace(/^TOKEN=….*$/m, `TOKEN=${app.token}`)
      .replaceAll('X-Token: TOKEN', `X-Token: ${app.token}`)
      .replaceAll('127.0.0.1:7777', `127.0.0.1:${String(app.port)}`)
      .replaceAll(/\/(demo|shop)(?=\/|$)/gm, `/${app.namespace}`);
    const env = { ...process.env, TOKEN: app.token, PUMPHOUSE_TOKEN: app.token };
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', CURL + script], {
      timeout: LIMIT_MS,
      env,
    });
    expect(stderr).toBe('');
    return stdout.split('\n====\n').map((output) => output.trim());
  }

  it.each([
    ['api.md', [/"state":"ready","existing":false\} 201$/]],
    [
      'lmstfy-api.md',
      [
        /^$/,
        PUBLISHED,
        /^\{"job_ids":\["\w{26}","\w{26}"\],"msg":"published"\}$/,
        PUBLISHED,
        REPLICATED,
        PUBLISHED,
        /^\{"attributes":null,"data":"[\w+/=]+","elapsed_ms":\d+,"job_id":"\w{26}","msg":"new job",/,
      ],
    ],
    ['how-to/upgrade.md', [/^\{"jobs":0,/]],
    [
      'how-to/webhooks.md',
      [/"name":"billing".*"secret":"whsec_.*"push":\{"target":"billing"\}.*"state":"ready"/s],
    ],
    [
      'how-to/from-qstash.md',
      [/"name":"hooks".*"max_running_per_key":10.*"state":"scheduled","existing":false/s],
    ],
  ])(
    'run as written: %s',
    async (page, outputs) => {
      expect(await play(page)).toEqual([...outputs.map((line) => expect.stringMatching(line) as string), '']);
    },
    LIMIT_MS,
  );
});
