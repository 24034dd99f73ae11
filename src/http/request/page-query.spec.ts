import { InputError } from '../answer/errors.v1.js';
import { readQuery } from '../fields/read.js';
import { fromCursor, PageQuery, toCursor } from './page-query.js';
import { parseQuery } from './head.js';

const read = (text: string): PageQuery => readQuery(PageQuery, parseQuery(text));

describe('the page of a list', () => {
  it('is the first, of a hundred, if nothing is said', () => {
    expect(read('')).toEqual({ limit: 100 });
  });

  it('is as long as it was asked to be, up to a thousand, and goes on where the last one ended', () => {
    expect(read('limit=1000&cursor=abc')).toEqual({ limit: 1_000, cursor: 'abc' });
    for (const wrong of [
      'limit=0',
      'limit=1001',
      'limit=',
      'limit=ten',
      'cursor=',
      `cursor=${'x'.repeat(641)}`,
    ]) {
      expect(() => read(wrong)).toThrow(InputError);
    }
  });

  it.each(['7', '', 'a b', '{"ä":"\u{1f600}"}'])('has a cursor that stands for a place: %j', (place) => {
    expect(fromCursor(toCursor(place), (found) => found === place)).toBe(place);
  });

  it.each(['!', 'Nw==', 'N', '_w', toCursor('other')])('refuses what it never gave out: %s', (cursor) => {
    expect(() => fromCursor(cursor, (place) => place === '7')).toThrow(InputError);
  });
});
