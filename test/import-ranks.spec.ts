import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const SRC = join(import.meta.dirname, '..', 'src');
const ROOT_FILES = '.';
/** A folder imports only folders of a lower rank; so those of equal rank never import each other. */
const RANK: Readonly<Record<string, number>> = {
  ...{ domain: 0, config: 1, client: 1, redis: 2, engine: 3, metrics: 4, http: 5, auth: 6 },
  ...{ jobs: 7, deadletter: 7, events: 7, stats: 7, settings: 7, workers: 7, queues: 7 },
  ...{ admin: 7, health: 7, cli: 7, 'lmstfy-import': 7, openapi: 7 },
  ...{ server: 8, [ROOT_FILES]: 9 },
  ...{
    jobs: 7,
    deadletter: 7,
    admin: 7,
    health: 7,
    cli: 7,
    'lmstfy-import': 7,
    openapi: 7,
    schedules: 7,
    server: 8,
    [ROOT_FILES]: 9,
  },
};

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

function folderOf(file: string): string {
  return file.includes(sep) ? (file.split(sep)[0] ?? ROOT_FILES) : ROOT_FILES;
}

/** Everything that a file imports or re-exports, types included. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(/(?:\bfrom|\bimport\(|^import) ?'([^']+)'/gm)].map(([, path = '']) => path);
}

const imports = files.flatMap((file) =>
  importsOf(file).map((path) => {
    const target = path.startsWith('.') ? relative(SRC, join(SRC, dirname(file), path)) : path;
    return { file, path: target, from: folderOf(file), to: path.startsWith('.') ? folderOf(target) : null };
  }),
);
const crossings = imports.filter(({ from, to }) => to !== null && from !== to);

describe('imports', () => {
  it('are only between folders that have a rank', () => {
    expect([...new Set(files.map(folderOf))].filter((folder) => RANK[folder] === undefined)).toEqual([]);
    expect(crossings.length).toBeGreaterThan(50);
  });

  it('go to folders of a lower rank', () => {
    expect(crossings.filter(({ from, to }) => !(RANK[to ?? '']! < RANK[from]!))).toEqual([]);
  });

  it('keep Nest out of redis/ (but for its module) and engine/, and that module out of the engine', () => {
    const nest = imports.filter(({ path }) => path.startsWith('@nestjs/'));
    const core = nest.filter(({ from }) =>
      ['domain', 'redis', 'engine', 'client', 'lmstfy-import'].includes(from),
    );
    expect([...new Set(core.map(({ file }) => file))]).toEqual([join('redis', 'redis.module.ts')]);
    expect(imports.filter(({ from, path }) => from === 'engine' && path.includes('redis.module'))).toEqual(
      [],
    );
  });

  it('leave the command line with nothing but the words and the configuration', () => {
    const wider = crossings.filter(
      ({ from, to }) => from === 'cli' && !['domain', 'config'].includes(to ?? ''),
    );
    expect(wider).toEqual([]);
  });
});
