import type { Socket } from 'node:net';
import type { Cell } from '../../metrics/series.js';

/** Checks per timeout; the interval stays within these milliseconds. */
const CHECKS = 4;
const SHORTEST_CHECK_MS = 50;
const LONGEST_CHECK_MS = 5_000;

/** How much of a connection's answers has been sent, and since when that is unchanged. */
interface Stand {
  readonly taken: number;
  readonly sinceMs: number;
}

/**
 * Closes connections whose clients do not read their answers. Nothing else would close them, and each one keeps its
 * answer in memory. Also closes connections whose clients have closed their side while the answer never comes. One
 * check of all connections at intervals costs less than a timer for each of them.
 */
export class UnreadAnswers {
  private stands = new Map<Socket, Stand>();
  private readonly timer: NodeJS.Timeout;

  /**
   * @param open the connections
   * @param timeoutMs an answer must be read within this time
   * @param cut counts the closed connections
   */
  constructor(
    private readonly open: () => Iterable<Socket>,
    private readonly timeoutMs: number,
    private readonly cut: Cell,
  ) {
    const checkMs = Math.min(LONGEST_CHECK_MS, Math.max(SHORTEST_CHECK_MS, timeoutMs / CHECKS));
    this.timer = setInterval(() => this.check(), checkMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const nowMs = performance.now();
    const stands = new Map<Socket, Stand>();
    for (const socket of this.open()) {
      if (socket.writableLength === 0 && /* guard: half-closed-bounded */ !socket.readableEnded) continue;
      // Bytes taken by the system. An answer is handed over as a whole.
      const taken = socket.bytesWritten - socket.writableLength;
      const before = this.stands.get(socket);
      const stand = before?.taken === taken ? before : { taken, sinceMs: nowMs };
      if (nowMs - stand.sinceMs < this.timeoutMs) stands.set(socket, stand);
      else {
        this.cut.value += 1;
        // guard: unread-answers-are-cut
        socket.destroy();
      }
    }
    this.stands = stands;
  }
}
