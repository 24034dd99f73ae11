/** Size of the table of leases; if two leases share an index, the newer one is kept. A power of two. */
const PLACES = 65_536;
/** Number of characters from `0` to `Z`: the base of a number computed from characters. */
const LETTERS = 43;

/**
 * Remembers when leases of this process began, to report how long they ran, and of which queues they are. It is on the path of every job: a table of
 * fixed size, no allocation, no loop. Leases that are overwritten, or end in another process, are not reported.
 */
export class LeaseDurations {
  private readonly idHashes = new Int32Array(PLACES);
  /** For each lease: when it began, when it expires, and when its job was published. */
  private readonly times = new Float64Array(3 * PLACES);
  /** For each lease 1 if its queue is an extended one. */
  private readonly extended = new Uint8Array(PLACES);

  /**
   * A lease begins. @param endsMs when it expires @param elapsedMs time since its job was published; all times from one
   * clock @param isExtended its queue is an extended one
   */
  begin(id: string, nowMs: number, endsMs: number, elapsedMs: number, isExtended: boolean): void {
    const place = placeOf(id);
    this.idHashes[place] = markOf(id);
    this.extended[place] = isExtended ? 1 : 0;
    this.times[3 * place] = nowMs;
    this.times[3 * place + 1] = endsMs;
    this.times[3 * place + 2] = nowMs - elapsedMs;
  }

  /** Age of a job whose lease has not ended here; null if unknown. */
  ageMs(id: string, nowMs: number): number | null {
    const place = placeOf(id);
    if (this.idHashes[place] !== markOf(id)) return null;
    return Math.max(nowMs - (this.times[3 * place + 2] ?? 0), 0);
  }

  /** Whether a job was leased from an extended queue; false if unknown. Only a hint: two ids may have one mark. */
  isExtended(id: string): boolean {
    const place = placeOf(id);
    return this.extended[place] === 1 && this.idHashes[place] === markOf(id);
  }

  /**
   * A lease ends. @returns how long it ran, in milliseconds; -1 if unknown, or if it had expired and another worker may
   * have leased the job
   */
  end(id: string, nowMs: number): number {
    const place = placeOf(id);
    if (this.idHashes[place] !== markOf(id)) return -1;
    this.idHashes[place] = 0;
    const beganMs = this.times[3 * place] ?? 0;
    return /* guard: expired-run-is-not-counted */ nowMs > (this.times[3 * place + 1] ?? 0)
      ? -1
      : Math.max(nowMs - beganMs, 0);
  }
}

/** Index by the last characters of an id: ids that were minted one after the other are neighbours. */
function placeOf(id: string): number {
  const end = id.length;
  const [last, middle, first] = [id.charCodeAt(end - 1), id.charCodeAt(end - 2), id.charCodeAt(end - 3)];
  return (last + LETTERS * (middle + LETTERS * first)) & (PLACES - 1);
}

/** Identifies an id at its index by the six characters before. Never 0, which marks an empty entry. */
function markOf(id: string): number {
  const end = id.length;
  return (
    (id.charCodeAt(end - 4) ^
      (id.charCodeAt(end - 5) << 5) ^
      (id.charCodeAt(end - 6) << 10) ^
      (id.charCodeAt(end - 7) << 15) ^
      (id.charCodeAt(end - 8) << 20) ^
      (id.charCodeAt(end - 9) << 25)) |
    1
  );
}
