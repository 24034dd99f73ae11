import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { isLoopback } from './addresses.js';
import { problemsOf, warningsOf } from './check.js';
import { Config } from './config.js';
import { readEnvironment } from './environment.js';
import { isLmstfyFile, translateLmstfy } from './lmstfy-dialect.js';
import { ConfigError } from './problems.js';
import { fileProblem, readTextFile } from './text-files.js';
import {
  admit,
  below,
  build,
  emptyTree,
  isTree,
  lay,
  type Layer,
  pathsOf,
  placeKeyOf,
  type Tree,
} from './tree.js';

/** Every key with its default, unit and reason. At the same depth from `src/config` and `dist/config`. */
export const DEFAULT_FILE = join(import.meta.dirname, '../../config/default.toml');

export interface LoadOptions {
  /** A TOML file with our keys or with lmstfy's. */
  readonly file?: string;
  /** Default: this process's environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** Overrides everything else, in the form of a parsed file; for tests. */
  readonly overrides?: object;
}

/**
 * Reads config/default.toml, overrides it with the given file and then with the environment, and checks the result.
 *
 * @throws {ConfigError} with all problems at once
 */
export function loadConfig({ file, env = process.env, overrides }: LoadOptions = {}): Config {
  const loading = new Loading();
  loading.add({ tree: parse(printDefaultConfig()), origin: () => 'default.toml' });
  const isLmstfy = file !== undefined && loading.addFile(file);
  const environment = readEnvironment(env, Config, loading.tree, loading.problems);
  if (isLmstfy) loading.dropCredentials(environment.tree);
  loading.add(environment);
  if (overrides) loading.add({ tree: { ...overrides }, origin: () => 'the overrides' });
  if (isLmstfy) loading.keepAdminAtHome();
  if (isLmstfy) loading.checkTokens();
  return loading.finish();
}

/** The text of config/default.toml: printed by `--print-default-config`. */
export function printDefaultConfig(): string {
  return readFileSync(DEFAULT_FILE, 'utf8');
}

/** Merges layers one by one, and collects their problems. */
class Loading {
  tree: Tree = emptyTree();
  readonly problems: string[] = [];
  private readonly warnings: string[] = [];
  private readonly origins = new Map<string, string>();
  private fileLayer: Layer | undefined;
  private areTokensAtLmstfy = false;

  add(layer: Layer): void {
    const admitted = admit(layer, Config, this.problems);
    for (const path of pathsOf(admitted)) this.origins.set(path, layer.origin(path));
    this.tree = lay(this.tree, admitted);
  }

  /** @returns true if it is a lmstfy file */
  addFile(file: string): boolean {
    const tree = this.read(file);
    if (!isLmstfyFile(tree)) {
      this.add({ tree, origin: () => file });
      return false;
    }
    const { layer, warnings } = translateLmstfy(tree, file, this.problems);
    this.warnings.push(...warnings);
    // The file defines all pools. If the default pool is missing there, an embedded Redis in its place would be a
    // surprise.
    this.tree['pools'] = emptyTree();
    this.fileLayer = layer;
    this.add(layer);
    return true;
  }

  private read(file: string): Tree {
    try {
      return parse(readTextFile(file));
    } catch (error) {
      this.problems.push(unreadable(file, error));
      return emptyTree();
    }
  }

  /**
   * lmstfy's admin port never requires accounts. Ours does, so with a lmstfy file without accounts it is only reachable
   * from this machine.
   */
  keepAdminAtHome(): void {
    const { admin } = build(Config, this.tree);
    const origin = this.fileLayer?.origin('admin.host');
    if (origin !== this.origins.get('admin.host') || typeof admin.host !== 'string') return;
    if (isLoopback(admin.host) || Object.keys(admin.accounts).length > 0) return;
    if (admin.oidc.issuer !== undefined) return;
    this.tree = lay(this.tree, { admin: { host: '127.0.0.1' } });
    this.warnings.push(
      `the admin port is open to this machine only (127.0.0.1): ${origin ?? ''} asks for more, but there are no accounts`,
    );
  }

  /**
   * The password and the database of a lmstfy file are those of lmstfy's Redis. They must not be used for another one,
   * which the environment names.
   */
  dropCredentials({ pools, tokens }: Tree): void {
    const moved = (over: unknown, own: unknown): unknown => {
      if (!isTree(over) || !isTree(own) || /* guard: lmstfy-password-stays */ placeKeyOf(over) === undefined)
        return own;
      const { password: _password, db: _db, ...rest } = own;
      return rest;
    };
    this.tree['tokens'] = moved(tokens, this.tree['tokens']);
    const own = this.tree['pools'];
    if (!isTree(pools) || !isTree(own)) return;
    for (const name of Object.keys(own)) own[name] = moved(pools[name], own[name]);
  }

  /**
   * AdminRedis stays the Redis of the tokens if the environment names another Redis for the jobs: they would be lost
   * with lmstfy's Redis. A server only warns of that; an import refuses it.
   */
  checkTokens(): void {
    const { pools, tokens } = this.tree;
    const jobs = isTree(pools) ? this.placeOrigin('pools.default', pools['default']) : undefined;
    const kept = this.placeOrigin('tokens', tokens);
    this.areTokensAtLmstfy = (kept ?? jobs)?.isOfFile === true;
    if (kept?.isOfFile !== true || jobs?.isOfFile !== false) return;
    this.warnings.push(
      `tokens are in lmstfy's Redis (${kept.origin}), and the jobs of pool default are in another one (${jobs.origin}): import the ` +
        'tokens, and set tokens.url (PUMPHOUSE_TOKENS__URL), before that Redis is switched off',
    );
  }

  /** What set the address of a Redis, and whether it was the lmstfy file. */
  private placeOrigin(
    path: string,
    redis: unknown,
  ): { readonly origin: string; readonly isOfFile: boolean } | undefined {
    const key = isTree(redis) ? placeKeyOf(redis) : undefined;
    if (key === undefined) return undefined;
    const origin = this.origins.get(below(path, key)) ?? '';
    return { origin, isOfFile: origin === this.fileLayer?.origin(below(path, key)) };
  }

  finish(): Config {
    const config = build(Config, this.tree);
    for (const { path, text } of problemsOf(config)) {
      const origin = this.origins.get(path);
      this.problems.push(`${path} ${text}${origin === undefined ? '' : ` (${origin})`}`);
    }
    if (this.problems.length > 0) throw new ConfigError(this.problems);
    config.warnings.push(...this.warnings, ...warningsOf(config));
    config.areTokensAtLmstfy = this.areTokensAtLmstfy;
    return config;
  }
}

/** The parser's own message quotes the line, which may contain a password: report only position and reason. */
function unreadable(file: string, error: unknown): string {
  if (error instanceof TomlError) {
    const reason = error.message.split('\n', 1)[0] ?? '';
    return `${file}, line ${error.line}, column ${error.column}: ${reason}`;
  }
  return `${file} cannot be read: ${fileProblem(error)}`;
}
