import { linesOf, rawMembers, readable, tokensOf, visible } from '../src/lib/raw-json.js';

describe('JSON as text', () => {
  it('keeps numbers beyond 2^53, members that occur twice and spaces as they were written', () => {
    const data = '{"n": 12345678901234567890, "a":1,"a":2 , "t":1.10, "__proto__":{"x":1}}';
    const members = rawMembers(`{"id":"1","data":${data},"tags":[]}`);
    expect(members.get('data')).toBe(data);
    const { tokens } = tokensOf(data, 1_000);
    expect(tokens.map(({ text }) => text).join('')).toBe(data.replaceAll(' ', ''));
    expect(linesOf(tokens)).toHaveLength(9);
  });

  it.each([
    ['a bracket in a string', '{"a":"}]","b":2}', '2'],
    ['an escaped quote', String.raw`{"a":"\"}","b":[1,{"c":"\\"}]}`, String.raw`[1,{"c":"\\"}]`],
    ['an escaped name', String.raw`{"\u0062":true}`, 'true'],
    ['spaces', ' { "b" : null } ', 'null'],
  ])('finds a member behind %s', (_what, text, expected) => {
    expect(rawMembers(text).get('b')).toBe(expected);
  });

  it.each(['', '[1]', '"a"', '{', '{"a', '{"a":', '{"a":1', 'null', '{]'])('does not fail at %j', (text) => {
    expect(rawMembers(text)).toBeInstanceOf(Map);
    expect(linesOf(tokensOf(text, 100).tokens)).toBeInstanceOf(Array);
  });

  it('cuts after a number of tokens', () => {
    const { tokens, isCut } = tokensOf(`[${'1,'.repeat(10_000)}1]`, 50);
    expect([tokens.length, isCut]).toEqual([50, true]);
  });

  it('shows letters for their escapes, and keeps escapes of hidden and turning characters', () => {
    expect(readable(String.raw`"Gr\u00fc\u00dfe \u6f22 \ud83d\ude00"`)).toBe('"Grüße 漢 😀"');
    for (const kept of [
      String.raw`"\u202eabc"`,
      String.raw`"\u001b[31m"`,
      String.raw`"\u200b"`,
      String.raw`"\\u00fc"`,
      String.raw`"\ud800"`,
    ])
      expect(readable(kept)).toBe(kept);
  });

  it('writes hidden and turning characters out', () => {
    expect(visible('a\u202eb\u001b[31m\u200bc\n\td')).toBe('a\\u{202e}b\\u{1b}[31m\\u{200b}c\n\td');
    expect(visible('Grüße 😀')).toBe('Grüße 😀');
  });
});
