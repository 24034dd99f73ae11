import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { referencePages } from '../scripts/docs/pages.mjs';
import * as config from '../src/config/config.js';
import * as keys from '../src/config/keys.js';
import * as load from '../src/config/load.js';
import * as texts from '../src/http/answer/error-catalogue.js';
import * as lmstfy from '../src/http/answer/errors.lmstfy.js';
import * as v1 from '../src/http/answer/errors.v1.js';
import * as gauges from '../src/metrics/gauges.js';
import * as metrics from '../src/metrics/metrics.js';
import { TestApp } from './support/app.js';

const FOLDER = join(import.meta.dirname, '..', 'docs', 'reference');
/** Pages of this folder that others generate and compare. */
const NOT_OURS = ['cli.md'];

/** After a change: `npm run build && npm run docs:reference`. */
describe('docs/reference', () => {
  let pages: ReadonlyMap<string, string>;
  beforeAll(async () => {
    const app = await TestApp.start();
    try {
      const { json } = await app.get('/v1/openapi.json', { token: null });
      pages = referencePages({ config, keys, load, texts, lmstfy, v1, gauges, metrics }, json);
    } finally {
      await app.stop();
    }
  });

  const written = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !NOT_OURS.includes(path))
    .sort();

  it('has exactly the generated pages', () => {
    expect(written).toEqual([...pages.keys()].sort());
  });

  it.each(written)('is up to date: %s', (path) => {
    expect(readFileSync(join(FOLDER, path), 'utf8')).toBe(pages.get(path));
  });

  it('has named keys and metrics, every error code, and a call', () => {
    const of = (path: string): string => pages.get(path) ?? '';
    for (const key of ['server.port', 'pools.NAME.url', 'admin.accounts.NAME', 'metrics.lmstfy_names'])
      expect(of('configuration.md')).toContain(`### \`${key}\``);
    expect(of('metrics.md')).toContain(
      '| `pumphouse_jobs_published_total` | counter | `pool`, `namespace`, `queue` |',
    );
    const statuses = Object.entries(v1.PROBLEMS).map(([code, { status }]): [string, number] => [
      code,
      status,
    ]);
    for (const [code, status] of [...statuses, ...Object.entries(v1.HTTP_PROBLEMS)])
      expect(of('errors.md')).toContain(`| ${String(status)} | [\`${code}\`](#${code}) |`);
    expect(of('api.md')).toContain('[`POST /v1/{namespace}/jobs`](api/jobs.md#publishjobs)');
  });
});
