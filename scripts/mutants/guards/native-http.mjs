const PUBLISH = 'test/e2e/native-publish.spec.ts';
const WAITS = 'test/e2e/native-waits.spec.ts';
const LEASES = 'test/e2e/native-leases.spec.ts';
const OWNERS = 'test/e2e/native-owners.spec.ts';
const FIELDS = 'src/http/fields/read.spec.ts';

/**
 * The native API's door: what is let in, and what becomes of leases that reach nobody.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const NATIVE_HTTP = [
  {
    name: 'native lease: undone when its answer reached nobody',
    file: 'src/jobs/leasing.v1.ts',
    from: 'else this.jobs.undo(caller, jobs);',
    to: '',
    spec: LEASES,
    test: 'of a client that is gone before its answer',
  },
  {
    name: 'native lease: a token is looked at again after a long wait',
    file: 'src/jobs/leasing.v1.ts',
    from: 'if (isLong && jobs.length > 0)',
    to: 'if (isLong && jobs.length < 0)',
    spec: LEASES,
    test: 'of a token that was revoked while it waited',
  },
  {
    name: 'native job: its queue must be one of the token',
    file: 'src/jobs/rich-jobs.service.ts',
    from: 'if (caller.rights !== null && caller.rights.queues !== null) await this.find(caller, id);',
    to: '',
    spec: OWNERS,
    test: 'publishes, leases and looks in these',
  },
  {
    name: 'native batch: who moves a job may publish',
    file: 'src/jobs/hot-calls.v1.ts',
    from: "    checkVerb(rights, 'publish');\n",
    to: '',
    spec: OWNERS,
    test: 'needs the verb of each call',
  },
  {
    name: 'native publish: a result that is waited for is kept',
    file: 'src/jobs/publishing.v1.ts',
    from: 'Math.max(job.retentionMs ?? 0, waitMs + KEPT_LONGER_MS)',
    to: 'job.retentionMs ?? 0',
    spec: WAITS,
    test: 'is answered with the result',
  },
  {
    name: 'native publish: who waits counts as a waiter before anything is stored',
    file: 'src/jobs/publishing.v1.ts',
    from: 'context.gate?.rest(exchange);',
    to: 'void context;',
    spec: WAITS,
    test: 'counts as one that waits',
  },
  {
    name: 'native publish: a wait ends when the server does',
    file: 'src/engine/engine.ts',
    from: '    full.endWatch.stop();\n  }',
    to: '  }',
    spec: 'test/redis/end-watch.spec.ts',
    test: 'and when the engine stops',
  },
  {
    name: 'fields: those that are not known are refused',
    file: 'src/http/fields/read.ts',
    from: 'if (!fields.has(name)) problems.add',
    to: 'if (fields.size < 0) problems.add',
    spec: FIELDS,
    test: 'are only those that the class declares',
  },
  {
    name: 'fields: none is taken that was inherited',
    file: 'src/http/fields/read.ts',
    from: 'if (Object.hasOwn(value, name))',
    to: 'if (name in value)',
    spec: FIELDS,
    test: 'are only those that the class declares',
  },
];
