import fc from 'fast-check';

/** What a garbled request is put together from. */
const FRAGMENTS = (namespace: string, token: string): string[] => [
  ...[
    `GET /api/${namespace}/q HTTP/1.1\r\n`,
    `PUT /api/${namespace}/q HTTP/1.1\r\n`,
    `DELETE /api/${namespace}/q/job/x HTTP/1.1\r\n`,
  ],
  ...[
    `POST /v1/${namespace}/acks HTTP/1.1\r\n`,
    'GET / HTTP/1.0\r\n',
    'GET / HTTP/9.9\r\n',
    'GET /\r\n',
    'FOO / HTTP/1.1\r\n',
  ],
  ...[
    'CONNECT x:1 HTTP/1.1\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\n',
    'GET http://x/api HTTP/1.1\r\n',
  ],
  ...[
    'Host: x\r\n',
    'Host: x\r\nHost: y\r\n',
    `X-Token: ${token}\r\n`,
    'X-Token : x\r\n',
    ' folded: x\r\n',
    'X\0Y: z\r\n',
    'NoColon\r\n',
  ],
  ...[
    'Content-Length: 5\r\n',
    'Content-Length: 5\r\nContent-Length: 6\r\n',
    'Content-Length: -1\r\n',
    'Content-Length: 5, 5\r\n',
  ],
  ...[
    'Content-Length: 99999999999999999999\r\n',
    'Content-Length: +5\r\n',
    'Content-Length: 0x5\r\n',
    'Content-Length:\r\n',
  ],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked, identity\r\n',
    'Transfer-Encoding: xchunked\r\n',
  ],
  ...[
    'Transfer-Encoding:\x0bchunked\r\n',
    'Transfer-Encoding: gzip, chunked\r\n',
    'Expect: 100-continue\r\n',
    'Expect: x\r\n',
  ],
  ...[
    'Connection: close\r\n',
    'Connection: keep-alive\r\n',
    'Connection: upgrade\r\nUpgrade: websocket\r\n',
    'Upgrade: h2c\r\n',
  ],
  ...['\r\n', '\r\n', '\r\n\r\n', '\n', '\r', '\n\n', '\0', ' ', '\t', '\x7f', '\xff\xfe', '\u{2028}'],
  ...[
    '5\r\nhello\r\n',
    '0\r\n\r\n',
    '5;ext=1\r\nhello\r\n0\r\n\r\n',
    'ffffffffffffffff\r\nx',
    '-1\r\nx\r\n',
    '0x5\r\nhello\r\n',
    '5 \r\nhello\r\n',
  ],
  ...[
    '0\r\nTrailer: x\r\n\r\n',
    'zz\r\n',
    '\x16\x03\x01\x02\x00\x01\x00',
    'hello',
    'x'.repeat(70_000),
    `X-Long: ${'x'.repeat(200_000)}\r\n`,
  ],
];

/** The parts of a request that is right, with the odd one lost or another in its place. */
function nearlyRequest(namespace: string, token: string): fc.Arbitrary<Buffer> {
  const fragments = FRAGMENTS(namespace, token);
  const auth = `X-Token: ${token}\r\n`;
  const fault = fc.oneof(
    { weight: 50, arbitrary: fc.constant<string | null>(null) },
    { weight: 1, arbitrary: fc.constantFrom('', ...fragments) },
  );
  const right = [
    [''],
    ['Content-Length: 5\r\n', 'hello'],
    ['Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n', '0\r\n\r\n'],
    ['Transfer-Encoding: chunked\r\n', '5;a=b;c="d"\r\nhello\r\n', '0\r\nTrailer: x\r\n\r\n'],
    ['Expect: 100-continue\r\nContent-Length: 5\r\n', 'hello'],
  ];
  const wrong = [
    ['Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
    ['Content-Length: 5\r\nContent-Length: 6\r\n', 'hello'],
    ['Content-Length: 50\r\n', 'hello'],
  ];
  return fc
    .record({
      line: fc.constantFrom(...fragments.slice(0, 4)),
      framing: fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom(...right) },
        { weight: 1, arbitrary: fc.constantFrom(...wrong) },
      ),
      faults: fc.array(fault, { minLength: 8, maxLength: 8 }),
    })
    .map(({ line, framing: [length = '', ...rest], faults }) => {
      const parts = [line, 'Host: x\r\n', auth, length, '\r\n', ...rest];
      return Buffer.from(parts.map((part, i) => faults[i] ?? part).join(''), 'latin1');
    });
}

/** Bytes that are nearly requests, several of them one after the other, some cut and spoilt at random places. */
export function garbage(namespace: string, token: string): fc.Arbitrary<Buffer> {
  const fragment = fc.oneof(
    fc.constantFrom(...FRAGMENTS(namespace, token)).map((text) => Buffer.from(text, 'latin1')),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  );
  const piece = fc.oneof(
    { weight: 9, arbitrary: nearlyRequest(namespace, token) },
    { weight: 1, arbitrary: fragment },
  );
  const place = fc.double({ min: 0, max: 0.999, noNaN: true });
  return fc
    .record({
      pieces: fc.array(piece, { minLength: 1, maxLength: 5 }),
      cutAt: fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: place }),
      spoil: fc.oneof(
        { weight: 8, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.tuple(place, fc.nat(255)) },
      ),
    })
    .map(({ pieces, cutAt, spoil }) => {
      const bytes = Buffer.concat(pieces);
      if (spoil !== null && bytes.length > 0) bytes[Math.floor(spoil[0] * bytes.length)] = spoil[1];
      return bytes.subarray(0, Math.ceil(cutAt * bytes.length));
    });
}
