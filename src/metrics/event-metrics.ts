import type { Cell } from './series.js';
import type { Metrics } from './metrics.js';

/** Why an event stream ended. */
export type StreamEnd = 'gone' | 'slow' | 'refused' | 'drained';

/** Event streams of one process. The limit uses the number of open ones. */
export class EventMetrics {
  readonly open: Cell;
  readonly sent: Cell;
  readonly ended: Readonly<Record<StreamEnd, Cell>>;
  /** Streams rejected because their token, or the process, has reached its limit. */
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
