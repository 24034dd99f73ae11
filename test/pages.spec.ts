import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { program } from '../packages/cli/src/program.js';
import { loadConfig } from '../src/config/load.js';
import { TestApp } from './support/app.js';

const ROOT = join(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  ...['docs', 'docs/api', 'docs/how-to'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).flatMap((name) => (name.endsWith('.md') ? `${folder}/${name}` : [])),
  ),
];
const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** Blocks of code in one language, without the indent of a list. */
function blocksOf(page: string, language: string): string[] {
  const fence = new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\`$`, 'gms');
  return [...textOf(page).matchAll(fence)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

describe('settings in the documents', () => {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-pages-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const blocks = PAGES.flatMap((page) =>
    blocksOf(page, 'toml')
      // Not of the server: a file of recurring jobs.
      .filter((block) => !/^schedule = /m.test(block))
      .map((block, i): [string, string] => [`${page}, ${String(i + 1)}`, block]),
  );

  it('are found by the check', () => expect(blocks.length).toBeGreaterThan(8));

  it.each(blocks)('are accepted: %s', (name, block) => {
    const file = join(dir, `${basename(name).replaceAll(/\W/g, '-')}.toml`);
    writeFileSync(
      file,
      block.replaceAll(/^(\w+) = "\/.*?"/gm, (_, key: string) => `${key} = "${file}"`),
    );
    expect(() => loadConfig({ file, env: {} })).not.toThrow();
  });
});

describe('commands in the documents', () => {
  const lines = PAGES.flatMap((page) =>
    blocksOf(page, 'sh').flatMap((block) =>
      block
        .replaceAll('\\\n', ' ')
        .split('\n')
        .flatMap((line) => /^(?:npx )?pumphouse (.*)$/.exec(line)?.[1] ?? [])
        .map((line): [string, string] => [page, line]),
    ),
  );

  it('are found by the check', () => expect(lines.length).toBeGreaterThan(40));

  it.each(lines)('are valid: %s: pumphouse %s', (_page, line) => {
    expect(faultsOf(argumentsOf(line))).toEqual([]);
  });

  it('are refused by the check with an unknown command, option or a wrong number of arguments', () => {
    expect(faultsOf(['queue', 'burn'])).toEqual(['queue has no command burn']);
    expect(faultsOf(['queue', 'ls', '--fast'])).toEqual(['no option --fast']);
    expect(faultsOf(['queue', 'pause'])).toEqual(['0 arguments']);
    expect(faultsOf(['queue', 'ls', 'mail'])).toEqual(['1 arguments']);
  });
});

/** The words of a line as a shell splits it, up to a comment or a redirection. */
function argumentsOf(line: string): string[] {
  const args = [...line.matchAll(/'[^']*'|"[^"]*"|[^\s'"]+(?:'[^']*'|"[^"]*")?/g)].map(([arg]) => arg);
  const end = args.findIndex((arg) => /^(#|[>|]|<(?!\w+>))/.test(arg));
  return end < 0 ? args : args.slice(0, end);
}

/** What the program would refuse of a command line. */
function faultsOf(args: readonly string[]): string[] {
  let command: Command = program({ out: () => undefined, err: () => undefined });
  const faults: string[] = [];
  let count = 0;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    // Its options are those of the server's own program.
    if (command.name() === 'serve') return faults;
    if (arg.startsWith('-')) {
      const flag = arg.replace(/=.*/s, '');
      const options = command.parent ? [...command.options, ...command.parent.options] : command.options;
      const option = options.find(({ long, short }) => long === flag || short === flag);
      if (!option) faults.push(`no option ${flag}`);
      else if ((option.required || option.optional) && !arg.includes('=')) at++;
    } else if (command.commands.length > 0) {
      const next = command.commands.find((each) => each.name() === arg || each.aliases().includes(arg));
      if (!next) return [`${command.name()} has no command ${arg}`];
      command = next;
    } else count++;
  }
  const { registeredArguments: all } = command;
  const isEndless = all.some(({ variadic }) => variadic);
  const isRight =
    count >= all.filter(({ required }) => required).length && (isEndless || count <= all.length);
  return isRight ? faults : [...faults, `${String(count)} arguments`];
}

describe('metrics in the documents', () => {
  /** What is named in the past: a metric's old name before its new one. */
  const RENAMED = /`pumphouse_\w+`\s+is\s+(?=`pumphouse_)/g;
  const [, newest = ''] = /^## \[.*?\]$(.*?)^## \[/ms.exec(textOf('CHANGELOG.md')) ?? [];
  const texts: [string, string][] = [
    ...PAGES.map((page): [string, string] => [page, textOf(page)]),
    ['CHANGELOG.md', newest.replaceAll(RENAMED, '')],
  ];
  /** Names of metrics, of those whose names end there: `pumphouse_` alone is a prefix. */
  const namesIn = (text: string): string[] => [...new Set(text.match(/\bpumphouse_\w*[a-z]\b/g))];
  let known: Set<string>;
  beforeAll(async () => {
    const app = await TestApp.start();
    const { text } = await app.admin('GET', '/metrics');
    known = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name));
    await app.stop();
  });

  it('are found by the check', () => {
    expect(texts.flatMap(([, text]) => namesIn(text)).length).toBeGreaterThan(50);
    expect(namesIn(newest).length).toBeGreaterThan(10);
  });

  it.each(texts)('exist: %s', (_page, text) => {
    const missing = namesIn(text).filter(
      (name) => !known.has(name) && !known.has(name.replace(/_(?:bucket|sum|count)$/, '')),
    );
    expect(missing).toEqual([]);
  });
});
