import type { ErrorCode } from '../domain/errors.js';
import type { Cell } from './series.js';
import type { Metrics } from './metrics.js';

/** Limits that cause a rejection for lack of capacity. */
type Reason = 'in_flight' | 'body_bytes' | 'waiters' | 'token_waiters' | 'connections';

/** Label of each quota's error code. */
const QUOTAS: readonly (readonly [ErrorCode, string])[] = [
  ['too_many_queues', 'queues'],
  ['queue_full', 'jobs'],
  ['namespace_full', 'bytes'],
];

/** Load of one process, and its rejections for overload. The cells are also the counters that the limits use. */
export class FloodMetrics {
  /** Requests that are admitted and not answered yet, without waiting long polls. */
  readonly inFlight: Cell;
  /** Bytes of the bodies of those requests. */
  readonly bodyBytes: Cell;
  /** Open connections of the API port. */
  readonly connections: Cell;
  readonly refused: Readonly<Record<Reason, Cell>>;
  /** Connections closed because the client did not read its answer. */
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

  /** Counts an error if its code is that of a quota. */
  refusedFor(code: ErrorCode): void {
    const cell = this.quotas.get(code);
    if (cell) cell.value += 1;
  }
}
