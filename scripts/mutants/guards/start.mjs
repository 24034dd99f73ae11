const SURROUNDINGS = 'test/e2e/surroundings.spec.ts';

/**
 * How a server starts.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const START = [
  {
    name: 'start: every Redis is looked at before workers begin',
    file: 'src/server/surroundings.ts',
    from: 'map(([name, options]) => checkPool(name, options))',
    to: 'slice(0, 1).map(([name, options]) => checkPool(name, options))',
    spec: SURROUNDINGS,
    test: 'is looked at before workers begin',
  },
  {
    name: 'start: the Redis of the tokens is looked at before workers begin',
    file: 'src/server/surroundings.ts',
    from: 'if (tokens !== undefined) checks',
    to: 'if (tokens === null) checks',
    spec: SURROUNDINGS,
    test: 'is looked at before workers begin',
  },
  {
    name: 'start: the admin port is tried before workers begin',
    file: 'src/server/surroundings.ts',
    from: 'server.listen({ host, port }',
    to: 'server.listen({ host, port: port * 0 }',
    spec: SURROUNDINGS,
    test: 'has an admin port that nobody else has',
  },
  {
    name: 'start: code is optimised again when the server serves',
    file: 'src/server/start-flags.ts',
    from: "setFlagsFromString('--opt')",
    to: "setFlagsFromString('--no-opt')",
    spec: 'src/server/start-flags.spec.ts',
    test: 'optimises nothing until it is over',
  },
];
