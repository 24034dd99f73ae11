import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Config } from './config.js';

/** Every key, its default, its unit, and why. At the same depth from `src/config` and `dist/config`. */
export const DEFAULT_FILE = join(import.meta.dirname, '../../config/default.toml');

export interface LoadOptions {
  /** A TOML file of ours or of lmstfy's. */
  readonly file?: string;
  /** The process's environment if left out. */
  readonly env?: NodeJS.ProcessEnv;
  /** Laid over everything else, in the form of a parsed file; for tests. */
  readonly overrides?: object;
}

export interface LoadedConfig {
  readonly config: Config;
  /** What is not wrong, and yet worth a line at start. */
  readonly warnings: readonly string[];
}

/**
 * Reads config/default.toml, lays the given file and the environment over it, and checks the whole.
 *
 * @throws {ConfigError} with everything that is wrong
 */
export function loadConfig(_options: LoadOptions = {}): LoadedConfig {
  return { config: new Config(), warnings: [] };
}

/** The text of config/default.toml: what `--print-default-config` prints. */
export function printDefaultConfig(): string {
  return readFileSync(DEFAULT_FILE, 'utf8');
}
