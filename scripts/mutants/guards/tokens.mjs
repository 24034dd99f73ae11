const INTRUDERS = 'test/api/intruders.spec.ts';
const ADMIN = 'test/api/admin-accounts.spec.ts';
const BROWSERS = 'src/admin/browser-rules.spec.ts';
const RIGHTS = 'test/api/permissions.spec.ts';

/**
 * Who may do what: tokens that are wrong, over, or of fewer rights than a call needs.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const TOKENS = [
  {
    id: 'bearer-native-only',
    name: 'tokens: a bearer token counts on the native API only',
    off: 'remove',
    spec: 'src/http/request/head.spec.ts',
    test: 'the token of a request › is read from %s',
  },
  {
    id: 'digest-parts-are-apart',
    name: 'tokens: the parts of a digest are kept apart',
    off: { with: "$&.replaceAll('\\0', '')" },
    spec: 'test/faults/tokens.spec.ts',
    test: 'tokens over two servers › T25: give access to their own pool and namespace only, for any similar names (seed ${SEED})',
  },
  {
    id: 'rights-on-every-admission',
    name: 'tokens: rights are checked on every admission',
    off: 'false',
    spec: INTRUDERS,
    test: 'intruders › are refused all calls beyond the verbs of their token',
  },
  {
    id: 'default-verb-is-admin',
    name: 'tokens: a route without a verb needs the verb admin',
    off: { replace: 'if (rules.verb) $&' },
    spec: 'src/auth/admission.spec.ts',
    test: 'admission › requires the permission admin for routes without access rules',
  },
  {
    id: 'acks-check-queues',
    name: 'tokens: the queues of a batch of acks are checked',
    off: 'remove',
    spec: INTRUDERS,
    test: 'intruders › are refused all queues beyond those of their token',
  },
  {
    id: 'each-queue-of-a-list-is-checked',
    name: 'tokens: of a list of queues each must be allowed',
    off: { with: '$&.slice(0, 1)' },
    spec: RIGHTS,
    test: 'permissions of tokens › tokens with permissions › the queue patterns of a token › refuse a consume from several queues if one queue does not match',
  },
  {
    id: 'token-is-checked-after-the-wait',
    name: 'tokens: a long poll is checked again when its job comes',
    off: 'false',
    spec: RIGHTS,
    test: 'permissions of tokens › tokens with permissions › a long poll leases nothing after its token was revoked',
  },
  {
    id: 'bound-tokens-are-stored-apart',
    name: 'tokens: those with fewer rights are stored where older servers do not look',
    off: 'false',
    spec: RIGHTS,
    test: 'permissions of tokens › tokens with permissions › are stored so that a server older than permissions does not find them',
  },
  {
    id: 'expired-tokens-are-removed',
    name: 'tokens: Redis removes an expired token',
    off: 'remove',
    spec: RIGHTS,
    test: 'permissions of tokens › tokens with permissions › the expiry of a token › ends the token, and removes it from all lists',
  },
  {
    id: 'use-makes-no-token',
    name: 'tokens: a record of use creates no token',
    off: 'true',
    spec: RIGHTS,
    test: 'permissions of tokens › tokens with permissions › the last use of a token › is recorded at intervals, and never for a deleted token',
  },
  {
    id: 'admin-refuses-browsers',
    name: 'admin: requests of browsers are refused',
    off: 'false',
    spec: ADMIN,
    test: 'T51: the admin port against other sites and guessed passwords › refuses a request of another site with 403, and logs it in the audit log: %s',
  },
  {
    id: 'console-serves-own-files',
    name: 'admin: the console serves its own files only',
    off: 'false',
    spec: 'src/console/console-files.spec.ts',
    test: 'the files of the console › do not contain %s',
  },
  {
    id: 'admin-refuses-other-sites',
    name: 'admin: a request that another site sends is refused',
    off: 'false',
    spec: BROWSERS,
    test: 'the rules for browsers on the admin port › refuse %s, except on /healthz, /readyz and /metrics',
  },
  {
    id: 'origin-has-the-port-too',
    name: 'admin: an origin is compared with the host and its port',
    off: { with: 'new URL(own).hostname === page.hostname' },
    spec: BROWSERS,
    test: 'the rules for browsers on the admin port › refuse %s, except on /healthz, /readyz and /metrics',
  },
  {
    id: 'host-name-must-be-known',
    name: 'admin: the name in the Host header must be known',
    off: 'true',
    spec: BROWSERS,
    test: 'the rules for browsers on the admin port › refuse %s, except on /healthz, /readyz and /metrics',
  },
  {
    id: 'admin-ignores-content-types',
    name: 'admin: no content type is refused',
    off: 'remove',
    spec: ADMIN,
    test: 'T51: the admin port against other sites and guessed passwords › accepts bodies of any content type, as lmstfy does: %j',
  },
  {
    id: 'shown-url-hides-its-token',
    name: 'secrets: an address is shown without the token that its request carries',
    off: 'false',
    spec: 'src/http/request/shown-url.spec.ts',
    test: 'an address in the access log › hides the token that the request carries, wherever the URL repeats it: %s',
  },
  {
    id: 'shown-url-hides-any-token',
    name: 'secrets: an address is shown without what looks like a token',
    off: 'true',
    spec: 'src/http/request/shown-url.spec.ts',
    test: 'an address in the access log › hides a generated token anywhere in the URL, and a chosen token after token= (%s)',
  },
  {
    id: 'shown-url-unescaped',
    name: 'secrets: escapes of a URL are undone before secrets are hidden',
    off: { with: '0' },
    spec: 'src/http/request/shown-url.spec.ts',
    test: 'an address in the access log › hides a generated token anywhere in the URL, and a chosen token after token= (%s)',
  },
  {
    id: 'passwords-in-constant-time',
    name: 'secrets: passwords are compared in constant time',
    off: { with: 'digest.equals(sent)' },
    spec: 'test/api/comparison.spec.ts',
    test: 'the comparison of secrets › compares digests of one length with every account, for %s',
  },
  {
    id: 'tokens-in-constant-time',
    name: 'secrets: tokens are compared in constant time',
    off: { with: 'bytes.equals(secret)' },
    spec: 'test/api/comparison.spec.ts',
    test: 'the comparison of secrets › finds a token by its digest, and compares it once',
  },
  {
    id: 'retry-hides-other-queues',
    name: 'publish: X-Job-ID tells nothing of a job in another queue',
    off: 'true',
    spec: 'test/api/permissions.spec.ts',
    test: "permissions by queue › T50: a job in a queue outside the token's queues › is answered as a new job to a publish with its id in X-Job-ID",
  },
  {
    id: 'publish-wait-checks-the-token-again',
    name: 'tokens: a publish that waits is checked again before it shows the end of its job',
    off: 'false',
    spec: RIGHTS,
    test: 'permissions of tokens › tokens with permissions › a publish that waits shows no result after its token was revoked',
  },
];
