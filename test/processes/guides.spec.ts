import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenStore } from '../../src/auth/token-store.js';
import { tabGroupsOf } from '../../site/.vitepress/tabs.mjs';
import { TestApp } from '../support/app.js';
import { GO_ENV, hasProgram, Project, ROOT, run } from '../support/packed.js';
import {
  answersOf,
  blocksOf,
  differences,
  goImportsOf,
  printsOf,
  writeGoModule,
} from '../support/samples.js';

const LIMIT_MS = 600_000;
/** What the libraries log of failed attempts. */
const LOGGED = /^\S+.* pumphouse: (?:an attempt at )?a job failed.*\n/gm;
const FOLDER = join(ROOT, 'docs', 'how-to');
const LABELS = ['curl', 'TypeScript', 'Python', 'Go'] as const;
type Label = (typeof LABELS)[number];
const LANGUAGES = { curl: 'sh', TypeScript: 'ts', Python: 'python', Go: 'go' } as const;

const textOf = (guide: string): string => readFileSync(join(FOLDER, `${guide}.md`), 'utf8');
const pages = readdirSync(FOLDER).map((name) => name.replace(/\.md$/, ''));
const withTabs = pages.filter((guide) => tabGroupsOf(textOf(guide)).length > 0);
/** Those whose samples follow the connection. */
const guides = pages.filter((guide) => textOf(guide).includes('(connect.md)'));

/** A guide whose commands of the shell have a spec of their own, which sets up what they are about. */
const PLAYED_ELSEWHERE = 'job-does-not-run';

/** The samples of a guide in one language, in their order. In the shell, those that call the API. */
function samplesOf(guide: string, label: Label): string[] {
  if (label === 'curl' && guide === PLAYED_ELSEWHERE) return [];
  const blocks = blocksOf(textOf(guide), LANGUAGES[label]);
  return label === 'curl' ? blocks.filter((code) => code.includes('v1 ')) : blocks;
}

const connection = (label: Label): string =>
  tabGroupsOf(textOf('connect'))[0]?.tabs.find((tab) => tab.label === label)?.code ?? '';
const nameOf = (guide: string, at: number): string => `${guide.replaceAll('-', '_')}_${String(at)}`;
/** A worker runs until a signal comes. */
const isWorker = (code: string): boolean => /signals: true|signals=True|RunUntilSignal/.test(code);

describe('tabs of the how-to guides', () => {
  const owed = [
    ...['cron', 'dead-letters', 'dependencies', 'from-cron', 'idempotency', 'limits', 'priorities'],
    'retries',
  ];

  it('are in the guides that publish or work jobs', () => {
    expect(withTabs).toEqual(expect.arrayContaining(owed));
  });

  it.each(owed)('have the same languages in the same order: %s', (guide) => {
    for (const { tabs } of tabGroupsOf(textOf(guide))) expect(tabs.map(({ label }) => label)).toEqual(LABELS);
  });

  it.each(withTabs)('are all found in %s', (guide) => {
    const tabs = tabGroupsOf(textOf(guide)).flatMap((group) => group.tabs);
    expect(tabs).toHaveLength(textOf(guide).split('<details').length - 1);
  });
});

describe('samples of the how-to guides', () => {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-guides-'));
  const project = new Project();
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
    await project.unpack(['@pumphouse/client'], ['@types/node']);
    const files = guides.flatMap((guide) =>
      samplesOf(guide, 'TypeScript').map((code, at) => {
        project.write(`${nameOf(guide, at)}.ts`, `${connection('TypeScript')}${code}`);
        return `${nameOf(guide, at)}.ts`;
      }),
    );
    await project.compile(...files);
    for (const guide of guides)
      for (const [at, code] of samplesOf(guide, 'Python').entries())
        writeFileSync(join(dir, `${nameOf(guide, at)}.py`), `${connection('Python')}${code}`);
    if (hasProgram('go')) await buildGo(dir);
  }, LIMIT_MS);
  afterAll(async () => {
    project.remove();
    rmSync(dir, { recursive: true, force: true });
    await app.stop();
  });

  /** The command that runs a sample. */
  function commandOf(guide: string, label: Label, at: number, code: string): string[] {
    if (label === 'TypeScript') return [process.execPath, `${nameOf(guide, at)}.js`];
    if (label === 'Python') return ['python3', join(dir, `${nameOf(guide, at)}.py`)];
    if (label === 'Go') return [join(dir, 'samples'), nameOf(guide, at)];
    const ours = `curl() { "${process.execPath}" "${join(ROOT, 'scripts', 'setup', 'curl.mjs')}" "$@"; }\n`;
    const curl = hasProgram('curl') ? '' : ours;
    return ['sh', '-ec', `${curl}${connection('curl')}${code}`];
  }

  const cases = guides.flatMap((guide) =>
    LABELS.filter((label) => samplesOf(guide, label).length > 0).map((label): [string, Label] => [
      guide,
      label,
    ]),
  );

  it('are in eleven guides', () => expect(guides.length).toBeGreaterThanOrEqual(11));

  const isHere = ([, label]: [string, Label]): boolean =>
    (label !== 'Go' || hasProgram('go')) && (label !== 'Python' || hasProgram('python3'));

  // Each guide has a namespace of its own in each language, in which its samples run one after the other.
  it.each(cases.filter(isHere))(
    'print what is shown: %s, %s',
    async (guide, label) => {
      const namespace = `${guide}-${label.toLowerCase()}-${app.namespace}`;
      const tokens = app.server.admin.app.get(TokenStore, { strict: false });
      const env = {
        PUMPHOUSE_URL: `http://127.0.0.1:${String(app.port)}`,
        PUMPHOUSE_NAMESPACE: namespace,
        PUMPHOUSE_TOKEN: await tokens.create(namespace, 'default', 'guide'),
        PYTHONPATH: join(ROOT, 'packages', 'python', 'src'),
        ...{ PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' },
      };
      for (const [at, code] of samplesOf(guide, label).entries()) {
        const shown = label === 'curl' ? answersOf(code) : printsOf(code);
        const [program = '', ...argv] = commandOf(guide, label, at, code);
        if (isWorker(code)) {
          expect(shown).not.toEqual([]);
          const worker = project.startProgram([program, ...argv], env);
          await worker.until((text) => text.split('\n').length > shown.length);
          const { output, code: exitCode } = await worker.stop();
          expect([at, differences(shown, output.replaceAll(LOGGED, '')), exitCode]).toEqual([at, [], 0]);
        } else {
          const output = await run(program, argv, project.dir, env);
          expect([at, differences(shown, output)]).toEqual([at, []]);
        }
      }
    },
    LIMIT_MS,
  );

  (hasProgram('mypy') ? it : it.skip)(
    'have the types that mypy wants',
    async () => {
      const env = { MYPYPATH: join(ROOT, 'packages', 'python', 'src') };
      const files = readdirSync(dir).filter((name) => name.endsWith('.py'));
      await run('mypy', ['--strict', '--cache-dir', join(dir, 'cache'), ...files], dir, env);
    },
    LIMIT_MS,
  );
});

/** One program with all samples in Go, each a function of its own, and the connection around them. */
async function buildGo(dir: string): Promise<void> {
  const files: Record<string, string> = {};
  const names: string[] = [];
  for (const guide of guides)
    for (const [at, code] of samplesOf(guide, 'Go').entries()) {
      const name = nameOf(guide, at);
      names.push(name);
      const body = `func ${name}(ctx context.Context, client *pumphouse.Client, err error) {\n${code}}\n`;
      files[`sample_${name}.go`] = `package main\n\n${goImportsOf(body)}\n${body}`;
    }
  files['samples.go'] =
    `package main\n\n${goImportsOf('context. pumphouse.')}\n` +
    `var samples = map[string]func(context.Context, *pumphouse.Client, error){\n` +
    `${names.map((name) => `\t"${name}": ${name},\n`).join('')}}\n`;
  files['main.go'] = connection('Go')
    .replace('// Samples go here.', 'samples[os.Args[1]](ctx, client, err)')
    .replace('import (\n', 'import (\n\t"os"\n');
  writeGoModule(dir, files);
  await run('go', ['vet', '.'], dir, GO_ENV);
  await run('go', ['build', '-o', 'samples', '.'], dir, GO_ENV);
}
