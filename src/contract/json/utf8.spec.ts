import { textOf } from './utf8.js';

describe('textOf', () => {
  it.each(['a', 'é', '中', '\u{1f600}', 'aé中\u{1f600}\u0000'])(
    'decodes texts of any length of %j as toString does',
    (unit) => {
      for (const times of [0, 1, 9_000, 100_000]) {
        const utf8 = Buffer.from(`"${unit.repeat(times)}"`);
        expect(textOf(utf8) === utf8.toString()).toBe(true);
        expect(textOf(utf8, 1, utf8.length - 1) === unit.repeat(times)).toBe(true);
      }
    },
  );
});
