import { LIST_ORDERS, type PageRequest } from '../../domain/job/job-lists.js';
import { MAX_CURSOR } from '../../domain/limits.js';
import { InputError } from '../../contract/fields/problems.js';
import { Label, OneOf, Whole } from '../../contract/fields/kinds.js';
import { Optional } from '../../contract/fields/field.js';

const MAX_PAGE = 1_000;
const USUAL_PAGE = 100;

/** Query of all lists with pages. Lists with filters extend it. */
export class PageQuery {
  @Optional()
  @Whole(`Most items of a page; ${USUAL_PAGE} if it is left out.`, 1, MAX_PAGE)
  limit: number = USUAL_PAGE;

  @Optional()
  @Label('The `next_cursor` of the page before; omit it for the first page.', { max: MAX_CURSOR })
  cursor?: string;
}

/** Query of lists of jobs, which can be read from either end. */
export class JobsPageQuery extends PageQuery {
  @Optional()
  @OneOf(
    '`oldest` (default) or `newest`: the whole list reversed. A cursor is valid for its own order only.',
    LIST_ORDERS,
  )
  order: (typeof LIST_ORDERS)[number] = 'oldest';
}

/** A page as answers have it. @param place where the list continues; null at its end */
export function pageFacts<T>(items: readonly T[], place: string | null) {
  return { items, nextCursor: cursorOrNull(place) };
}

/** Query of lists that had one page before they had more: callers of that time get all that there may be. */
export class WholePageQuery extends PageQuery {
  @Optional()
  @Whole(`Most items of a page; ${MAX_PAGE} if it is left out, which is all.`, 1, MAX_PAGE)
  override limit: number = MAX_PAGE;
}

/**
 * The page of a list that is in memory, in the order of names.
 *
 * @param nameOf differs for each item
 * @throws {InputError} the cursor is not one of a list
 */
export function pageIn<T>(all: readonly T[], nameOf: (item: T) => string, { limit, cursor }: PageQuery) {
  const after = cursor === undefined ? '' : fromCursor(cursor, (place) => place !== '');
  const sorted = [...all].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const rest = sorted.filter((item) => nameOf(item) > after);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return pageFacts(items, last === undefined || rest.length === items.length ? null : nameOf(last));
}

/** The cursor of an optional place. */
export function cursorOrNull(place: string | null): string | null {
  return place === null ? null : toCursor(place);
}

/** Encodes a place in a list for callers: opaque to them, so that its format may change. */
export function toCursor(place: string): string {
  return Buffer.from(place).toString('base64url');
}

/**
 * Decodes a cursor.
 *
 * @param isPlace true if the text can be a place of this list
 * @throws {InputError} it is not a cursor of this list
 */
export function fromCursor(cursor: string, isPlace: (place: string) => boolean): string {
  const place = Buffer.from(cursor, 'base64url').toString();
  if (toCursor(place) === cursor && isPlace(place)) return place;
  throw new InputError([
    { field: 'cursor', rule: 'must be the next_cursor of an earlier page of this list' },
  ]);
}

/** Reads the page of a list query; the list checks the place of its cursor. */
export function pageOf({ limit, cursor }: PageRequest): PageRequest {
  return { limit, cursor: cursor === undefined ? undefined : fromCursor(cursor, () => true) };
}
