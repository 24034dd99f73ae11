import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FieldsClass, fieldsOf } from '../../src/contract/fields/field.js';
import { PublishFields } from '../../src/contract/job/options.js';
import { FaultyProxy } from '../../packages/client/test/faulty-proxy.js';
import { TestApp } from '../support/app.js';
import { GO_ENV, hasProgram, ROOT, run } from '../support/packed.js';
import { GO, hasGo, hasPython, languagesIn, languagesOf, PYTHON } from './languages.js';
import { Player, type Scenario } from './scenario.js';

const LIMIT_MS = 900_000;
const whereThere = (is: boolean): jest.Describe => (is ? describe : describe.skip);

const hasMypy = hasProgram('mypy');
const folder = mkdtempSync(join(tmpdir(), 'pumphouse-clients-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { scenarios } = JSON.parse(readFileSync(join(import.meta.dirname, 'scenarios.json'), 'utf8')) as {
  scenarios: Scenario[];
};
const languages = languagesOf(folder);

describe('the client libraries', () => {
  let app: TestApp;
  const players: Player[] = [];
  const proxies: FaultyProxy[] = [];
  /** The error of each scenario, or nothing. All languages play at once, each its scenarios one by one. */
  const outcomes = new Map<string, Promise<unknown>>();
  const keyOf = (language: string, { name }: Scenario): string => `${language} ${name}`;

  beforeAll(async () => {
    app = await TestApp.start();
    for (const language of await languagesIn(folder)) {
      const proxy = await FaultyProxy.start(app.port);
      const player = new Player(language, app, proxy);
      proxies.push(proxy);
      players.push(player);
      let before: Promise<unknown> = Promise.resolve();
      for (const scenario of scenarios) {
        before = before.then(() => player.play(scenario)).catch((error: unknown) => error);
        outcomes.set(keyOf(language.name, scenario), before);
      }
    }
  }, LIMIT_MS);
  afterAll(async () => {
    for (const player of players) player.stop();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await app.stop();
  });

  const playedIn = (isThere: boolean): (Scenario & { language: string })[] =>
    languages
      .filter(({ isInstalled }) => isInstalled === isThere)
      .flatMap(({ name: language }) => scenarios.map((scenario) => ({ ...scenario, language })));
  const missing = playedIn(false);
  if (missing.length > 0)
    it.skip.each(missing)('are not tested without $language in the scenario: $name', () => undefined);

  it.each(playedIn(true))(
    'pass the scenario in $language: $name',
    async ({ language, ...scenario }) => {
      const error = await outcomes.get(keyOf(language, scenario));
      if (error !== undefined) throw error as Error;
    },
    LIMIT_MS,
  );
});

describe('the scenarios of the client libraries', () => {
  interface Step {
    readonly do?: string;
    readonly with?: { readonly job?: object; readonly jobs?: readonly object[] | { readonly of: object } };
  }
  /** The names of an object, with those in it: `retry.kind`. */
  const pathsOf = (of: object, at = ''): string[] =>
    Object.entries(of).flatMap(([name, value]) => {
      const isPart = ['retry', 'unique', 'push'].includes(name);
      return isPart ? pathsOf(value as object, `${name}.`) : [at + name];
    });
  const declared = (of: FieldsClass, at = ''): string[] =>
    [...fieldsOf(of)].flatMap(([name, field]) => (field.of ? declared(field.of(), `${name}.`) : [at + name]));

  it('publish a job with each field of the API, in all languages', () => {
    const published = scenarios.flatMap(({ steps }) =>
      (steps as readonly Step[]).flatMap(({ do: call, with: { job, jobs = [] } = {} }) => {
        if (call?.startsWith('publish') !== true) return [];
        return job ? [job] : 'of' in jobs ? [jobs.of] : jobs;
      }),
    );
    const names = new Set(published.flatMap((job) => pathsOf(job)));
    // Bytes stand in base64 beside the rest.
    const missing = declared(PublishFields).filter((name) => !names.has(name) && name !== 'data_base64');
    expect([missing, names.has('bytes')]).toEqual([[], true]);
  });
});

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

whereThere(hasGo)('packages/go', () => {
  it(
    'is formatted, passes go vet, and needs no module',
    async () => {
      expect(await run('gofmt', ['-l', '.', join(ROOT, 'examples', 'go')], GO)).toBe('');
      await run('go', ['vet', './...'], GO, GO_ENV);
      expect(readFileSync(join(GO, 'go.mod'), 'utf8')).not.toContain('require');
    },
    LIMIT_MS,
  );

  it('has the version of the server', () => {
    expect(readFileSync(join(GO, 'doc.go'), 'utf8')).toContain(`Version = "${version}"`);
  });
});

whereThere(hasPython)('packages/python', () => {
  it('compiles, and has the version of the server', async () => {
    const code = `import compileall, sys; sys.exit(not compileall.compile_dir("src", quiet=1))`;
    await run('python3', ['-c', code], PYTHON, { PYTHONPYCACHEPREFIX: folder });
    for (const file of ['pyproject.toml', 'src/pumphouse/_version.py']) {
      expect(readFileSync(join(PYTHON, file), 'utf8')).toContain(`version`);
      expect(readFileSync(join(PYTHON, file), 'utf8')).toContain(`= "${version}"`);
    }
  });

  (hasMypy ? it : it.skip)(
    'has types that mypy accepts for Python 3.9, strictly',
    async () => {
      const files = [
        'src',
        'test',
        'backend',
        ...['producer', 'worker', 'aio_worker'].map((name) => join(ROOT, 'examples', 'python', `${name}.py`)),
      ];
      await run('mypy', ['--cache-dir', folder, ...files], PYTHON);
    },
    LIMIT_MS,
  );
});
