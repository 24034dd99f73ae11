import type { PageRequest } from '../domain/job-lists.js';
import { InputError } from './errors.v1.js';
import { Label, Whole } from './fields/kinds.js';
import { Optional } from './fields/field.js';

const MAX_PAGE = 1_000;
const USUAL_PAGE = 100;
const MAX_CURSOR = 512;

/** How every list is asked for, a page at a time. Lists with filters extend it. */
export class PageQuery {
  @Optional()
  @Whole(`Most items of a page; ${USUAL_PAGE} if it is left out.`, 1, MAX_PAGE)
  limit: number = USUAL_PAGE;

  @Optional()
  @Label('The `next_cursor` of the page before; left out for the first page.', { max: MAX_CURSOR })
  cursor?: string;
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

/** A page in the words of the wire. @param place where the list goes on, null at its end */
export function pageAnswer<T>(items: readonly T[], place: string | null): Page<T> {
  return { items, next_cursor: cursorOrNull(place) };
}

/** The cursor of a place that there may not be. */
export function cursorOrNull(place: string | null): string | null {
  return place === null ? null : toCursor(place);
}

/** A place in a list, as callers see it: it tells them nothing, so that it may change. */
export function toCursor(place: string): string {
  return Buffer.from(place).toString('base64url');
}

/**
 * The place that a cursor stands for.
 *
 * @param isPlace whether there can be such a place in this list
 * @throws {InputError} nobody was given such a cursor
 */
export function fromCursor(cursor: string, isPlace: (place: string) => boolean): string {
  const place = Buffer.from(cursor, 'base64url').toString();
  if (toCursor(place) === cursor && isPlace(place)) return place;
  throw new InputError([
    { field: 'cursor', rule: 'must be the next_cursor of an earlier page of this list' },
  ]);
}

/** What a query of a list asks for; the place of its cursor is for the list to judge. */
export function pageOf({ limit, cursor }: PageRequest): PageRequest {
  return { limit, cursor: cursor === undefined ? undefined : fromCursor(cursor, () => true) };
}
