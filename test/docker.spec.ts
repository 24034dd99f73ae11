import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../src/config/load.js';
import { TestApp } from './support/app.js';
import { TestCa } from './support/certificates.js';

/* No container runs here. What the recipe runs inside of one is run without it. */

const ROOT = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const recipe = read('Dockerfile');
const compose = read('docker-compose.yml');

describe('the Dockerfile', () => {
  it('copies and starts files that exist', () => {
    const copied = [...recipe.matchAll(/^COPY --from=build \/build\/(\S+) (\S+)$/gm)].map(
      ([, from]) => from!,
    );
    expect(copied).toEqual(expect.arrayContaining(['dist', 'lua', 'config', 'packages/client/dist']));
    const started = [...recipe.matchAll(/(?:\/app\/|chmod 755 )(dist\/[\w/.-]+)/g)].map(([, file]) => file!);
    expect(new Set(started)).toEqual(
      new Set(['dist/main.js', 'dist/app/health-check.js', 'dist/cli/pumphouse.js']),
    );
    for (const file of [...copied, ...started])
      expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
    expect(read('dist/cli/pumphouse.js')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it('starts the server and its health check with the same file', () => {
    const lines = recipe.split('\n').map((line) => line.trim());
    const options = '"-c", "/etc/pumphouse/pumphouse.toml"]';
    expect(lines).toContain('ENTRYPOINT ["node", "/app/dist/main.js"]');
    expect(lines).toContain(`CMD [${options}`);
    expect(lines).toContain(`CMD ["node", "/app/dist/app/health-check.js", ${options}`);
  });

  it.each([
    ['image', recipe, /(PUMPHOUSE_\w+)=(\S+)/g],
    ['compose file', compose, /^ +(PUMPHOUSE_\w+): '?([^'\n]*?)'?$/gm],
  ])('has settings that the server knows in the %s', (_name, text, pattern) => {
    const found = [...text.matchAll(pattern)].map(([, name = '', value = '']): [string, string] => [
      name,
      value,
    ]);
    expect(found.length).toBeGreaterThan(1);
    const config = loadConfig({ env: Object.fromEntries(found) });
    const isCompose = text === compose;
    expect(config.data.max_memory_bytes).toBe(isCompose ? 0 : 512 * 1_024 * 1_024);
    expect(config.pools['default']?.url).toBe(isCompose ? 'redis://redis:6379' : 'embedded');
    expect(config.metrics.public).toBe(isCompose);
  });
});

describe('the health check', () => {
  const ca = TestCa.create();
  let app: TestApp | undefined;
  afterEach(async () => {
    await app?.stop();
    app = undefined;
  });
  afterAll(() => ca.remove());

  /** The exit code of the health check with these settings of the server. */
  function check(settings: Readonly<Record<string, string | number>>): Promise<number> {
    const file = join(ca.dir, 'pumphouse.toml');
    const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
    writeFileSync(file, ['[server]', ...lines].join('\n'));
    const argv = [join(ROOT, 'dist', 'app', 'health-check.js'), '-c', file];
    return new Promise((resolve) => {
      const child = execFile(process.execPath, argv, () => resolve(child.exitCode ?? -1));
    });
  }

  it('uses the port of the configuration, and fails if nothing listens there', async () => {
    app = await TestApp.start();
    const { port } = app;
    expect(await check({ port })).toBe(0);
    await app.stop();
    app = undefined;
    expect(await check({ port })).toBe(1);
  });

  it.each([false, true])(
    'uses TLS if the configuration has it; clients need certificates: %s',
    async (isMutual) => {
      const { cert, key } = ca.sign('server');
      const tls = { tls_cert: cert, tls_key: key, ...(isMutual && { tls_client_ca: ca.file }) };
      const env = Object.entries(tls).map(([name, file]) => [
        `PUMPHOUSE_SERVER__${name.toUpperCase()}`,
        file,
      ]);
      app = await TestApp.start(Object.fromEntries(env) as Record<string, string>);
      const { port } = app;
      expect(await check({ port, ...tls })).toBe(0);
      // Plain HTTP, to a port that speaks TLS.
      expect(await check({ port })).toBe(1);
    },
  );
});
