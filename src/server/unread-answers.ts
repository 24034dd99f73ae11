import type { Socket } from 'node:net';
import type { Cell } from '../metrics/families.js';

/** How often connections are looked at: a part of the time that is allowed, within these milliseconds. */
const LOOKS = 4;
const SHORTEST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 5_000;

/** How far a connection with bytes to send has come, and since when. */
interface Stand {
  readonly taken: number;
  readonly sinceMs: number;
}

/**
 * Ends connections whose clients do not take their answers: nothing else would, and each holds its answer in memory. One look at all
 * connections now and then costs less than a timer for each of them.
 */
export class UnreadAnswers {
  private stands = new Map<Socket, Stand>();
  private readonly timer: NodeJS.Timeout;

  /**
   * @param open the connections
   * @param timeoutMs an answer must be taken within this
   * @param cut counts the connections that are ended
   */
  constructor(
    private readonly open: () => Iterable<Socket>,
    private readonly timeoutMs: number,
    private readonly cut: Cell,
  ) {
    const lookMs = Math.min(LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, timeoutMs / LOOKS));
    this.timer = setInterval(() => this.look(), lookMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const nowMs = performance.now();
    const stands = new Map<Socket, Stand>();
    for (const socket of this.open()) {
      if (socket.writableLength === 0) continue;
      // What has gone to the system; an answer goes there as a whole.
      const taken = socket.bytesWritten - socket.writableLength;
      const before = this.stands.get(socket);
      const stand = before?.taken === taken ? before : { taken, sinceMs: nowMs };
      if (nowMs - stand.sinceMs < this.timeoutMs) stands.set(socket, stand);
      else {
        this.cut.value += 1;
        socket.destroy();
      }
    }
    this.stands = stands;
  }
}
