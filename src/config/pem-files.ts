import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isNativeError } from 'node:util/types';
import { ConfigError } from './problems.js';

/**
 * Reads the PEM files that some keys of a section name: private keys, if the key's name ends with `key`, else
 * certificates. Keys without a file are omitted.
 *
 * @param section its path, such as `pools.default`, for messages
 * @param files key → file name
 * @throws {ConfigError} naming each key whose file cannot be read, or has other content; the content is not shown
 */
export function readPemFiles<K extends string>(
  section: string,
  files: Readonly<Partial<Record<K, string | undefined>>>,
): Partial<Record<K, string>> {
  const texts: Partial<Record<K, string>> = {};
  const problems: string[] = [];
  for (const [key, file] of Object.entries(files) as [K, string | undefined][]) {
    if (file === undefined) continue;
    try {
      texts[key] = read(file, key.endsWith('key'));
    } catch (error) {
      problems.push(
        `${section}.${key}: ${file} ${error instanceof Unfit ? error.message : unreadable(error)}`,
      );
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return texts;
}

/** The file could be read, but has other content. */
class Unfit extends Error {}

function read(file: string, isKey: boolean): string {
  const text = readFileSync(file, 'utf8');
  try {
    if (isKey) createPrivateKey(text);
    // If there are several, checks the first.
    else new X509Certificate(text);
  } catch {
    throw new Unfit(
      isKey ? 'holds no private key (PEM, without a passphrase)' : 'holds no certificate (PEM)',
    );
  }
  return text;
}

function unreadable(error: unknown): string {
  return `cannot be read (${isNativeError(error) && 'code' in error ? String(error.code) : 'unknown error'})`;
}
