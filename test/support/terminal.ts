import { Writable } from 'node:stream';

/** A terminal that keeps what is written to it. */
export class TestTerminal extends Writable {
  readonly isTTY = true;
  readonly columns = 80;
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }

  /** The progress bars that were drawn, in order. */
  get bars(): string[] {
    return [...this.text.matchAll(/\[[=-]+\] \d+\/\d+/g)].map(([bar]) => bar);
  }
}
