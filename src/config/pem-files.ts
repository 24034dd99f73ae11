import { readFileSync } from 'node:fs';
import { isNativeError } from 'node:util/types';
import { ConfigError } from './problems.js';

/**
 * Reads the files that some keys of a section name; keys without a file are left out.
 *
 * @param section its path, such as `pools.default`, for messages
 * @param files key → file name
 * @throws {ConfigError} naming each key whose file cannot be read or holds no PEM
 */
export function readPemFiles<K extends string>(
  section: string,
  files: Readonly<Partial<Record<K, string | undefined>>>,
): Partial<Record<K, string>> {
  const texts: Partial<Record<K, string>> = {};
  const problems: string[] = [];
  for (const [key, file] of Object.entries(files) as [K, string | undefined][]) {
    if (file === undefined) continue;
    const text = readOr(file, (why) => problems.push(`${section}.${key}: ${file} ${why}`));
    if (text !== undefined) texts[key] = text;
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return texts;
}

function readOr(file: string, say: (why: string) => void): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.includes('-----BEGIN ')) return text;
    say('holds no PEM block (-----BEGIN …)');
  } catch (error) {
    say(`cannot be read (${isNativeError(error) && 'code' in error ? String(error.code) : 'unknown error'})`);
  }
  return undefined;
}
