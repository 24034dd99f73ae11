import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError } from './problems.js';
import { fileProblem } from './text-files.js';

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
      texts[key] = readPemFile(file, key.endsWith('key'));
    } catch (error) {
      if (!(error instanceof PemError)) throw error;
      problems.push(`${section}.${key}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return texts;
}

/** The file cannot be read, or has other content. Its message names the file, and shows no content. */
export class PemError extends Error {}

/**
 * Reads a file with a private key, or with certificates: of several, the first is checked.
 *
 * @throws {PemError}
 */
export function readPemFile(file: string, isKey: boolean): string {
  const text = textOf(file);
  try {
    if (isKey) createPrivateKey(text);
    else /* guard: file-must-be-a-certificate */ new X509Certificate(text);
    return text;
  } catch {
    const what = isKey ? 'private key (PEM, without a passphrase)' : 'certificate (PEM)';
    throw new PemError(`${file} holds no ${what}`);
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new PemError(`${file} cannot be read: ${fileProblem(error)}`, { cause: error });
  }
}
