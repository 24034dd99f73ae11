import { InputError } from '../../contract/fields/problems.js';
import { MAX_CURSOR } from '../../domain/limits.js';
import { readQuery } from './query-fields.js';
import { fromCursor, PageQuery, toCursor } from './page-query.js';
import { parseQuery } from './head.js';

const read = (text: string): PageQuery => readQuery(PageQuery, parseQuery(text));

describe('the page of a list', () => {
  it('has 100 items without a cursor by default', () => {
    expect(read('')).toEqual({ limit: 100 });
  });

  it('has the requested limit from 1 to 1,000 and the requested cursor', () => {
    expect(read('limit=1000&cursor=abc')).toEqual({ limit: 1_000, cursor: 'abc' });
    for (const wrong of [
      'limit=0',
      'limit=1001',
      'limit=',
      'limit=ten',
      'cursor=',
      `cursor=${'x'.repeat(MAX_CURSOR + 1)}`,
    ]) {
      expect(() => read(wrong)).toThrow(InputError);
    }
  });

  it.each(['7', '', 'a b', '{"ä":"\u{1f600}"}'])(
    'has a cursor that is decoded to its position: %j',
    (place) => {
      expect(fromCursor(toCursor(place), (found) => found === place)).toBe(place);
    },
  );

  it.each(['!', 'Nw==', 'N', '_w', toCursor('other')])(
    'is refused with a cursor that the server did not create: %s',
    (cursor) => {
      expect(() => fromCursor(cursor, (place) => place === '7')).toThrow(InputError);
    },
  );
});
