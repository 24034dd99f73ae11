const SENDER = 'test/push/sender.spec.ts';
const LIMITS = 'test/api/limits.spec.ts';
const QUOTAS = 'test/engine/quotas.spec.ts';
const BESIDE = 'limits of a namespace › quotas › quotas on bytes beside the body';
const SLOTS = 'src/push/slots.spec.ts';
const WALK = 'src/engine/maintenance/job-walk.spec.ts';
const KEPT = 'the sender of push › a kept connection';

/**
 * What push sends, how often, and over which connections; and the quotas of namespaces.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PUSH_SENDING = [
  {
    id: 'push-ends-with-its-run',
    name: 'push: a request is cut off at the end of the run of its job',
    off: { replace: 'const timer = undefined;' },
    spec: 'test/api/push.spec.ts',
    test: 'HTTP push › the answer to a push request › is waited for no longer than the max_run_ms of the job, which fails then',
  },
  {
    id: 'push-resend-only-kept',
    name: 'push: only a request over a kept connection is sent again',
    off: 'remove',
    spec: SENDER,
    test: 'the sender of push › sends no request again if a new connection is closed',
  },
  {
    id: 'push-resend-only-unread',
    name: 'push: a request is not sent again after a byte of the answer',
    off: 'remove',
    spec: SENDER,
    test: `${KEPT} › has the request not sent again if it is %s`,
  },
  {
    id: 'plain-text-is-refused-when-sent',
    name: 'push: nothing is sent to an http:// URL that was set while push.allow_http was',
    off: 'remove',
    spec: SENDER,
    test: 'the sender of push › sends nothing in plain text unless the server allows that, but may use TLS',
  },
  {
    id: 'date-of-http-is-in-gmt',
    name: 'push: a Retry-After without a zone is in GMT',
    off: { replace: "const zone = '';" },
    spec: 'src/push/send/verdict.spec.ts',
    test: 'the Retry-After of an answer to a push › is in GMT on a server in New York: %s',
  },
  {
    id: 'late-result-is-kept',
    name: 'push: the answer is the result of a job that others began to depend on during the request',
    off: { with: 'undefined' },
    spec: 'test/api/push.spec.ts',
    test: 'HTTP push › the answer to a push request › is the result for a job that depends on a plain one, and is published during the request',
  },
  {
    id: 'push-resends-once',
    name: 'push: a request is sent again once',
    off: 'remove',
    spec: SENDER,
    test: `${KEPT} › fails the request if it is closed, and then the next connection is closed`,
  },
  {
    id: 'push-no-resend-after-timeout',
    name: 'push: a request is not sent again after its timeout',
    off: 'remove',
    spec: SENDER,
    test: `${KEPT} › has the request not sent again if it is %s`,
  },
  {
    id: 'push-resend-on-new-connection',
    name: 'push: a request is sent again over a new connection',
    off: 'remove',
    spec: SENDER,
    test: `${KEPT} › has the second send on a new connection if it is closed, not on another kept connection`,
  },
  {
    id: 'push-bounds-interim-answers',
    name: 'push: interim answers are bounded',
    off: 'remove',
    spec: SENDER,
    test: 'the sender of push › a hostile server › fails the request if it %s',
  },
  {
    id: 'push-ends-unsent-request',
    name: 'push: the rest of a request is not sent after its answer',
    off: 'remove',
    spec: SENDER,
    test: `${KEPT} › is closed if the answer arrived before the request was sent`,
  },
  {
    id: 'push-closes-talking-connection',
    name: 'push: a kept connection on which the server speaks unasked is closed',
    off: 'remove',
    spec: SENDER,
    test: `${KEPT} › is not used again after unrequested bytes`,
  },
  {
    id: 'push-slots-by-namespace',
    name: 'push: the targets of one namespace leave slots for others',
    off: { with: 'free' },
    spec: SLOTS,
    test: 'slots of push › namespaces that share the slots › share %d slots: one namespace with many targets gets at most %d',
  },
  {
    id: 'push-slots-reserve',
    name: 'push: namespaces that hold no slot have a reserve',
    off: { with: '0' },
    spec: SLOTS,
    test: 'slots of push › namespaces that share the slots › share 256 slots: a first namespace leaves 42 for a second, and later namespaces get at least one each',
  },
  {
    id: 'push-slots-reserve-when-alone',
    name: 'push: a namespace alone leaves the reserve for those that come later',
    off: { with: 'free' },
    spec: SLOTS,
    test: 'slots of push › one namespace alone › leaves the reserve for namespaces that come later',
  },
  {
    id: 'quotas-of-own-namespace',
    name: 'quotas: those of a namespace hold without a restart',
    off: 'remove',
    spec: LIMITS,
    test: 'quotas of a namespace › apply on every server within seconds, and to no other namespace',
  },
  {
    id: 'quotas-count-stored-bytes',
    name: 'quotas: what was stored before a quota on bytes is counted at once',
    off: 'remove',
    spec: LIMITS,
    test: 'quotas of a namespace › count bytes that were stored before the quota was set, and refuse nothing with a quota of 0',
  },
  {
    id: 'due-pass-begins-at-once',
    name: 'quotas: the count of what was stored before a quota does not wait for the next check',
    off: 'remove',
    spec: WALK,
    test: 'a walk over all jobs › begins the next pass at once when the last one is forgotten',
  },
  {
    id: 'forgotten-pass-ends',
    name: 'quotas: a count that is under way when a quota is set begins again',
    off: 'true',
    spec: WALK,
    test: 'a walk over all jobs › ends a pass that is forgotten while it is under way, and begins another',
  },
  {
    id: 'beside-counts',
    name: 'quotas: what a job stores beside its body counts',
    off: 'false',
    spec: QUOTAS,
    test: `${BESIDE} › count a result, and drop a result beyond the quota`,
  },
  {
    id: 'removal-frees-beside',
    name: 'quotas: a removed job takes from the sum what it had beside its body',
    off: { with: '0' },
    spec: QUOTAS,
    test: `${BESIDE} › count down the bytes of each removed queue in a purge of the namespace`,
  },
  {
    id: 'growth-within-quota',
    name: 'quotas: a stored job does not grow beyond the quota on bytes',
    off: 'false',
    spec: QUOTAS,
    test: `${BESIDE} › count log entries, and refuse one beyond the quota`,
  },
  {
    id: 'debounce-within-quota',
    name: 'quotas: a debounced job does not grow beyond the quota on bytes',
    off: { with: '"0"' },
    spec: QUOTAS,
    test: `${BESIDE} › refuse a longer body of a debounced job beyond the quota`,
  },
];
