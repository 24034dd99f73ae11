/**
 * A long poll on a connection of its own, made to be cheap: thousands of them live in one process, so they share one read buffer
 * (an answer is read and done with before the next one comes) and keep nothing while they wait.
 */
import net from 'node:net';

const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);
const HEAD_END = '\r\n\r\n';

export class LongPoll {
  /** What has come of an answer, latin1. */
  #text = '';

  /**
   * @param {number} port
   * @param {string} request
   * @param {(poll: LongPoll, status: number, body: string) => void} onAnswer
   * @param {(error: Error) => void} onFailure a connection that the other side ends, too
   */
  constructor(port, request, onAnswer, onFailure) {
    this.request = request;
    this.onAnswer = onAnswer;
    this.socket = net.connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (bytes) => {
          this.#read(READ_BUFFER.latin1Slice(0, bytes));
          return true;
        },
      },
    });
    this.isClosed = false;
    const failed = (/** @type {Error} */ error) => {
      if (!this.isClosed) onFailure(error);
    };
    this.opened = new Promise((resolve) => this.socket.once('connect', resolve));
    this.socket.on('error', failed);
    this.socket.on('close', () => failed(new Error('the server closed a long poll')));
  }

  call() {
    this.socket.write(this.request, 'latin1');
  }

  close() {
    this.isClosed = true;
    this.socket.destroy();
  }

  /** @param {string} chunk */
  #read(chunk) {
    this.#text += chunk;
    const headEnd = this.#text.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const length = Number(/content-length: *(\d+)/i.exec(this.#text)?.[1] ?? 0);
    const bodyAt = headEnd + HEAD_END.length;
    if (this.#text.length < bodyAt + length) return;
    const answer = this.#text;
    this.#text = '';
    this.onAnswer(this, Number(answer.slice(9, 12)), answer.slice(bodyAt));
  }
}
