/** Leases that are remembered; of two that fall on one place, the newer one. A power of two. */
const PLACES = 65_536;
/** How many letters there are from `0` to `Z`: the weight of a character in a number made of some. */
const LETTERS = 43;

/**
 * Remembers when leases of this process began, to tell how long they ran. It is on the path of every job: a table of fixed size, nothing
 * allocated, no loop. What is overwritten, or ends elsewhere, is not told.
 */
export class RunClock {
  private readonly marks = new Int32Array(PLACES);
  /** When each began, and when it runs out. */
  private readonly times = new Float64Array(2 * PLACES);

  /** A lease begins. @param endsMs when it runs out; times by one clock */
  begin(id: string, nowMs: number, endsMs: number): void {
    const place = placeOf(id);
    this.marks[place] = markOf(id);
    this.times[2 * place] = nowMs;
    this.times[2 * place + 1] = endsMs;
  }

  /** It is over. @returns how long it ran, in milliseconds; -1 if that is not known, or it had run out and may be another's by now */
  end(id: string, nowMs: number): number {
    const place = placeOf(id);
    if (this.marks[place] !== markOf(id)) return -1;
    this.marks[place] = 0;
    const beganMs = this.times[2 * place] ?? 0;
    return nowMs > (this.times[2 * place + 1] ?? 0) ? -1 : Math.max(nowMs - beganMs, 0);
  }
}

/** By the last characters of an id: ids that were minted one after the other stand side by side. */
function placeOf(id: string): number {
  const end = id.length;
  const [last, middle, first] = [id.charCodeAt(end - 1), id.charCodeAt(end - 2), id.charCodeAt(end - 3)];
  return (last + LETTERS * (middle + LETTERS * first)) & (PLACES - 1);
}

/** What an id is known by in its place: the six characters before. Never 0, which marks an empty one. */
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
