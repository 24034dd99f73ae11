import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { TestApp } from '../support/app.js';
import { codeIn, GO_ENV, hasProgram, pack, Project, ROOT, run } from '../support/packed.js';
import { waitFor } from '../support/redis.js';

const LIMIT_MS = 600_000;
const whereThere = (program: string): jest.It => (hasProgram(program) ? it : it.skip);
const [typescript = ''] = codeIn('README.md', 'ts');
const [python = ''] = codeIn('README.md', 'python');

describe('examples', () => {
  let app: TestApp;
  let project: Project;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  beforeEach(() => {
    project = new Project();
  });
  afterEach(() => project.remove());
  afterAll(() => app.stop());

  const url = (): string => `http://127.0.0.1:${String(app.port)}`;
  const env = (): Record<string, string> => ({
    PUMPHOUSE_URL: url(),
    PUMPHOUSE_NAMESPACE: app.namespace,
    PUMPHOUSE_TOKEN: app.token,
    // npm asks the registry only for what it never had.
    ...{ npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' },
    ...{ npm_config_ignore_scripts: 'true', npm_config_loglevel: 'error' },
  });
  const copy = (name: string): void =>
    cpSync(join(ROOT, 'examples', name), project.dir, {
      recursive: true,
      filter: (path) => !/\/(node_modules|dist)$/.test(path),
    });
  const count = async (queue: string): Promise<Record<string, number>> => {
    const { json } = await app.get(`/v1/${app.namespace}/queues/${queue}`);
    return (json as { counts: Record<string, number> }).counts;
  };

  it(
    'run in examples/node: a typed producer and a worker in programs of their own',
    async () => {
      copy('node');
      await run('npm', ['install', await pack('@pumphouse/client')], project.dir, env());
      await run('npm', ['run', 'build'], project.dir, env());
      const worker = project.start('dist/worker.js', env());
      const output = await run('npm', ['run', '--silent', 'producer'], project.dir, env());
      expect(output).toBe('done: 320/cat.png\npublished: 2\nrefused: invalid_input\n');
      await worker.until((text) => text.split('resize').length > 3);

      const { output: lines, code } = await worker.stop();
      expect(code).toBe(0);
      expect(lines.trim().split('\n')).toEqual(
        Array<unknown>(3).fill(expect.stringMatching(/^resize [0-9A-Z]{26} took \d+ ms$/)),
      );
      expect(await count('images')).toMatchObject({ ready: 0, scheduled: 0, leased: 0, dead: 0 });
    },
    LIMIT_MS,
  );

  it(
    'run in examples/http: without a library, also with a failing job',
    async () => {
      copy('http');
      const worker = project.start('work.mjs', env());
      for (const to of ['ada', 'grace', 'ada']) {
        const output = await run(process.execPath, ['publish.mjs', to], project.dir, env());
        expect(output).toMatch(/^20[01] \{.*"id":/);
      }
      const body = JSON.stringify({ queue: 'mail', data: { to: 1 }, tries: 1 });
      await app.call('POST', `/v1/${app.namespace}/jobs`, { body });
      await waitFor(async () => (await count('mail'))['dead'] === 1, 10_000);

      expect(await worker.stop()).toEqual({ output: 'mail to ada\nmail to grace\n', code: 0 });
      expect(await count('mail')).toMatchObject({ ready: 0, scheduled: 0, leased: 0, dead: 1 });
    },
    LIMIT_MS,
  );

  whereThere('python3').each(['worker.py', 'aio_worker.py'])(
    'examples/python: a producer and %s',
    async (program) => {
      copy('python');
      const own = {
        ...env(),
        PYTHONPATH: join(ROOT, 'packages', 'python', 'src'),
        PYTHONDONTWRITEBYTECODE: '1',
      };
      const worker = project.startProgram(['python3', program], own);
      const output = await run('python3', ['producer.py'], project.dir, own);
      expect(output).toBe('done: 320/cat.png\npublished: 2\nrefused: invalid_argument priority\n');
      await worker.until((text) => text.includes('dog.png'));
      await waitFor(async () => (await count('images'))['dead'] === 1, 10_000);
      const { output: all, code } = await worker.stop();
      const failed = /^.* WARNING pumphouse: a job failed and is not tried again: images .*: format\n/m;
      expect(all).toMatch(failed);
      expect({ output: all.replace(failed, ''), code }).toEqual({
        output: 'resized cat.png\nresized dog.png\n',
        code: 0,
      });
      expect(await count('images')).toMatchObject({ ready: 0, scheduled: 0, leased: 0 });
      const body = JSON.stringify({ filter: { queue: 'images' } });
      await app.call('POST', `/v1/${app.namespace}/dead-letter/delete`, { body });
    },
    LIMIT_MS,
  );

  whereThere('go')(
    'examples/go: a producer and a worker',
    async () => {
      const folder = join(ROOT, 'examples', 'go');
      await run('go', ['vet', './...'], folder, GO_ENV);
      await run('go', ['build', '-o', `${project.dir}/`, './...'], folder, GO_ENV);
      const worker = project.startProgram([join(project.dir, 'worker')], env());
      const output = await run(join(project.dir, 'producer'), [], project.dir, env());
      expect(output).toBe('done: 320/cat.png\n');
      expect(await worker.stop()).toEqual({
        output: expect.stringMatching(/^resized cat\.png\n.*<nil>\n$/) as string,
        code: 0,
      });
    },
    LIMIT_MS,
  );

  /** What the programs of the README print for one job. */
  const MAIL = 'mail to ada\n';
  const here = (code: string): string =>
    code.replace('http://127.0.0.1:7777', url()).replace(/(["'])demo\1/, `$1${app.namespace}$1`);

  it(
    'run in the README: a typed producer and worker in 25 lines',
    async () => {
      const [shell = ''] = codeIn('README.md', 'sh').filter((block) => block.includes('mail.js'));
      const own = shell.split('\n').filter((line) => !line.includes('python3'));
      const lines = [...own, ...typescript.split('\n')].filter((line) => line !== '');
      expect(lines.length).toBeLessThanOrEqual(25);

      project.write('mail.ts', here(typescript));
      const script = own
        .join('\n')
        .replace('npm pack --silent --workspace @pumphouse/client\n', '')
        .replace('REPO=$PWD; mkdir -p ../mailer && cd ../mailer && ', '')
        .replace('"$REPO"/pumphouse-client-*.tgz', await pack('@pumphouse/client'))
        .replace(/^node mail\.js .*$/m, '');
      expect(script).not.toMatch(/npm pack|mkdir|REPO|^node mail/m);
      await run('sh', ['-ec', script], project.dir, env());
      const program = project.start('mail.js', env());
      await program.until((text) => text === MAIL);
      expect(await program.stop()).toEqual({ output: MAIL, code: 0 });

      // The types count: an input that is not one of them does not compile.
      project.write('mail.ts', here(typescript).replace("{ to: 'ada' }", '{ to: 1 }'));
      const [compile = ''] = script.split('\n').filter((line) => line.startsWith('npx tsc'));
      await expect(run('sh', ['-ec', compile], project.dir, env())).rejects.toThrow(
        /mail\.ts\(\d+,\d+\): error TS/,
      );
    },
    LIMIT_MS,
  );

  whereThere('python3')(
    'in the README: each of the two programs works the jobs of the other',
    async () => {
      const [, publishing = ''] = /^(.*?)^const worker/ms.exec(here(typescript)) ?? [];
      const [, publishingInPython = ''] = /^(.*?)^worker =/ms.exec(here(python)) ?? [];
      project.write('mail.ts', here(typescript));
      project.write('publish.ts', publishing);
      project.write('mail.py', here(python));
      project.write('publish.py', publishingInPython);
      await project.unpack(['@pumphouse/client'], ['@types/node']);
      await project.compile('mail.ts', 'publish.ts');
      const own = {
        ...env(),
        PYTHONPATH: join(ROOT, 'packages', 'python', 'src'),
        PYTHONDONTWRITEBYTECODE: '1',
        PYTHONUNBUFFERED: '1',
      };

      // Python prints the parts of a line one by one: two handlers at once may mix their lines. Nothing else is printed.
      const sorted = (text: string): string => text.split('').toSorted().join('');
      for (const [publish, work] of [
        [
          ['python3', 'publish.py'],
          [process.execPath, 'mail.js'],
        ],
        [
          [process.execPath, 'publish.js'],
          ['python3', 'mail.py'],
        ],
      ] as const) {
        await run(publish[0], publish.slice(1), project.dir, own);
        const program = project.startProgram(work, own);
        await program.until((text) => sorted(text) === sorted(MAIL + MAIL));
        const { output, code } = await program.stop();
        expect({ output: sorted(output), code }).toEqual({ output: sorted(MAIL + MAIL), code: 0 });
      }
    },
    LIMIT_MS,
  );

  it(
    'run in docs/tutorial.md: a worker that survives a kill',
    async () => {
      for (const code of codeIn('docs/tutorial.md', 'js')) {
        const [, file = ''] = /^\/\/ (\w+\.mjs)\n/.exec(code) ?? [];
        project.write(file, code);
      }
      const typed = codeIn('docs/tutorial.md', 'ts');
      project.write('sums.ts', typed[0]!);
      const tarball = await pack('@pumphouse/client');
      const script = codeIn('docs/tutorial.md', 'sh')
        .join('')
        .replace(/^npm pack .*\n.* mkdir .*\n/m, '')
        .replace('"$REPO"/pumphouse-client-*.tgz', tarball);
      const curl = `curl() { "${process.execPath}" "${join(ROOT, 'scripts', 'setup', 'curl.mjs')}" "$@"; }\n`;
      const output = await run('sh', ['-c', curl + script], project.dir, env());

      expect(output).toContain(
        'published\nreport-1: start, attempt 1\nreport-1: start, attempt 2\nreport-1: done, 512 rows\nexit code 0\n',
      );
      const lines = output.trim().split('\n');
      const job: unknown = JSON.parse(lines.find((line) => line.startsWith('{"id":"report-1"')) ?? '');
      expect(job).toMatchObject({ state: 'done', attempts: 2, result: { data: { rows: 512 } } });

      expect(lines.at(-1)).toBe('done 6');
      const shell = codeIn('docs/tutorial.md', 'sh').filter((block) => /npm (?:init|install)/.test(block));
      const counted = [...shell, ...typed].join('').replace(/^(?:npm pack|REPO=|#).*\n/gm, '');
      expect(counted.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(25);
      // The types count.
      project.write('sums.ts', typed[0]!.replace('[1, 2, 3]', "['1']"));
      await expect(run('sh', ['-ec', shell.at(-1)!], project.dir, env())).rejects.toThrow(
        /sums\.ts.*error TS/,
      );
    },
    LIMIT_MS,
  );
});
