import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainToInstance } from 'class-transformer';
import { parse } from 'smol-toml';
import 'reflect-metadata';
import { problemsOf } from './check.js';
import { Config } from './config.js';
import { readEnvironment } from './environment.js';
import { isLmstfyDialect, translateLmstfy } from './lmstfy-dialect.js';
import { isTable, merge, type Table } from './merge.js';
import { ConfigError } from './problems.js';

/** The documented defaults: at the same depth from `src/` and from `dist/`. */
const DEFAULT_FILE = join(import.meta.dirname, '..', '..', 'config', 'default.toml');

/** Where a configuration comes from, beside the defaults. */
export interface ConfigSources {
  /** The file given with `-c`: ours, or a lmstfy server's as it is. */
  readonly file?: string;
  /** By default this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads the defaults, then the file, then the environment, and checks the whole.
 *
 * @throws {ConfigError} with every problem that was found
 */
export function loadConfig({ file, env = process.env }: ConfigSources = {}): Config {
  const problems: string[] = [];
  const warnings: string[] = [];
  let table = parse(readFileSync(DEFAULT_FILE, 'utf8')) as Table;
  const given = file === undefined ? {} : readFile(file, problems, warnings);
  const surroundings = readEnvironment(env);
  for (const over of [given, surroundings]) table = merge(withoutReplacedUrls(table, over), over);
  const config = plainToInstance(Config, dropEmpty(table));
  config.warnings.push(...warnings);
  problems.push(...shapeProblems(table), ...(problems.length === 0 ? problemsOf(config) : []));
  if (problems.length > 0) throw new ConfigError([...new Set(problems)]);
  return config;
}

/** The text of `config/default.toml`. */
export function printDefaultConfig(): string {
  return readFileSync(DEFAULT_FILE, 'utf8');
}

function readFile(path: string, problems: string[], warnings: string[]): Table {
  let table: Table;
  try {
    table = parse(readFileSync(path, 'utf8')) as Table;
  } catch (error) {
    // The parser's message shows the line that is wrong, which may hold a password: only its place is told.
    const place = error instanceof Error && 'line' in error ? ` at line ${String(error.line)}` : '';
    const reason = error instanceof Error && 'code' in error ? 'cannot be read' : `is no TOML${place}`;
    problems.push(`${path} ${reason}`);
    return {};
  }
  if (!isLmstfyDialect(table)) return table;
  const translation = translateLmstfy(table);
  problems.push(...translation.problems);
  warnings.push(...translation.warnings);
  return translation.table;
}

/** A pool that is given sentinels or a cluster is not the default's embedded one any more. */
function withoutReplacedUrls(under: Table, over: Table): Table {
  const pools = isTable(under['pools']) ? under['pools'] : {};
  const given = isTable(over['pools']) ? over['pools'] : {};
  const kept = Object.entries(pools).map(([name, pool]) => {
    const change = given[name];
    if (!isTable(pool) || !isTable(change) || !('sentinels' in change || 'cluster' in change))
      return [name, pool];
    const rest = { ...pool };
    delete rest['url'];
    return [name, rest];
  });
  return { ...under, pools: Object.fromEntries(kept) as Table };
}

/** `tokens.url = ""` means that it is not set. */
function dropEmpty(table: Table): Table {
  const tokens = table['tokens'];
  if (!isTable(tokens) || tokens['url'] !== '') return table;
  const rest = { ...tokens };
  delete rest['url'];
  return { ...table, tokens: rest };
}

/** A section that is no table cannot be checked any further; `warnings` is ours to fill. */
function shapeProblems(table: Table): string[] {
  const sections = Object.keys(new Config()).filter((key) => key !== 'warnings');
  const missing = sections.filter((key) => !isTable(table[key])).map((key) => `${key} must be a table`);
  return 'warnings' in table ? [...missing, 'warnings is not a known key'] : missing;
}
