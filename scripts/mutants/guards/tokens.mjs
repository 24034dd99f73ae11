const INTRUDERS = 'test/e2e/intruders.spec.ts';
const RIGHTS = 'test/e2e/token-rights.spec.ts';

/**
 * Who may do what: tokens that are wrong, over, or of fewer rights than a call needs.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const TOKENS = [
  {
    name: 'tokens: the parts of a digest are kept apart',
    file: 'src/auth/credentials.ts',
    from: '`${pool}\\0${namespace}\\0${token}`',
    to: '`${pool}${namespace}${token}`',
    spec: 'test/chaos/tokens.spec.ts',
    test: 'T25: no pool, namespace and token open another three',
  },
  {
    name: 'tokens: rights are checked on every admission',
    file: 'src/auth/admission.ts',
    from: 'if (rights !== null) checkRights(rights, rules, exchange.queue);',
    to: 'void rights;',
    spec: INTRUDERS,
    test: 'get no further than the verbs',
  },
  {
    name: 'tokens: a route of which nothing is said needs the verb admin',
    file: 'src/auth/rights.ts',
    from: "checkVerb(rights, rules.verb ?? 'admin');",
    to: 'if (rules.verb) checkVerb(rights, rules.verb);',
    spec: 'src/auth/admission.spec.ts',
    test: 'takes a route of which nothing is said for one that needs the verb admin',
  },
  {
    name: 'tokens: the queues of a batch of acknowledgements are looked at',
    file: 'src/jobs/hot-calls.v1.ts',
    from: 'if (caller.rights !== null) checkAcks(caller.rights, acks);',
    to: '',
    spec: INTRUDERS,
    test: 'get no further than the queues',
  },
  {
    name: 'tokens: of a list of queues each must be allowed',
    file: 'src/auth/rights.ts',
    from: "for (const queue of queues.split(',')) if (queue !== '') checkQueue(rights, queue);",
    to: "checkQueue(rights, queues.split(',')[0] ?? '');",
    spec: RIGHTS,
    test: 'must all be allowed when one call names many',
  },
  {
    name: 'tokens: a long poll is looked at again when its job comes',
    file: 'src/jobs/hot-calls.lmstfy.ts',
    from: 'if (!isLong || jobs.length === 0) {',
    to: 'if (isLong || !isLong || jobs.length === 0) {',
    spec: RIGHTS,
    test: 'a long poll that began before its token was revoked',
  },
  {
    name: 'tokens: with fewer rights they are stored where older servers do not look',
    file: 'lua/scripts/token_create.lua',
    from: 'is_bound and "bound" or "token", text',
    to: 'is_bound and "token" or "token", text',
    spec: RIGHTS,
    test: 'are closed to servers that do not know of rights',
  },
  {
    name: 'tokens: Redis takes away what has expired',
    file: 'lua/lib/token_expiry.lua',
    from: 'redis.call("PEXPIREAT", token, ends)',
    to: 'redis.call("EXISTS", token)',
    spec: RIGHTS,
    test: 'comes by the clock of Redis',
  },
  {
    name: 'tokens: a note of use makes no token',
    file: 'lua/scripts/token_used.lua',
    from: 'if pool and (not used',
    to: 'if true and (not used',
    spec: RIGHTS,
    test: 'is noted, once in a while, and never of a token that is gone',
  },
  {
    name: 'secrets: passwords are compared whole, whatever is right of them',
    file: 'src/admin/accounts.ts',
    from: 'if (timingSafeEqual(digest, sent)) found = name;',
    to: 'if (digest.equals(sent)) found = name;',
    spec: 'test/e2e/comparison.spec.ts',
    test: 'of accounts: all of them',
  },
  {
    name: 'secrets: tokens are compared whole',
    file: 'src/auth/admission.ts',
    from: 'timingSafeEqual(bytes, secret)',
    to: '(timingSafeEqual, bytes.equals(secret))',
    spec: 'test/e2e/comparison.spec.ts',
    test: 'of tokens: looked up by a digest',
  },
];
