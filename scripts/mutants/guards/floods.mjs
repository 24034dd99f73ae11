const BOUNDS = 'test/e2e/bounds.spec.ts';
const GATE = 'src/http/gate.spec.ts';
const GARBAGE = 'test/compat/garbage.spec.ts';
const TLS = 'test/e2e/tls.spec.ts';

/**
 * Floods, slow clients, bytes that are no requests, and strangers at a TLS port.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FLOODS = [
  {
    name: 'bounds: acknowledgements have room when others have none',
    file: 'src/http/gate.ts',
    from: 'goesFirst ? this.limits.maxInFlight : this.maxUsual',
    to: 'this.limits.maxInFlight',
    spec: GATE,
    test: 'keeps a quarter of the room',
  },
  {
    name: 'bounds: an answered request is no longer in flight',
    file: 'src/http/answer.ts',
    from: 'else end(response, json);\n  exchange.context.gate?.leave(exchange);',
    to: 'else end(response, json);',
    spec: BOUNDS,
    test: 'forget a request whose client has gone',
  },
  {
    name: 'bounds: long polls of one token',
    file: 'src/http/gate.ts',
    from: 'if (own >= this.limits.maxWaitersPerToken) {',
    to: 'if (own < 0) {',
    spec: GATE,
    test: 'bounds the waiters of a token',
  },
  {
    name: 'bounds: long polls of the process',
    file: 'src/http/gate.ts',
    from: 'if (this.waiters >= this.limits.maxWaiters) {',
    to: 'if (this.waiters < 0) {',
    spec: GATE,
    test: 'bounds the waiters of all tokens',
  },
  {
    name: 'bounds: connections',
    file: 'src/server/connection-bound.ts',
    from: 'if (connections.value < max) {',
    to: 'if (connections.value >= 0) {',
    spec: BOUNDS,
    test: 'answer one too many with 503',
  },
  {
    name: 'bounds: an address',
    file: 'src/http/adapter.ts',
    from: '> request.server.exchanges.maxUrlBytes',
    to: '> Infinity',
    spec: BOUNDS,
    test: 'answer a long address with 414',
  },
  {
    name: 'bounds: a client that does not take its answer',
    file: 'src/server/unread-answers.ts',
    from: 'this.cut.value += 1;\n        socket.destroy();',
    to: 'this.cut.value += 0;',
    spec: BOUNDS,
    test: 'is cut in the end',
  },
  {
    name: 'garbage is not answered in the place of a request before it',
    file: 'src/http/client-error.ts',
    from: 'return response?.req?.complete === true;',
    to: 'return response === undefined && false;',
    spec: GARBAGE,
    test: 'a publish with garbage behind it',
  },
  {
    name: 'garbage: nothing behind a change of protocol is waited for',
    file: 'src/http/adapter.ts',
    from: 'reply.raw.shouldKeepAlive = false;\n    done(',
    to: 'reply.raw.shouldKeepAlive = true;\n    done(',
    spec: GARBAGE,
    test: 'a change of protocol',
  },
  {
    name: 'garbage: attributes have no prototype',
    file: 'src/jobs/attributes.lmstfy.ts',
    from: 'Object.create(null) as Record<string, string>',
    to: '{} as Record<string, string>',
    spec: GARBAGE,
    test: 'attributes of such names',
  },
  {
    name: 'TLS: who must have a certificate is not let in without',
    file: 'src/server/tls-files.ts',
    from: 'rejectUnauthorized: ca !== undefined',
    to: 'rejectUnauthorized: false',
    spec: TLS,
    test: 'lets in who has one of its CA',
  },
  {
    name: 'TLS: a new certificate is used',
    file: 'src/server/tls-files.ts',
    from: 'server.setSecureContext(contextOf(pem));',
    to: '',
    spec: 'test/e2e/tls-files.spec.ts',
    test: 'are used anew when they change',
  },
];
