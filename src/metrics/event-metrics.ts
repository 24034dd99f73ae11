import type { Cell } from './families.js';
import type { Metrics } from './metrics.js';

/** Why a stream of events ended. */
export type StreamEnd = 'gone' | 'slow' | 'refused' | 'drained';

/** Streams of events of one process. The open ones are the count that the bound goes by. */
export class EventMetrics {
  readonly open: Cell;
  readonly sent: Cell;
  readonly ended: Readonly<Record<StreamEnd, Cell>>;
  /** Streams that were refused because their token, or the process, has as many as it may. */
  readonly refused: { readonly ofToken: Cell; readonly ofAll: Cell };

  constructor({ eventStreams, eventsSent, eventStreamsEnded, refusals }: Metrics) {
    this.open = eventStreams.cell({});
    this.sent = eventsSent.cell({});
    const cell = (reason: StreamEnd): Cell => eventStreamsEnded.cell({ reason });
    this.ended = {
      gone: cell('gone'),
      slow: cell('slow'),
      refused: cell('refused'),
      drained: cell('drained'),
    };
    this.refused = {
      ofToken: refusals.cell({ reason: 'token_event_streams' }),
      ofAll: refusals.cell({ reason: 'event_streams' }),
    };
  }
}
