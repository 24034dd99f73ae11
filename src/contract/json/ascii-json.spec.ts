import { inAscii } from './ascii-json.js';

/** The same, one character at a time. */
const escapedOneByOne = (text: string): string =>
  [...Array(text.length).keys()]
    .map((at) => text.charCodeAt(at))
    .map((code) =>
      code >= 0x20 && code <= 0x7e ? String.fromCharCode(code) : `\\u${code.toString(16).padStart(4, '0')}`,
    )
    .join('');

describe('JSON in ASCII', () => {
  it('has an escape for every character that is not printable ASCII', () => {
    const all = String.fromCharCode(...Array(0x10000).keys());
    expect(inAscii(all) === escapedOneByOne(all)).toBe(true);
  });

  it.each([8_191, 8_192, 8_193, 20_000])('is whole behind %i characters', (length) => {
    for (const unit of ['a', 'é', '日', '\u{1f600}a']) {
      const text = `"x${unit.repeat(length)}y"`;
      expect(inAscii(text) === escapedOneByOne(text)).toBe(true);
    }
  });
});
