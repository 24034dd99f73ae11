import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'smol-toml';
import { loadConfig } from '../../src/config/load.js';
import { TestApp } from '../support/app.js';
import { randomNamespace } from '../support/redis.js';

const ROOT = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(ROOT, 'docs/how-to/from-later.md'), 'utf8');
const blocksOf = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code);
const [settings = ''] = blocksOf('toml');
const [commands = ''] = blocksOf('sh');
/** Not every machine has curl. */
const CURL = `curl() { "${process.execPath}" "${join(ROOT, 'scripts', 'setup', 'curl.mjs')}" "$@"; }\n`;

/** A line of output as the page shows it: what is left out is anything. */
const pattern = (line: string): RegExp =>
  new RegExp(
    `^${line
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('.+')}$`,
  );

describe('docs/how-to/from-later.md', () => {
  it('has valid settings', () => {
    const { later, push } = loadConfig({ env: {}, overrides: parse(settings) });
    expect([later.port, later.allow.length, push.allow]).toEqual([8080, 2, ['10.2.0.0/16']]);
  });

  it('names each key of the section', () => {
    const keys = Object.keys(loadConfig({ env: {}, overrides: parse(settings) }).later);
    expect(keys.filter((key) => !page.includes(`\`later.${key}\``))).toEqual([]);
  });

  it('has commands that work', async () => {
    const app = await TestApp.start({
      PUMPHOUSE_LATER__PORT: '0',
      PUMPHOUSE_LATER__NAMESPACE: randomNamespace('later'),
      PUMPHOUSE_LATER__ALLOW: 'https://shop.example.com',
    });
    const script = commands.replace('127.0.0.1:8080', `127.0.0.1:${String(app.server.api.laterPort)}`);
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', CURL + script]);
    await app.stop();

    const shown = [...commands.matchAll(/^# (\{.*(?:\n# {2}.*)*|\d+)$/gm)].map(([, output = '']) =>
      output.replaceAll(/\n# +/g, ''),
    );
    expect(shown).toHaveLength(3);
    expect(stderr).toBe('');
    // The answer of a query has no line end, so the next command writes behind it.
    const [queried = '', notFound] = stdout.trim().split('\n');
    expect(queried).toMatch(pattern(shown.slice(0, 2).join('')));
    expect(notFound).toBe(shown[2]);
  });
});
