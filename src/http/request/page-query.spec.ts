import { InputError } from '../../contract/fields/problems.js';
import { readQuery } from './query-fields.js';
import { fromCursor, PageQuery, toCursor } from './page-query.js';
import { parseQuery } from './head.js';

const read = (text: string): PageQuery => readQuery(PageQuery, parseQuery(text));

describe('the page of a list', () => {
  it('is the first hundred by default', () => {
    expect(read('')).toEqual({ limit: 100 });
  });

  it('has the requested length up to a thousand, and continues behind the last one', () => {
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

  it.each(['7', '', 'a b', '{"ä":"\u{1f600}"}'])('has a cursor for a position: %j', (place) => {
    expect(fromCursor(toCursor(place), (found) => found === place)).toBe(place);
  });

  it.each(['!', 'Nw==', 'N', '_w', toCursor('other')])(
    'refuses a cursor that it did not create: %s',
    (cursor) => {
      expect(() => fromCursor(cursor, (place) => place === '7')).toThrow(InputError);
    },
  );
});
