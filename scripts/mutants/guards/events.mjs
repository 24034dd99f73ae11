const ENGINE = 'test/engine/events.spec.ts';
const STREAM = 'test/api/events.spec.ts';

/**
 * Event streams: no cost without subscribers, no event for tokens without the right to it, no delay because of a slow
 * client.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const EVENTS = [
  {
    id: 'tag-event-names-worker',
    name: 'events: a tag change of a leased job names its worker',
    off: 'remove',
    spec: 'test/engine/events-extended.spec.ts',
    test: 'events of the extended path › name the worker of a leased job if no lease operation caused them',
  },
  {
    id: 'log-event-names-worker',
    name: 'events: a log entry of a leased job names its worker',
    off: 'remove',
    spec: 'test/engine/events-extended.spec.ts',
    test: 'events of the extended path › name the worker of a leased job if no lease operation caused them',
  },
  {
    id: 'stream-deleted-after-last',
    name: 'events: the stream is deleted after its last subscriber',
    off: 'remove',
    spec: ENGINE,
    test: 'events › are written by a server that has no subscriber itself, only while another server has one',
  },
  {
    id: 'events-need-a-subscriber',
    name: 'events: they are written only where there is a subscriber',
    off: { with: 'redis.call("XADD", stream, "*", "e", "") ~= nil' },
    spec: ENGINE,
    test: 'events › make no script call and no key without a subscriber',
  },
  {
    id: 'other-subscribers-learned',
    name: 'events: servers learn of the subscribers of others',
    off: 'false',
    spec: ENGINE,
    test: 'events › are written by a server that has no subscriber itself, only while another server has one',
  },
  {
    id: 'missing-events-reported',
    name: 'events: missing events are reported',
    off: { with: '0' },
    spec: ENGINE,
    test: 'events › report a gap if the start of a resume is gone',
  },
  {
    id: 'stream-cursor-ahead',
    name: 'events: a cursor ahead of the stream hides nothing',
    off: 'remove',
    spec: ENGINE,
    test: 'events › report a gap if the start of a resume is gone',
  },
  {
    id: 'earlier-events-are-read-to-the-end',
    name: 'events: events from before a listener came are read to their end',
    off: 'true',
    spec: ENGINE,
    test: 'events › resume where a listener stopped',
  },
  {
    id: 'events-are-bounded',
    name: 'events: a bounded number is kept',
    off: { with: '"1000000000"' },
    spec: ENGINE,
    test: 'events › are limited to about 10,000, and a slow listener gets a gap',
  },
  {
    id: 'many-subscribers-no-delay',
    name: 'events: many subscribers delay no other call',
    off: 'remove',
    spec: ENGINE,
    test: 'events › let other work of the server run between two listeners',
  },
  {
    id: 'streams-end-with-engine',
    name: 'events: streams end with the engine',
    off: 'remove',
    spec: ENGINE,
    test: 'events › end for every listener when the engine stops',
  },
  {
    id: 'events-of-the-token',
    name: 'events: a token gets the events of its queues only',
    off: 'false',
    spec: STREAM,
    test: 'the stream of events › sends a token for some queues only events of these',
  },
  {
    id: 'stream-ends-with-its-token',
    name: 'events: a stream ends with its token',
    off: 'remove',
    spec: STREAM,
    test: 'the stream of events › ends when its token is revoked',
  },
  {
    id: 'streams-of-a-token-are-bounded',
    name: 'events: the streams of one token are limited',
    off: 'false',
    spec: STREAM,
    test: 'the stream of events › is refused beyond five per token with 429, and beyond six per process with 503',
  },
  {
    id: 'streams-are-bounded',
    name: 'events: the streams of the process are limited',
    off: 'false',
    spec: STREAM,
    test: 'the stream of events › is refused beyond five per token with 429, and beyond six per process with 503',
  },
  {
    id: 'unread-stream-is-cut',
    name: 'events: a client that does not read is disconnected',
    off: 'false',
    spec: STREAM,
    test: 'the stream of events › disconnects a client that does not read, and delays no other client',
  },
  {
    id: 'kept-events-as-configured',
    name: 'events: as many are kept as the configuration says',
    off: { with: '10_000' },
    spec: 'test/engine/events.spec.ts',
    test: 'a namespace keeps 1,000 to 1,200 events if 1,000 are configured: %s jobs',
  },
  {
    id: 'left-queue-learns-of-the-move',
    name: 'events: subscribers of the queue that a job left learn of it',
    off: { with: '({ queue }) => [queue]' },
    spec: 'test/api/events.spec.ts',
    test: 'the stream of events › sends the event of a job that moves to subscribers of its old and of its new queue',
  },
  {
    id: 'token-of-the-left-queue-learns',
    name: 'events: a token for the queue that a job left learns of it',
    off: { with: 'queue === event.queue && $&' },
    spec: 'test/api/events.spec.ts',
    test: 'the stream of events › sends the event of a job that moves to subscribers of its old and of its new queue',
  },
  {
    id: 'long-result-left-out',
    name: 'events: a long result is left out',
    off: 'remove',
    spec: 'test/engine/events-extended.spec.ts',
    test: 'events of the extended path › have the result of an acked job if it is short JSON, else a flag',
  },
  {
    id: 'results-are-in-no-timeline',
    name: 'events: a result is in no timeline',
    off: { with: 'worker, json = result' },
    spec: 'test/engine/events-extended.spec.ts',
    test: 'events of the extended path › do not repeat the result of a job in its timeline',
  },
  {
    id: 'queue-deletion-event',
    name: 'events: the deletion of a queue emits an event',
    off: 'remove',
    spec: 'test/engine/events-extended.spec.ts',
    test: 'events of the extended path › report the deletion of a queue once, and no refused one',
  },
];
