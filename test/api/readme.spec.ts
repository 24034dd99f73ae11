import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestApp } from '../support/app.js';

const ROOT = join(import.meta.dirname, '..', '..');
const LIMIT_MS = 600_000;
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const [, block = ''] = /^## Quick start\n.*?^```sh\n(.*?)^```$/ms.exec(readme) ?? [];
/** Not every machine has curl; the command line has tests of its own. */
const SUBSTITUTES = `curl() { "${process.execPath}" "${join(ROOT, 'scripts', 'setup', 'curl.mjs')}" "$@"; }\nnpx() { :; }\n`;

describe('the quick start of the README', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it(
    'runs as written',
    async () => {
      const script = block
        .replace(/^export PUMPHOUSE_NAMESPACE=demo PUMPHOUSE_TOKEN=….*$/m, `PUMPHOUSE_TOKEN=${app.token}`)
        .replaceAll('127.0.0.1:7777', `127.0.0.1:${String(app.port)}`)
        .replaceAll('127.0.0.1:7778', `127.0.0.1:${String(app.server.admin.port)}`)
        .replaceAll('/demo', `/${app.namespace}`);
      const { stdout, stderr } = await promisify(execFile)('sh', ['-c', SUBSTITUTES + script], {
        timeout: LIMIT_MS,
      });

      expect(stderr).toBe('');
      // Specs that ran before in this process have counted jobs of namespaces of their own.
      const isOther = (line: string): boolean =>
        line.startsWith('pumphouse_') && !line.includes(app.namespace) && !line.includes('"other"');
      const lines = stdout.trim().split('\n');
      expect(lines.filter((line) => !isOther(line))).toEqual(
        [
          /"id":"order-17","state":"ready"/,
          /^\{"jobs":\[\{"id":"order-17".*"tries_left":4.*"lease":\d+,/,
          ...[/"status":"acked"/, /"state":"done".*"sent"/],
          ...[/"state":"ready","existing":false/, /"state":"ready","existing":false/, /"length":1,/],
          ...[/"state":"ready"/, /"state":"leased".*"tries_left":0/],
          ...[/"state":"dead".*"attempts":1/, /"jobs":1,/],
          ...[/HELP/, /TYPE/, /published_total\{.*"other"\} 0/, /"orders"\} 1/, /"billing"\} 1/, /"sms"\} 1/],
        ].map((line) => expect.stringMatching(line) as string),
      );
    },
    LIMIT_MS,
  );
});
