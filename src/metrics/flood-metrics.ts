import type { ErrorCode } from '../domain/errors.js';
import type { Cell } from './families.js';
import type { Metrics } from './metrics.js';

/** What a refusal for want of room may be about. */
type Reason = 'in_flight' | 'body_bytes' | 'waiters' | 'token_waiters' | 'connections';

/** What a quota's code is about. */
const QUOTAS: readonly (readonly [ErrorCode, string])[] = [
  ['too_many_queues', 'queues'],
  ['queue_full', 'jobs'],
  ['namespace_full', 'bytes'],
];

/** What one process has under way, and what it refused because that was too much. The cells are the counters that the bounds go by. */
export class FloodMetrics {
  /** Requests that were let in and are not answered, long polls that wait aside. */
  readonly inFlight: Cell;
  /** Bytes of the bodies of those requests. */
  readonly bodyBytes: Cell;
  /** Open connections of the API port. */
  readonly connections: Cell;
  readonly refused: Readonly<Record<Reason, Cell>>;
  /** Connections that were ended because the client did not take its answer. */
  readonly unread: Cell;
  private readonly quotas: ReadonlyMap<ErrorCode, Cell>;

  constructor({ inFlight, bodyBytes, httpConnections, refusals, unreadAnswers, quotaRefusals }: Metrics) {
    this.inFlight = inFlight.cell({});
    this.bodyBytes = bodyBytes.cell({});
    this.connections = httpConnections.cell({});
    const cell = (reason: Reason): Cell => refusals.cell({ reason });
    this.refused = {
      in_flight: cell('in_flight'),
      body_bytes: cell('body_bytes'),
      waiters: cell('waiters'),
      token_waiters: cell('token_waiters'),
      connections: cell('connections'),
    };
    this.unread = unreadAnswers.cell({});
    this.quotas = new Map(QUOTAS.map(([code, kind]) => [code, quotaRefusals.cell({ kind })]));
  }

  /** Counts a refusal if it is for a quota. */
  refusedFor(code: ErrorCode): void {
    const cell = this.quotas.get(code);
    if (cell) cell.value += 1;
  }
}
