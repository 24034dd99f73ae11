import type { Cell } from './families.js';
import type { Metrics } from './metrics.js';

/** What a refusal for want of room may be about. */
type Reason = 'in_flight' | 'waiters' | 'token_waiters' | 'connections';

/** What one process has under way, and what it refused because that was too much. The cells are the counters that the bounds go by. */
export class FloodMetrics {
  /** Requests that were let in and are not answered, long polls that wait aside. */
  readonly inFlight: Cell;
  /** Open connections of the API port. */
  readonly connections: Cell;
  readonly refused: Readonly<Record<Reason, Cell>>;
  /** Connections that were ended because the client did not take its answer. */
  readonly unread: Cell;

  constructor({ inFlight, httpConnections, refusals, unreadAnswers }: Metrics) {
    this.inFlight = inFlight.cell({});
    this.connections = httpConnections.cell({});
    const cell = (reason: Reason): Cell => refusals.cell({ reason });
    this.refused = {
      in_flight: cell('in_flight'),
      waiters: cell('waiters'),
      token_waiters: cell('token_waiters'),
      connections: cell('connections'),
    };
    this.unread = unreadAnswers.cell({});
  }
}
