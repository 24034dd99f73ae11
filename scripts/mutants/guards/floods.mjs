const BOUNDS = 'test/api/limits.spec.ts';
const GATE = 'src/http/request/load-shedder.spec.ts';
const GARBAGE = 'test/api/requests.spec.ts';
const TLS = 'test/api/tls.spec.ts';
const DISCONNECT = 'test/api/fast-path.spec.ts';
const UNREAD = 'test/faults/unread.spec.ts';

/**
 * Floods, slow clients, bytes that are no requests, and strangers at a TLS port.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FLOODS = [
  {
    id: 'acks-have-room',
    name: 'bounds: acks have room when other requests have none',
    off: { with: 'this.limits.maxInFlight' },
    spec: GATE,
    test: 'the load shedder › keeps a quarter of the requests in flight for requests that free resources',
  },
  {
    id: 'answered-not-in-flight',
    name: 'bounds: an answered request is no longer in flight',
    off: 'remove',
    spec: BOUNDS,
    test: 'bounds of connections › limits on concurrent requests › refuse publishes and consumes at three quarters of the limit, acknowledgements at the limit, probes never: %s',
  },
  {
    id: 'waiters-of-a-token-are-bounded',
    name: 'bounds: the long polls of one token are limited',
    off: 'false',
    spec: GATE,
    test: 'the load shedder › limits the waiting requests of one token without an effect on another token',
  },
  {
    id: 'waiters-are-bounded',
    name: 'bounds: the long polls of the process are limited',
    off: 'false',
    spec: GATE,
    test: 'the load shedder › limits the waiting requests of all tokens together',
  },
  {
    id: 'connections-are-bounded',
    name: 'bounds: connections are limited',
    off: 'true',
    spec: BOUNDS,
    test: 'bounds of connections › limits on connections › answer a connection beyond the limit with 503, and accept one after another closed',
  },
  {
    id: 'connections-per-address',
    name: 'bounds: connections of one address',
    off: { with: 'Infinity' },
    spec: BOUNDS,
    test: 'bounds of connections › limits on connections › answer a long address with 414: %s',
  },
  {
    id: 'unread-answers-are-cut',
    name: 'bounds: a client that does not read its answer is disconnected',
    off: 'remove',
    spec: BOUNDS,
    test: 'bounds of connections › a client that does not read its answer › is disconnected after answer_timeout_ms, and its jobs are ready again, without a try used',
  },
  {
    id: 'closed-connection-ends-the-request',
    name: 'hang-ups: a request is no longer counted when its connection closes',
    off: 'remove',
    spec: BOUNDS,
    test: 'bounds of connections › a client that does not read its answer › is disconnected if it closed its sending side and no answer comes',
  },
  {
    id: 'closed-connection-reported',
    name: 'disconnects: a closed connection is reported',
    off: 'remove',
    spec: 'src/http/request/connection.spec.ts',
    test: 'the watcher of a connection › is notified if the connection closed before the watcher was added',
  },
  {
    id: 'ended-request-stays-ended',
    name: 'hang-ups: a request that was counted out is not counted in again',
    off: 'false',
    spec: GATE,
    test: 'the load shedder › refuses to reserve bytes or to wait for a released request',
  },
  {
    id: 'half-closed-gets-no-lease',
    name: 'disconnects: a client that half-closed gets no lease',
    off: 'remove',
    spec: DISCONNECT,
    test: 'answers of the HTTP server › clients that disconnect before their answer › get no lease after they closed their sending side: %s %s %s',
  },
  {
    id: 'half-closed-connection-ends-waits',
    name: 'hang-ups: a wait ends when the client closes its side',
    off: { with: '() => undefined' },
    spec: DISCONNECT,
    test: 'answers of the HTTP server › clients that disconnect before their answer › are answered before the wait ends when they close their sending side during a long poll',
  },
  {
    id: 'half-closed-answered',
    name: 'disconnects: a client that half-closed is answered',
    off: 'remove',
    spec: DISCONNECT,
    test: 'answers of the HTTP server › clients that disconnect before their answer › are answered after they closed only their sending side: %s',
  },
  {
    id: 'half-closed-bounded',
    name: 'disconnects: the answer to a half-closed client is bounded in time',
    off: 'remove',
    spec: BOUNDS,
    test: 'bounds of connections › a client that does not read its answer › is disconnected if it closed its sending side and no answer comes',
  },
  {
    id: 'pipelined-safe-are-few',
    name: 'bounds: requests of one connection that are served at a time',
    off: 'true',
    spec: UNREAD,
    test: 'T52: answers that a client does not read › are at most ${MOST_ANSWERS} on a connection, and take less than 10 MB',
  },
  {
    id: 'stop-closes-idle-connections',
    name: 'stop: a connection that says nothing is closed, whenever its handshake ends',
    off: { with: 'this.server.closeIdleConnections()' },
    spec: 'test/api/tls.spec.ts',
    test: 'TLS › a stopping server with TLS › is not delayed by a client whose handshake is not complete',
  },
  {
    id: 'docs-bytes-shared',
    name: 'bounds: responses with a file of the page share its bytes',
    off: 'remove',
    spec: UNREAD,
    test: 'T52: answers that a client does not read › are at most ${MOST_ANSWERS} on a connection, and take less than 10 MB',
  },
  {
    id: 'unread-connection-no-wait',
    name: 'bounds: a connection with unread answers cannot start a wait',
    off: 'remove',
    spec: UNREAD,
    test: 'T52: answers that a client does not read › end long polls of their connection before the wait is over',
  },
  {
    id: 'headers-are-bounded',
    name: 'bounds: the number of headers is limited',
    off: 'false',
    spec: BOUNDS,
    test: 'bounds of connections › more than 2,000 headers › are answered with 431, as the token may be cut off: %s',
  },
  {
    id: 'garbage-is-not-answered',
    name: 'garbage is not answered in the place of a request before it',
    off: 'false',
    spec: GARBAGE,
    test: 'bad input › malformed requests › do not change, behind a publish, its answer to 400',
  },
  {
    id: 'upgrade-ends-connection',
    name: 'garbage: nothing behind a change of protocol is waited for',
    off: 'false',
    spec: GARBAGE,
    test: 'bad input › malformed requests › get the expected answers, hide no second request and log no error: %s',
  },
  {
    id: 'attributes-have-no-prototype',
    name: 'garbage: attributes have no prototype',
    off: { with: '{}' },
    spec: GARBAGE,
    test: 'bad input › malformed requests › store attributes named as properties of JavaScript objects',
  },
  {
    id: 'tls-client-certificate',
    name: 'TLS: a client without a required certificate is refused',
    off: 'false',
    spec: TLS,
    test: 'TLS › a port that requires certificates › accepts only clients with a certificate of its CA',
  },
  {
    id: 'tls-certificate-renewed',
    name: 'TLS: a new certificate is used',
    off: 'remove',
    spec: 'test/api/tls.spec.ts',
    test: 'certificate files › the TLS files of a listener › are loaded again when they change',
  },
  {
    id: 'body-bytes-of-a-token-are-bounded',
    name: 'bounds: the bodies of one token leave room for those of others',
    off: 'false',
    spec: GATE,
    test: 'the load shedder › limits the bytes of the bodies of one token, also of requests that free resources',
  },
  ...[
    [
      'consume-names-few-queues',
      'bounds: a consume names few queues',
      'are refused if they consume from more than 1,000 queues',
      'false',
    ],
    [
      'absolute-form-has-its-errors',
      'errors: a whole URL in the first line selects the same errors as its path',
      'get problem details from the native API, whatever the form of their URL: %s',
      { with: 'url' },
    ],
  ].map(([id, name, test, off]) => ({
    id: String(id),
    name: String(name),
    off: /** @type {import('../guards.mjs').Guard['off']} */ (off),
    spec: 'test/api/requests.spec.ts',
    test: `bad input › malformed requests › ${String(test)}`,
  })),
];
