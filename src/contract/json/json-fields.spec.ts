import { jest } from '@jest/globals';
import fc from 'fast-check';
import { JsonScanner } from './scanner.js';
import type { InputError } from '../fields/problems.js';
import { PublishFields, PublishManyFields } from '../job/options.js';
import { publishRequestOf } from '../job/new-job.js';
import { jsonOf } from './body-json.js';
import { JsonText } from './json-text.js';

const MAX_DEPTH = 64;
const LENGTH = 8_388_608;

const read = (body: string | Buffer): unknown =>
  jsonOf(Buffer.from(body as string), MAX_DEPTH, PublishFields, PublishManyFields);

function problemOf(body: string | Buffer): object | undefined {
  try {
    read(body);
    return undefined;
  } catch (error) {
    return (error as InputError).problems[0];
  }
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const many = (start: string, unit: string, end: string): string =>
  start + unit.repeat(Math.floor((LENGTH - start.length - end.length) / unit.length)) + end;

describe('the JSON of a body', () => {
  it('is parsed to the values of JSON.parse, and keeps data as text', () => {
    const indents = fc.constantFrom(undefined, 1, '\t', ' \n');
    const other = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), other, indents, (data, rest, indent) => {
        const job = { queue: 'q', data, type: 'x', tries: 3 };
        const fields = {
          ...rest,
          data,
          type: 'x',
          tries: 3,
          jobs: [job, rest, data, 1],
          id: 'x',
          tags: ['a', 'b'],
        };
        const text = JSON.stringify(fields, null, indent);
        const found = read(text);
        expect(JSON.parse(JSON.stringify(found, shown))).toEqual(JSON.parse(text));
        expect((found as { data: JsonText }).data).toBeInstanceOf(JsonText);
      }),
      { numRuns: 300 },
    );
  });

  it('is refused exactly when JSON.parse refuses the body', () => {
    const noise = fc.string({
      unit: fc.constantFrom(...Array.from('[]{},:"\\u1a0.eE+-tfn \n')),
      maxLength: 10,
    });
    fc.assert(
      fc.property(noise, fc.constantFrom('', 'x'.repeat(300)), (text, long) => {
        const body = `{"queue":"${long}","data":${text}}`;
        expect(problemOf(body) === undefined).toBe(isJson(body));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['"a\\"b"', true],
    [`"${'a'.repeat(600)}"`, true],
    [`"${'a'.repeat(600)}\\"${'b'.repeat(600)}\\\\"`, true],
    [`"${'\\"'.repeat(600)}"`, true],
    [`"${'é'.repeat(600)}\\u00e9"`, true],
    [`"${'a'.repeat(600)}\n"`, false],
    [`"${'a'.repeat(600)}\\x"`, false],
    [`"${'a'.repeat(600)}\\"`, false],
    [`"${'a'.repeat(600)}`, false],
  ])('is accepted or refused correctly with long strings in data: %.40s', (data, isRight) => {
    expect(problemOf(`{"queue":"q","data":${data}}`) === undefined).toBe(isRight);
  });

  it.each([
    ['data', '{"queue":"q","data":$}'],
    ['jobs[1].data', '{"jobs":[{"queue":"q"},{"queue":"q","data":$}]}'],
    ['data', '{"queue":"q","d\\u0061ta" : $}'],
  ])('may have data of 64 levels, and is refused with 65 levels in the field %s', (field, body) => {
    expect(problemOf(body.replace('$', nested(MAX_DEPTH)))).toBeUndefined();
    expect(problemOf(body.replace('$', nested(MAX_DEPTH + 1)))).toEqual({
      field,
      rule: 'must be nested at most 64 levels deep, the limit that the server sets in limits.max_json_depth; deeper data can be sent as bytes, in base64',
    });
  });

  it.each<[string, string]>([
    ['open brackets', '['.repeat(LENGTH)],
    ['a deep list', nested(LENGTH / 2)],
    ['a deep list within jobs', `{"jobs":[${nested(LENGTH / 2 - 20)}]}`],
    ['a deep object in the data of a job', many('{"jobs":[{"queue":"q","data":', '{"a":', '')],
    ['2.6 million empty jobs', many('{"jobs":[{}', ',{}', ']}')],
    ['2.6 million empty objects as data', many('{"queue":"q","data":[{}', ',{}', ']}')],
    ['four million numbers', many('{"queue":"q","data":[1', ',1', ']}')],
    ['four million numbers in an unknown field', many('{"x":[1', ',1', ']}')],
    ['unknown fields of one name', many('{"a":1', ',"a":1', '}')],
    ['data again and again', many('{"queue":"q"', ',"data":1', '}')],
    ['jobs again and again', many('{"jobs":[]', ',"jobs":[]', '}')],
    ['names without values', many('{"a":1', ',"a"', '}')],
  ])('is refused without JSON.parse: %s', (_what, body) => {
    const parse = jest.spyOn(JSON, 'parse');
    try {
      expect(problemOf(body)).toMatchObject({ rule: expect.stringMatching(/^must /) as string });
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  });

  it.each<[string, string]>([
    ['one long text', many('{"queue":"q","data":"', 'a', '"}')],
    ['escapes', many('{"queue":"q","data":"', '\\n', '"}')],
    ['escaped quotes', many('{"queue":"q","data":"', '\\"', '"}')],
    ['escaped backslashes', many('{"queue":"q","data":"', '\\\\', '"}')],
    ['code units', many('{"queue":"q","data":"', '\\ud83d', '"}')],
    ['letters that are not ASCII', many('{"queue":"q","data":"', 'é', '"}')],
    ['an escape after every 70 letters', many('{"queue":"q","data":"', `${'a'.repeat(70)}\\n`, '"}')],
    ['a number of many digits', many('{"queue":"q","data":', '1', '}')],
    ['a long name', many('{"queue":"q","data":{"', 'k', '":1}}')],
  ])('is read with all bytes of long data, which JSON.parse does not see: %s', (_what, body) => {
    const parse = jest.spyOn(JSON, 'parse');
    try {
      const { data } = read(body) as { data: JsonText };
      const written = body.trim().slice(body.indexOf('data') + 6, -1);
      expect(data.bytes.length).toBe(Buffer.byteLength(written.trim()));
      expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(100);
    } finally {
      parse.mockRestore();
    }
  });
});

describe('base64 of 8 MiB in a body', () => {
  it.each([
    ['A'.repeat(LENGTH - 64), 'must be at most 65535 bytes as stored (limits.max_body_bytes)'],
    [`${'A'.repeat(LENGTH - 66)}==`, 'must be at most 65535 bytes as stored (limits.max_body_bytes)'],
    [`${'A'.repeat(LENGTH - 65)}!`, 'must be base64 with its padding'],
    [`${'A'.repeat(LENGTH - 67)}===`, 'must be base64 with its padding'],
  ])('is refused as too long or as invalid base64: row %#', (text, rule) => {
    let problems: unknown;
    try {
      publishRequestOf(read(`{"queue":"q","data_base64":"${text}"}`), 65_535);
    } catch (error) {
      ({ problems } = error as InputError);
    }
    expect(problems).toEqual([{ field: 'data_base64', rule }]);
  });
});

describe('JsonScanner', () => {
  const around = (part: string, before: number, behind = 200): string =>
    `"${'a'.repeat(before)}${part}${'b'.repeat(behind)}"`;
  const PARTS = [
    ...[
      '"',
      '\\',
      '\\"',
      '\\\\',
      '\\\\"',
      '\\x',
      '\\u00e9',
      '\\u00E',
      '\\u00eg',
      '\\/',
      '\n',
      '\u0000',
      '\u001f',
    ],
    ...[' ', '!', '#', '[', ']', '\u007f', 'é', '\u0080', '\u0100', '\u{1f600}', '中', ''],
  ];
  it.each(PARTS)('reads long texts as JSON.parse does, wherever in them is %j', (part) => {
    for (let before = 0; before < 150; before++) {
      for (const text of [around(part, before), around(part, before, before % 5)]) {
        const scanner = new JsonScanner(Buffer.from(text));
        expect([text, scanner.value() && scanner.end()]).toEqual([text, isJson(text)]);
      }
    }
  });

  it('stops at the first value deeper than its maximum depth', () => {
    const scanner = new JsonScanner(Buffer.alloc(1_000, '['));
    scanner.maxDepth = 64;
    expect([scanner.value(), scanner.fault, scanner.at]).toEqual([false, 'depth', 64]);
  });

  it('stops at the first value beyond its maximum number of values', () => {
    const scanner = new JsonScanner(Buffer.from(`[${'{},'.repeat(1_000)}{}]`));
    scanner.maxValues = 11;
    expect([scanner.value(), scanner.fault, scanner.at]).toEqual([false, 'values', 31]);
  });

  it('counts the values of lists, up to its maximum number of values', () => {
    const scanner = new JsonScanner(Buffer.from('[1,2,"3", 4,[5,6],7]'));
    expect([scanner.value(), scanner.values, scanner.deepest]).toEqual([true, 9, 2]);
    const few = new JsonScanner(Buffer.from('[1,2,3,4,5]'));
    few.maxValues = 3;
    expect([few.value(), few.fault]).toEqual([false, 'values']);
  });
});

function shown(_name: string, value: unknown): unknown {
  return value instanceof JsonText ? (JSON.parse(value.text) as unknown) : value;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
