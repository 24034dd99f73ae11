const HTTP = 'test/api/push.spec.ts';
const SENDER = 'test/push/sender.spec.ts';

/**
 * HTTP push: what a server sends, where to, and what becomes of the job.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PUSH_GUARDS = [
  {
    name: 'push: a target of another key file is an error that says so',
    file: 'src/push/targets.service.ts',
    from: "'push_key_mismatch',",
    to: "'internal',",
    spec: HTTP,
    test: 'with another push.key_file',
  },
  {
    name: 'push: NAT64 of a local prefix is refused unless it is allowed',
    file: 'src/push/send/address-rules.ts',
    from: 'return isAllowed && !EMBEDDED.some',
    to: 'return !EMBEDDED.some',
    spec: 'src/push/send/address-rules.spec.ts',
    test: 'NAT64 of a local prefix',
  },
  {
    name: 'push: NAT64 of a local prefix never leads to a metadata service',
    file: 'src/push/send/address-rules.ts',
    from: 'return isAllowed && !EMBEDDED.some((bytes) => isIn(embeddedAt(address, bytes), NEVER));',
    to: 'return isAllowed;',
    spec: 'src/push/send/address-rules.spec.ts',
    test: 'never metadata services',
  },
  {
    name: 'push: a 410 of an earlier URL pauses nothing',
    file: 'src/push/target-worker.ts',
    from: ' && target.url === url.href;',
    to: ';',
    spec: HTTP,
    test: 'from a URL that the target had before',
  },
  {
    name: 'push: a redirect is a failure',
    file: 'src/push/send/verdict.ts',
    from: 'status >= 200 && status < 300',
    to: 'status >= 200 && status < 400',
    spec: HTTP,
    test: 'of 302 costs a try',
  },
  {
    name: 'push: every address of a name is checked',
    file: 'src/push/send/connections.ts',
    from: 'found.some(({ address }) => !addresses.allows(address))',
    to: 'found.every(({ address }) => !addresses.allows(address))',
    spec: SENDER,
    test: 'refuses a name with one address that is not allowed',
  },
  {
    name: 'push: literal addresses are checked',
    file: 'src/push/send/connections.ts',
    from: 'isIP(host) !== 0 && !this.rules.addresses.allows(host)',
    to: 'isIP(host) === 0 && !this.rules.addresses.allows(host)',
    spec: SENDER,
    test: 'of this machine, without a connection',
  },
  {
    name: 'push: a URL of a job has an origin of the target',
    file: 'src/push/target-worker.ts',
    from: 'url !== null && target.origins.includes(url.origin)',
    to: 'url !== null',
    spec: HTTP,
    test: 'of another port fails at once',
  },
  {
    name: 'push: a job with a URL needs the permission',
    file: 'src/domain/unique-rights.ts',
    from: "if (Object.hasOwn(attributes ?? {}, PUSH_URL)) checkVerb(rights, 'push');",
    to: '',
    spec: HTTP,
    test: 'needs the permission push, however it is made',
  },
  {
    name: 'push: origins have breakers of their own',
    file: 'src/push/target.ts',
    from: "return origin === '' ? target : `${target} ${origin}`;",
    to: 'return target;',
    spec: HTTP,
    test: 'counts against the breaker of its origin alone',
  },
  {
    name: 'push: a URL that acknowledges is signed',
    file: 'src/push/ack-links.ts',
    from: 'given.length !== expected.length || !timingSafeEqual(given, expected)',
    to: 'given.length !== expected.length',
    spec: HTTP,
    test: 'cannot change the URL',
  },
  {
    name: 'push: a URL that acknowledges is for one lease',
    file: 'src/push/ack.controller.ts',
    from: "if (status !== 'done') throw new LeaseLostError(await stateOf(native, namespace, job));",
    to: 'void status;',
    spec: HTTP,
    test: 'keeps the job until it calls the URL',
  },
  {
    name: 'push: after a 202 the lease goes on, where the target acknowledges later',
    file: 'src/push/send/verdict.ts',
    from: "status === ACCEPTED && chosen === undefined && target.ack === 'later'",
    to: 'false',
    spec: HTTP,
    test: 'keeps the job until it calls the URL',
  },
  {
    name: 'push: the duration of requests is counted in milliseconds, and shown in seconds',
    file: 'src/push/target-worker.ts',
    from: 'observe(performance.now() - startMs);',
    to: 'observe((performance.now() - startMs) / 1_000);',
    spec: HTTP,
    test: 'is measured in seconds',
  },
];
