const JSON_FIELDS = 'src/http/json/json-fields.spec.ts';
const JOBS = 'test/api/native-jobs.spec.ts';
const PUBLISH = 'publish › a publish on the native API, by %s';

/**
 * Payloads and outcomes that one side accepts and another cannot read.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PAYLOADS = [
  {
    id: 'json-depth-ends-the-scan',
    name: 'JSON: a body is read up to the first value that is too deep',
    off: 'false',
    spec: JSON_FIELDS,
    test: 'JsonScanner › stops at the first value that is too deep',
  },
  {
    id: 'json-values-end-the-scan',
    name: 'JSON: a body is read up to the first value that is one too many',
    off: 'false',
    spec: JSON_FIELDS,
    test: 'JsonScanner › stops at the first value that is one too many',
  },
  {
    id: 'fault-search-is-bounded',
    name: 'JSON: a long body is not searched for the place of its mistake',
    off: 'false',
    spec: JOBS,
    test: `${PUBLISH} › is not searched for its mistake beyond 256 KiB, which would hold up all other requests`,
  },
  {
    id: 'deep-data-in-base64',
    name: 'JSON: data that is deeper than the limit is given in base64',
    off: 'true',
    spec: JOBS,
    test: `${PUBLISH} › came deeper from lmstfy’s API: it is shown in base64, and its neighbours are as ever`,
  },
  {
    id: 'one-host',
    name: 'HTTP: a request with two Host headers is refused',
    off: 'false',
    spec: 'test/api/fast-path.spec.ts',
    test: 'the fast path › the fast path › refuses a request with two Host headers, and ends its connection: %s %s',
  },
  {
    id: 'ack-link-names-a-lease',
    name: 'push: a signed URL that names no lease is refused',
    off: 'true',
    spec: 'test/api/push.spec.ts',
    test: 'HTTP push › a target that acknowledges later › is told that a signed URL is malformed',
  },
  {
    id: 'hidden-characters-escaped',
    name: 'command line: characters without width are escaped',
    off: { with: '/[\\p{Cc}]/gu' },
    spec: 'src/cli/print.spec.ts',
    test: 'the output of the command line › shows characters without width in escaped form',
  },
];
