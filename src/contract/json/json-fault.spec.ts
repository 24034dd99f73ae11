import fc from 'fast-check';
import { jsonFault } from './json-fault.js';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the fault of a text that is not JSON', () => {
  it.each<[string, string]>([
    ['', 'line 1, column 1: found the end of the body, expected a value'],
    ['hello', 'line 1, column 1: found `h`, expected a value'],
    ["{'a':1}", "line 1, column 2: found `'`, expected a name in double quotes or `}`"],
    ['{"a":1,}', 'line 1, column 8: found `}`, expected a name in double quotes'],
    ['[1,]', 'line 1, column 4: found `]`, expected a value'],
    ['{"a" 1}', 'line 1, column 6: found `1`, expected `:`'],
    ['{"a":}', 'line 1, column 6: found `}`, expected a value'],
    ['{"a":1 "b":2}', 'line 1, column 8: found `"`, expected a comma or the closing bracket'],
    ['{\n  "a": 1,\r\n  "b": NaN\n}', 'line 3, column 8: found `N`, expected a value'],
    ['{"a":[1,2}', 'line 1, column 10: found `}`, expected a comma or the closing bracket'],
    ['{"a":"b', 'line 1, column 8: found the end of the body, expected the closing double quote of a text'],
    ['{}x', 'line 1, column 3: found `x`, expected the end of the body'],
    ['01', 'line 1, column 2: found `1`, expected the end of the body'],
    ['1.', 'line 1, column 3: found the end of the body, expected a digit'],
    ['-a', 'line 1, column 2: found `a`, expected a digit'],
    ['1e+', 'line 1, column 4: found the end of the body, expected a digit'],
    ['"\\x"', 'line 1, column 3: found `x`, expected an escape that JSON has behind `\\`'],
    ['"\\u12g4"', 'line 1, column 3: found `u`, expected four hexadecimal digits behind `\\u`'],
    [
      '"a\nb"',
      'line 1, column 3: found a line break, expected no line break or other control character within a text (write `\\n`)',
    ],
    ['\uFEFF{}', 'line 1, column 1: found U+FEFF, expected a value'],
    ['[\u{1F600}]', 'line 1, column 2: found U+1F600, expected a value or `]`'],
  ])('is reported with its line, its column and what was expected: %j', (text, fault) => {
    expect(jsonFault(text)).toBe(fault);
  });

  it('is reported exactly for the texts that JSON.parse refuses', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '"\\',
      'u0',
      '1',
      '0',
      '-',
      '.',
      'e',
      '+',
      'true',
      'nul',
      ' ',
      '\n',
      '\u0001',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        expect([text, jsonFault(text) === undefined]).toEqual([text, isJson(text)]);
      }),
      { numRuns: 5_000 },
    );
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom('', '"', ',', '}', 'x'), (json, at, put) => {
        const cut = at % (json.length + 1);
        const text = json.slice(0, cut) + put + json.slice(cut + 1);
        expect([text, jsonFault(text) === undefined]).toEqual([text, isJson(text)]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is found within a minute in texts of a million levels, characters and lines', () => {
    const begun = performance.now();
    expect(jsonFault('['.repeat(1_000_000))).toContain('column 1000001: found the end of the body');
    expect(jsonFault(`"${'a'.repeat(2_000_000)}`)).toContain('column 2000002: found the end of the body');
    expect(jsonFault(`${'\n'.repeat(1_000_000)}x`)).toContain('line 1000001, column 1: found `x`');
    expect(performance.now() - begun).toBeLessThan(60_000);
  });

  it('is reported with at most one character of the text', () => {
    for (const secret of [
      'hunter2',
      '"hunter2',
      '{"data":hunter2}',
      '{"a":"hunter2"hunter3}',
      '{hunter2:1}',
    ]) {
      expect(jsonFault(secret)).not.toMatch(/unter|ter2|ter3/);
    }
  });
});
