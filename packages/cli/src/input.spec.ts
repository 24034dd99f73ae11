import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argumentBytes, fileText, linesOf, textIn } from './input.js';

describe('input', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pumphouse-input-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is refused if it is not UTF-8, with its line', () => {
    const latin1 = Buffer.from('{"a":1,\n"caf\xe9":2}', 'latin1');
    expect(() => textIn(latin1, 'the data')).toThrow(
      'cannot read the data: it is not UTF-8 (line 2). Convert it to UTF-8.',
    );
    expect(textIn(Buffer.from('\ufeffé\n'), 'the data')).toBe('é\n');
    // What Node.js makes of the argument `caf\xe9`.
    expect(() => argumentBytes('caf\ufffd', 'the data')).toThrow('the data: it is not UTF-8');
    expect(argumentBytes('é', 'the data')).toEqual(Buffer.from('é'));
  });

  it('names what is wrong with a file', () => {
    const file = join(folder, 'utf-16');
    writeFileSync(file, Buffer.from('\ufefftoken', 'utf16le'));
    expect(() => fileText(file, 'the token')).toThrow('cannot read the token: it is UTF-16, not UTF-8');
    expect(() => fileText(folder)).toThrow(`cannot read ${folder}: it is a folder`);
    const none = join(folder, 'none');
    expect(() => fileText(none)).toThrow(`cannot read ${none}: there is no such file`);
  });

  it('has its lines without their ends, byte for byte', () => {
    const lines = linesOf(Buffer.from([0xff, 0x0a, 0x0d, 0x0a, 0x61, 0x0d, 0x0a, 0x0a, 0x62]));
    expect(lines.map((line) => [...line])).toEqual([[0xff], [], [0x61], [], [0x62]]);
    expect(linesOf(Buffer.alloc(0))).toEqual([]);
  });
});
