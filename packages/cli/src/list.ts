import { Option } from 'commander';
import { positiveNumber } from './parse.js';
import { json, table } from './print.js';
import type { Session } from './session.js';

/** Items of a page at most. */
export const MAX_PAGE = 1_000;
const DEFAULT_LIMIT = 100;

/** How many items a list shows. */
export function limitOption(): Option {
  return new Option('--limit <n>', 'maximum number of rows').argParser(positiveNumber).default(DEFAULT_LIMIT);
}

/** The items of all pages, up to `limit`. */
export async function collect<T>(all: AsyncIterable<T>, limit = Infinity): Promise<T[]> {
  const items: T[] = [];
  for await (const item of all) {
    items.push(item);
    if (items.length >= limit) break;
  }
  return items;
}

/** A list as a table or as JSON. */
export interface Listing<T> {
  readonly headings: readonly string[];
  readonly rowOf: (item: T) => readonly string[];
}

export function showAll<T>(session: Session, items: readonly T[], { headings, rowOf }: Listing<T>): void {
  session.out(session.isJson ? json(items) : table(session, headings, items.map(rowOf)));
}

/** Shows the first `limit` items, and says if there are more. @param pagesOf lists by pages of this size */
export async function showFirst<T>(
  session: Session,
  limit: number,
  pagesOf: (pageSize: number) => AsyncIterable<T>,
  listing: Listing<T>,
): Promise<void> {
  const found = await collect(pagesOf(Math.min(MAX_PAGE, limit + 1)), limit + 1);
  showAll(session, found.slice(0, limit), listing);
  if (found.length > limit) session.err(`There are more: these are the first ${String(limit)} (--limit).\n`);
}
