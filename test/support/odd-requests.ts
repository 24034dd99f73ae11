import fc from 'fast-check';
import { head } from './app.js';

/** A request that is well framed, and odd in all else. */
export interface OddRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** Names that mean something to JavaScript, to paths, to parsers, or to people who try things. */
const NASTY = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__'],
  ...['.', '..', '%2e%2e', '%2F', '%5c', '%00', '%0d%0a', '%zz', '%', '%c0%ae', '%ed%a0%80', '%F0%9F%98%80'],
  ...['_', ',', 'a,b', ',,', ';', ':', '@', '*', '~', '{ns}', '{', '}', '$', "'", '"', '`', '<x>'],
  ...['q'.repeat(255), 'q'.repeat(256), 'q'.repeat(5_000), '-', '0', '-1', 'null', 'undefined', 'NaN'],
];
const TEXTS = [
  'api',
  'v1',
  'acks',
  'q',
  'bulk',
  'job',
  'peek',
  'size',
  'deadletter',
  'healthz',
  'readyz',
  '',
];
const NAMES = [
  'delay',
  'ttl',
  'tries',
  'ttr',
  'timeout',
  'count',
  'limit',
  'token',
  'pool',
  '__proto__',
  'constructor',
  '%zz',
  '',
];
const VALUES = [
  ...[
    '0',
    '1',
    '-1',
    '-0',
    '+1',
    '1.5',
    '1e3',
    '0x10',
    '007',
    ' 1',
    'NaN',
    'Infinity',
    'true',
    '',
    '%',
    '1;2',
  ],
  ...['4294967295', '4294967296', '9223372036854775807', '9223372036854775808', '99999999999999999999'],
];
const HEADERS = [
  'Job-Attr-A',
  'Job-Attr-__proto__',
  'Job-Attr-constructor',
  'Enable-Job-Version',
  'X-Request-Id',
  'Accept-Encoding',
  'If-None-Match',
  'Range',
  'X-Forwarded-For',
  'X-HTTP-Method-Override',
  'Upgrade',
  'Content-Type',
  'Content-Encoding',
  'Cookie',
  'Idempotency-Key',
];
const METHODS = [
  ...[
    'GET',
    'GET',
    'PUT',
    'PUT',
    'DELETE',
    'POST',
    'HEAD',
    'OPTIONS',
    'PATCH',
    'TRACE',
    'PROPFIND',
    'M-SEARCH',
  ],
  'QUERY',
];

const text = fc.oneof(
  fc.string({ maxLength: 6, unit: 'binary-ascii' }),
  fc.string({ maxLength: 4, unit: 'grapheme' }),
);
const piece = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.constantFrom(...NASTY),
  text.map((one) => encodeURIComponent(one)),
);
const parameter = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.oneof(
      fc.constantFrom(...VALUES),
      fc.constantFrom(...NASTY),
      text.map((one) => encodeURIComponent(one)),
    ),
  )
  // A wait of a second or more would only make the test long.
  .filter(([name, value]) => name !== 'timeout' || !/[1-9]/.test(value));
const query: fc.Arbitrary<readonly (readonly [string, string])[]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 5, arbitrary: fc.array(parameter, { maxLength: 4 }) },
  { weight: 1, arbitrary: parameter.map((one) => Array<readonly [string, string]>(500).fill(one)) },
);
/** What Node's parser lets through in a value: anything but controls; sent as Latin-1. */
const headerValue = fc.oneof(
  fc.constantFrom(...NASTY, 'YES', 'websocket', 'gzip', 'a: b', 'x'.repeat(3_000)),
  fc.string({ maxLength: 20, unit: 'grapheme' }).map((one) => one.replace(/[^\x20-\x7e\xa0-\xff]/g, '?')),
);
const headers = fc.array(fc.tuple(fc.constantFrom(...HEADERS), headerValue), { maxLength: 20 });

/** A text that JSON's readers may choke on. */
const bomb = fc.oneof(
  fc.integer({ min: 1, max: 20_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.integer({ min: 1, max: 12_000 }).map((depth) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)),
  fc.integer({ min: 1, max: 20_000 }).map((count) => `[${'0,'.repeat(count)}0]`),
  fc
    .integer({ min: 1, max: 3_000 })
    .map((count) => `[{${Array.from({ length: count }, (_, i) => `"k${String(i)}":0`).join()}}]`),
  fc.constantFrom(
    '{"acks":[{"__proto__":{"queue":"q"},"id":"x"}]}',
    '{"__proto__":{"acks":[]},"acks":[{"queue":"__proto__","id":"constructor","lease":1}]}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '[{"__proto__":{"polluted":1}},{"constructor":{"prototype":{"polluted":1}}}]',
    '{"acks":{"length":1e9}}',
    '{"acks":[{"queue":"q","id":"x","lease":1e400}]}',
    '["\\ud800","\\u0000","\\"]',
    '[1e99999,-0,1E+2,"\u{1f600}"]',
    '\ufeff[1]',
  ),
);
const body = fc.oneof(
  { weight: 4, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 3, arbitrary: fc.json({ maxDepth: 2 }).map((json) => Buffer.from(`[${json}]`)) },
  { weight: 2, arbitrary: bomb.map((json) => Buffer.from(json)) },
);

/** Where a request goes, and how. */
interface Aim {
  readonly method: string;
  readonly path: string;
}

/** Calls that there are, on queues whose names are legal, whatever they mean to JavaScript. */
function realCalls(namespace: string): fc.Arbitrary<Aim> {
  const calls: readonly (readonly [string, string])[] = [
    ...([
      ['PUT', ''],
      ['PUT', ''],
      ['GET', ''],
      ['GET', ''],
      ['PUT', '/bulk'],
      ['PUT', '/bulk'],
      ['DELETE', ''],
    ] as const),
    ...([
      ['GET', '/peek'],
      ['GET', '/size'],
      ['GET', '/job/x'],
      ['DELETE', '/job/x'],
      ['PUT', '/job/x'],
    ] as const),
    ...([
      ['GET', '/deadletter'],
      ['PUT', '/deadletter'],
      ['DELETE', '/deadletter'],
    ] as const),
  ];
  const queue = fc.constantFrom('q', '%71', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '0', '-');
  const ofLmstfy = fc
    .tuple(queue, fc.constantFrom(...calls))
    .map(([name, [method, rest]]) => ({ method, path: `/api/${namespace}/${name}${rest}` }));
  const ofV1 = fc
    .constantFrom(
      ...([
        'POST acks',
        'POST %61cks',
        'POST jobs',
        'POST leases',
        'GET stats',
        'GET jobs',
        'GET queues',
      ] as const),
      ...(['GET tags', 'GET dead-letter', 'GET recurring', 'GET workers', 'GET settings/toString'] as const),
      // With a filter that is wrong: a stream would not end.
      'GET events?event=x',
    )
    .map((call) => {
      const [method = '', path = ''] = call.split(' ');
      return { method, path: `/v1/${namespace}/${path}` };
    });
  return fc.oneof({ weight: 3, arbitrary: ofLmstfy }, { weight: 1, arbitrary: ofV1 });
}

/** Calls that there are not, or hardly. */
function oddCalls(namespace: string): fc.Arbitrary<Aim> {
  const prefixes = [
    `/api/${namespace}/`,
    `/v1/${namespace}/`,
    '/',
    '//',
    `http://elsewhere/api/${namespace}/`,
  ];
  return fc
    .record({
      method: fc.constantFrom(...METHODS),
      prefix: fc.constantFrom(...prefixes),
      pieces: fc.array(piece, { maxLength: 5 }),
    })
    .map(({ method, prefix, pieces }) => ({ method, path: `${prefix}${pieces.join('/')}` }));
}

/** Requests of a client with a token, and of all others. */
export function oddRequests(namespace: string, token: string): fc.Arbitrary<OddRequest> {
  const aim = fc.oneof(
    { weight: 3, arbitrary: realCalls(namespace) },
    { weight: 1, arbitrary: oddCalls(namespace) },
  );
  const isOurs = fc.nat(9).map((one) => one > 0);
  return fc
    .record({ aim, query, headers, body, isOurs })
    .map(({ aim: { method, path }, query: parameters, headers: odd, body: bytes, isOurs: has }) => ({
      method,
      url: `${path}?${parameters.map((pair) => pair.join('=')).join('&')}`,
      headers: [...(has ? [['X-Token', token] as const] : []), ...odd],
      body: bytes,
    }));
}

/** The request's bytes; its connection ends with it. */
export function bytesOf({ method, url, headers: odd, body: bytes }: OddRequest): Buffer {
  const framing = { Connection: 'close', 'Content-Length': String(bytes.length) };
  const lines = odd.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const top = head(method, url, framing).replace(/\r\n$/, `${lines}\r\n`);
  return Buffer.concat([Buffer.from(top, 'latin1'), bytes]);
}
