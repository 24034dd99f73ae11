const HTTP = 'test/api/push.spec.ts';
const SENDER = 'test/push/sender.spec.ts';

/**
 * HTTP push: what a server sends, where to, and what becomes of the job.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PUSH_GUARDS = [
  {
    id: 'other-key-file-is-named',
    name: 'push: a target of another key file is an error that says so',
    off: { with: "'internal'" },
    spec: HTTP,
    test: 'HTTP push › a server with push targets › sends nothing with another push.key_file, and reports it in the log and in a test of the target',
  },
  {
    id: 'local-nat64-refused',
    name: 'push: NAT64 of a local prefix is refused unless it is allowed',
    off: 'remove',
    spec: 'src/push/send/address-rules.spec.ts',
    test: 'addresses that push may connect to › exclude %s: %s',
  },
  {
    id: 'local-nat64-metadata',
    name: 'push: NAT64 of a local prefix never leads to a metadata service',
    off: 'remove',
    spec: 'src/push/send/address-rules.spec.ts',
    test: 'addresses that push may connect to › exclude the metadata service %s even if all addresses are allowed',
  },
  {
    id: 'old-url-gone-ignored',
    name: 'push: a 410 of an earlier URL does not pause the target',
    off: 'remove',
    spec: HTTP,
    test: 'HTTP push › the answer to a push request › pauses nothing if it is 410 from a former URL',
  },
  {
    id: 'breakers-of-both-stores',
    name: 'push: while a pool moves, an open breaker of the old one is shown',
    off: { with: 'stored.breakers' },
    spec: 'test/api/migration.spec.ts',
    test: 'a pool that moves to another Redis › a push target that fails in the old pool › shows its open breaker, until a resume closes it',
  },
  {
    id: 'gone-pauses-in-both-stores',
    name: 'push: while a pool moves, a target that is gone is paused in both',
    off: { with: 'engine.targets' },
    spec: 'test/api/migration.spec.ts',
    test: 'a pool that moves to another Redis › a push target that fails in the old pool › is paused in both pools if its answer is 410',
  },
  {
    id: 'redirect-is-a-failure',
    name: 'push: a redirect is a failure',
    off: { with: '400' },
    spec: HTTP,
    test: 'HTTP push › the answer to a push request › costs a try if it is %d',
  },
  {
    id: 'every-address-is-checked',
    name: 'push: every address of a name is checked',
    off: { with: 'found.every(({ address }) => !addresses.allows(address))' },
    spec: SENDER,
    test: 'the sender of push › addresses of push › are refused for a name with allowed addresses and one that is not allowed',
  },
  {
    id: 'literal-addresses-are-checked',
    name: 'push: literal addresses are checked',
    off: 'false',
    spec: SENDER,
    test: 'the sender of push › addresses of push › are refused in the spelling %s of this machine, without a connection',
  },
  {
    id: 'job-url-origin-checked',
    name: 'push: the URL of a job has an allowed origin',
    off: 'remove',
    spec: HTTP,
    test: 'HTTP push › a job that names a URL › fails at once and is not sent: %s',
  },
  {
    id: 'job-url-needs-permission',
    name: 'push: a job with a URL needs the permission',
    off: 'remove',
    spec: HTTP,
    test: 'HTTP push › a job that names a URL › needs the permission push in every call',
  },
  {
    id: 'breaker-of-each-origin',
    name: 'push: origins have breakers of their own',
    off: { with: "''" },
    spec: HTTP,
    test: 'HTTP push › a job that names a URL › counts only against the breaker of its origin',
  },
  {
    id: 'ack-link-signed',
    name: 'push: an ack link is signed',
    off: 'remove',
    spec: HTTP,
    test: 'HTTP push › a target that acknowledges later › gets 401 for a changed signed URL',
  },
  {
    id: 'ack-link-is-of-one-lease',
    name: 'push: a link that acks is for one lease',
    off: 'false',
    spec: HTTP,
    test: 'HTTP push › a target that acknowledges later › ends the job by calling the signed URL, once and without a token',
  },
  {
    id: 'accepted-keeps-lease',
    name: 'push: after a 202 the lease goes on where the target acknowledges later',
    off: 'false',
    spec: HTTP,
    test: 'HTTP push › a target that acknowledges later › ends the job by calling the signed URL, once and without a token',
  },
  {
    id: 'push-duration-in-seconds',
    name: 'push: the duration of requests is counted in milliseconds and shown in seconds',
    off: { with: '($&) / 1_000' },
    spec: HTTP,
    test: 'HTTP push › measures the duration of push requests in seconds',
  },
];
