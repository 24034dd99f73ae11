import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestApp } from '../support/app.js';

const ROOT = join(import.meta.dirname, '..', '..');
const LIMIT_MS = 60_000;
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const [, block = ''] = /^## Five minutes\n.*?^```sh\n(.*?)^```$/ms.exec(readme) ?? [];
/** Not every machine has curl; the command line has tests of its own. */
const SUBSTITUTES = `curl() { "${process.execPath}" "${join(ROOT, 'scripts', 'setup', 'curl.mjs')}" "$@"; }\nnpx() { :; }\n`;

describe('the first five minutes of the README', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it(
    'can be pasted, and do what they say',
    async () => {
      const script = block
        .replace(/^TOKEN=….*$/m, `TOKEN=${app.token}`)
        .replaceAll('127.0.0.1:7777', `127.0.0.1:${String(app.port)}`)
        .replaceAll('127.0.0.1:7778', `127.0.0.1:${String(app.server.admin.port)}`)
        .replaceAll('/demo', `/${app.namespace}`);
      const { stdout, stderr } = await promisify(execFile)('sh', ['-c', SUBSTITUTES + script], {
        timeout: LIMIT_MS,
      });

      expect(stderr).toBe('');
      expect(stdout.trim().split('\n')).toEqual(
        [
          ...[/"published"/, /"aGVsbG8=".*"remain_tries":2/, /^204$/],
          ...[/"published"/, /"bGF0ZXI="/],
          ...[/"published"/, /"ZG9vbWVk".*"remain_tries":0/],
          ...[/"deadletter_size":1/, /"count":1/, /"size":1/],
          ...[
            /"id":"order-17","state":"ready"/,
            /^\{"jobs":\[\{"id":"order-17".*"lease":\d+,/,
            /"status":"acked"/,
          ],
          /"state":"done".*"sent"/,
          ...[/HELP/, /TYPE/, /publish_jobs\{.*\} [1-9]/],
        ].map((line) => expect.stringMatching(line) as string),
      );
    },
    LIMIT_MS,
  );
});
