import { isUtf8 } from 'node:buffer';
import { isJsonType } from '../../domain/content-type.js';
import { JsonScanner } from './scanner.js';

/** JSON that is stored: its text, and its value. */
export interface StoredJson {
  readonly text: string;
  readonly value: unknown;
}

/**
 * How deep stored JSON is nested, 0 for a text or a number; undefined if it is no JSON, or deeper than any JSON may be.
 * It decodes nothing.
 *
 * @param contentType null = none was given
 */
export function depthOfData(body: Buffer, contentType: string | null): number | undefined {
  if (contentType !== null && !isJsonType(contentType)) return undefined;
  if (!isUtf8(body)) return undefined;
  const scanner = new JsonScanner(body);
  return scanner.value() && scanner.end() ? scanner.deepest : undefined;
}

/**
 * Reads stored data as JSON; undefined if it is not. lmstfy's clients publish any bytes, without a content type.
 *
 * @param contentType null = none was given
 */
export function jsonOfData(body: Buffer, contentType: string | null): StoredJson | undefined {
  if (contentType !== null && !isJsonType(contentType)) return undefined;
  if (body.length === 0 || !isUtf8(body)) return undefined;
  const text = body.toString();
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
