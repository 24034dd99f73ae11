import { Redis } from 'ioredis';
import { type Arg, encodeCommand, replyOf } from './script.js';
import { deadHead } from './simple.js';

/** Lengths around which the encoder changes its method or writes one more digit. */
const LENGTHS = [0, 1, 9, 10, 11, 31, 32, 33, 99, 100, 999, 1_000, 9_999, 10_000, 65_535, 65_536, 70_000];

/** Parses a command like Redis; it must be complete, and nothing may follow. */
function parse(bytes: Buffer): Buffer[] {
  let at = 0;
  const head = (mark: string): number => {
    const end = bytes.indexOf('\r\n', at);
    const line = bytes.toString('latin1', at, end);
    expect(line).toMatch(new RegExp(`^\\${mark}(0|[1-9][0-9]*)$`));
    at = end + 2;
    return Number(line.slice(1));
  };
  const parts = Array.from({ length: head('*') }, () => {
    const length = head('$');
    const part = bytes.subarray(at, at + length);
    expect(bytes.toString('latin1', at + length, at + length + 2)).toBe('\r\n');
    at += length + 2;
    return part;
  });
  expect(at).toBe(bytes.length);
  return parts;
}

/** A sequence of bytes in which lost or moved ones are noticed. */
function bytesOf(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) & 0xff));
}

function plain(arg: Arg): Buffer {
  return Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg));
}

describe('an encoded command of Redis', () => {
  it.each<[string, readonly Arg[]]>([
    ['a word', ['PING']],
    ['empty arguments', ['SET', '', Buffer.alloc(0)]],
    ['numbers', ['X', 0, -1, 9, 10, 1_795_000_000_000, 2 ** 46, 1.5]],
    ['text beyond ASCII', ['ECHO', 'rød', '日本', '🚰', '\r\n$3\r\n']],
    ['bytes that are no text', ['ECHO', Buffer.from([0, 13, 10, 36, 42, 255, 254])]],
  ])('contains %s', (_name, args) => {
    expect(parse(encodeCommand(args))).toEqual(args.map(plain));
  });

  it.each(LENGTHS)('contains an argument of %i bytes, as bytes and as text', (length) => {
    const [bytes, text] = [bytesOf(length), 'x'.repeat(length)];

    expect(parse(encodeCommand(['ECHO', bytes, text, bytes]))).toEqual([
      Buffer.from('ECHO'),
      bytes,
      Buffer.from(text),
      bytes,
    ]);
  });

  it.each([1, 9, 10, 99, 100, 999, 1_000])('contains %i arguments', (count) => {
    const args = Array.from({ length: count }, (_, i) => String(i));

    expect(parse(encodeCommand(args)).map(String)).toEqual(args);
  });

  it('equals the encoding of ioredis', () => {
    const args: Arg[] = ['EVALSHA', 'abc', 1, 'key', Buffer.from([1, 2, 3]), 'rød', ''];
    const [name, ...rest] = args;
    const theirs = new Redis.Command(String(name), rest, { replyEncoding: null }).toWritable(
      undefined as unknown as object,
    );

    expect(encodeCommand(args).equals(Buffer.from(theirs))).toBe(true);
  });
});

describe('the reply of a script', () => {
  it('is decoded to the fields of its binding', () => {
    expect(replyOf(deadHead, [0, 5, Buffer.from('id'), 3])).toMatchObject({ status: 0, nowMs: 5, size: 3 });
  });

  it.each([
    ['nil', null, 'simple_dead_head: the reply is no array'],
    ['a short array', [0, 5], 'simple_dead_head: the reply has no bytes at 2'],
  ])('is an error with the name of the script if it is %s', (_name, raw, message) => {
    expect(() => replyOf(deadHead, raw)).toThrow(message);
  });
});
