const ENGINE = 'test/redis/events.spec.ts';
const STREAM = 'test/e2e/events.spec.ts';

/**
 * Streams of events: nobody pays who does not listen, nobody is told what is none of his business, nobody waits for who is slow.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const EVENTS = [
  {
    name: 'events: their stream goes when nobody listens any more',
    file: 'lua/scripts/listen.lua',
    from: '  redis.call("PEXPIRE", events, keep_ms)\n',
    to: '',
    spec: ENGINE,
    test: 'no longer than somebody listens',
  },
  {
    name: 'events: are written only where somebody listens',
    file: 'lua/lib/events.lua',
    from: '    listens = redis.call("EXISTS", stream) == 1',
    to: '    listens = redis.call("XADD", stream, "*", "e", "") ~= nil',
    spec: ENGINE,
    test: 'cost nothing and leave nothing',
  },
  {
    name: 'events: servers without a listener hear of those of others',
    file: 'src/engine/events/teller.ts',
    from: 'this.turn(this.heard.size > 0);',
    to: 'this.turn(false);',
    spec: ENGINE,
    test: 'are written by servers that nobody listens at',
  },
  {
    name: 'events: what is missing is told',
    file: 'lua/scripts/listen.lua',
    from: 'COUNT", 1) == 0 and 1 or 0',
    to: 'COUNT", 1) == 0 and 0 or 0',
    spec: ENGINE,
    test: 'say so when what a listener wants',
  },
  {
    name: 'events: a place ahead of the stream hides nothing',
    file: 'src/engine/events/feed.ts',
    from: 'if (isAhead) follower.place = first.newest;',
    to: '',
    spec: ENGINE,
    test: 'say so when what a listener wants',
  },
  {
    name: 'events: what was before a listener came is read to its end',
    file: 'src/engine/events/feed.ts',
    from: 'if (page.size < PAGE && !isBehind(page, channel)) break;',
    to: 'break;',
    spec: ENGINE,
    test: 'go on where a listener broke off',
  },
  {
    name: 'events: are kept in a bounded number',
    file: 'lua/lib/events.lua',
    from: '"MAXLEN", "~", MOST_KEPT, ',
    to: '',
    spec: ENGINE,
    test: 'are kept in a bounded number',
  },
  {
    name: 'events: many listeners hold up nobody',
    file: 'src/engine/events/feed.ts',
    from: '      await new Promise(setImmediate);\n',
    to: '',
    spec: ENGINE,
    test: 'let others be served',
  },
  {
    name: 'events: streams end with the engine',
    file: 'src/engine/engine.ts',
    from: '    events.close();\n    full.endWatch.stop();\n  }',
    to: '    full.endWatch.stop();\n  }',
    spec: ENGINE,
    test: 'end for every listener when the engine stops',
  },
  {
    name: 'events: a token is told of its queues alone',
    file: 'src/events/event-filter.ts',
    from: 'if (patterns !== null)',
    to: 'if (patterns === undefined)',
    spec: STREAM,
    test: 'tells a token for some queues',
  },
  {
    name: 'events: a stream ends with its token',
    file: 'src/events/events.service.ts',
    from: "stream.end('refused');",
    to: 'return;',
    spec: STREAM,
    test: 'ends when its token is revoked',
  },
  {
    name: 'events: streams of one token',
    file: 'src/events/events.service.ts',
    from: 'if (own >= max_streams_per_token) {',
    to: 'if (own < 0) {',
    spec: STREAM,
    test: 'is bounded in number',
  },
  {
    name: 'events: streams of the process',
    file: 'src/events/events.service.ts',
    from: 'if (open.value >= max_streams) {',
    to: 'if (open.value < 0) {',
    spec: STREAM,
    test: 'is bounded in number',
  },
  {
    name: 'events: a client that does not read is cut',
    file: 'src/events/event-stream.ts',
    from: 'if (response.writableLength > this.maxBufferBytes) {',
    to: 'if (response.writableLength < 0) {',
    spec: STREAM,
    test: 'cuts a client that does not read',
  },
];
