import { columns, counted, factsOf, fieldLines, json, plainJson, printable, table } from './print.js';

const ESCAPES = '\u001b]0;title\u0007\u001b[2J\u009b31m\u202egnp.exe\u2066\u2028\r\n\t\u007f';

describe('the output of the command line', () => {
  it('aligns columns, counts wide characters as two, and has no spaces at the end of a line', () => {
    expect(
      columns([
        ['日本', 'x', ''],
        ['abc', '', 'y'],
      ]),
    ).toBe('日本  x\nabc      y\n');
    expect(columns([])).toBe('');
  });

  it('shows control characters of data in escaped form, one line for each row', () => {
    const text = columns([[ESCAPES, 'end']]);
    expect(text).toBe(
      '\\u001b]0;title\\u0007\\u001b[2J\\u009b31m\\u202egnp.exe\\u2066\\u2028\\u000d\\n\\t\\u007f  end\n',
    );
    expect(printable(ESCAPES)).not.toMatch(/[^ -~]/);
    expect(json({ [ESCAPES]: ESCAPES }).trimEnd()).not.toMatch(/[^ -~]/);
    expect(JSON.parse(json({ [ESCAPES]: ESCAPES }))).toEqual({ [ESCAPES]: ESCAPES });
  });

  it('shows characters without width in escaped form', () => {
    const tags = String.fromCodePoint(...[0x1, ...Buffer.from('rm -rf'), 0x7f].map((code) => 0xe0000 + code));
    const hidden = `\u200b\u200c\u200d\u2060\u2063\ufeff\u00ad\u034f\u180e\u3164\ufe0f\u{e0100}${tags}\ud800`;
    const text = printable(`a${hidden}b`);
    expect(text).toMatch(/^a\\u200b\\u200c\\u200d\\u2060[\\a-f0-9u]+\\ud800b$/);
    expect(text).toContain('\\udb40\\udc72\\udb40\\udc6d');
    expect(json(hidden).trimEnd()).not.toMatch(/[^ -~]/);
    expect(JSON.parse(json({ hidden }))).toEqual({ hidden });
  });

  it('keeps letters of other scripts and emoji, and has bytes as base64 in JSON', () => {
    expect(printable('Grüße, 日本語, שלום, 👍')).toBe('Grüße, 日本語, שלום, 👍');
    for (const data of [new Uint8Array([0, 255]), Buffer.from([0, 255])])
      expect([json({ data }), json({ step: data })]).toEqual([
        ...['{"data_base64":"AP8="}\n', '{"step":{"base64":"AP8="}}\n'],
      ]);
  });

  it('has the names of the API in JSON and in tables, and keeps those of data', () => {
    const job = { triesLeft: 2, retry: { delayMs: 1 }, data: { userId: 1 }, attributes: { shopName: 'a' } };
    expect(json({ value: { userId: 1 }, fair: { weights: { bigShop: 2 } } })).toBe(
      '{"value":{"userId":1},"fair":{"weights":{"bigShop":2}}}\n',
    );
    expect(json([job])).toBe(
      '[{"tries_left":2,"retry":{"delay_ms":1},"data":{"userId":1},"attributes":{"shopName":"a"}}]\n',
    );
    expect(fieldLines(job)).toBe(
      'tries_left  2\nretry       {"delay_ms":1}\ndata        {"userId":1}\nattributes  {"shopName":"a"}\n',
    );
    expect(factsOf({ ...job, note: null })).toBe(
      'tries_left=2 retry={"delay_ms":1} data={"userId":1} attributes={"shopName":"a"}',
    );
    expect(plainJson({ 'Token-With-Capitals': { aB: 1 } })).toBe('{"Token-With-Capitals":{"aB":1}}\n');
  });

  it('has colours on a terminal only', () => {
    const output = { out: () => undefined, err: () => undefined };
    const rows = [['\u001b[31mred']];
    expect(table(output, ['NAME'], rows)).toBe('NAME\n\\u001b[31mred\n');
    expect(table({ ...output, hasColor: true }, ['NAME'], rows)).toBe(
      '\u001b[1mNAME\u001b[22m\n\\u001b[31mred\n',
    );
  });

  it('has the singular for 1 and the plural for other numbers', () => {
    expect([counted(0, 'job'), counted(1, 'job'), counted(2, 'job')]).toEqual(['0 jobs', '1 job', '2 jobs']);
  });
});
