/**
 * One keep-alive HTTP/1.1 connection with one request under way at a time. It does no more than a load generator needs, since it
 * shares the machine with what is measured: ready-made request bytes in, status and (if asked for) body out.
 */
import net from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const READ_BYTES = 64 * 1024;

export class Connection {
  /** @type {(status: number, body: string) => void} */
  #answered = () => undefined;
  /** @type {(error: Error) => void} */
  #failed = () => undefined;
  /** Bytes of a head that came in parts. @type {Buffer | null} */
  #partial = null;
  #bodyLeft = 0;
  /** What has come of a chunked body and is not yet read; null for a body of known length. @type {Buffer | null} */
  #chunks = null;
  #status = 0;
  #wantsBody = false;
  #body = '';

  /**
   * @param {string} host
   * @param {number} port
   */
  constructor(host, port) {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    this.socket = net.connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer,
        callback: (bytes) => {
          this.#read(buffer.subarray(0, bytes));
          return true;
        },
      },
    });
    this.opened = new Promise((resolve, reject) => {
      this.socket.once('connect', resolve);
      this.socket.once('error', reject);
    });
    this.socket.on('error', (error) => this.#failed(error));
    this.socket.on('close', () => this.#failed(new Error('the server closed a connection')));
  }

  /**
   * Sends one request; the answer goes to `answered`, a broken connection to `failed`.
   *
   * @param {string | Buffer} request
   * @param {boolean} wantsBody
   * @param {(status: number, body: string) => void} answered
   * @param {(error: Error) => void} failed
   */
  send(request, wantsBody, answered, failed) {
    this.#wantsBody = wantsBody;
    this.#answered = answered;
    this.#failed = failed;
    this.socket.write(request, 'latin1');
  }

  close() {
    this.#failed = () => undefined;
    this.socket.destroy();
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    if (this.#chunks) {
      this.#readChunks(Buffer.concat([this.#chunks, chunk]));
      return;
    }
    if (this.#bodyLeft > 0) {
      this.#readBody(chunk);
      return;
    }
    const bytes = this.#partial ? Buffer.concat([this.#partial, chunk]) : chunk;
    const end = bytes.indexOf(HEAD_END);
    if (end < 0) {
      this.#partial = Buffer.from(bytes);
      return;
    }
    this.#partial = null;
    const head = bytes.latin1Slice(0, end);
    this.#status = Number(head.slice(9, 12));
    this.#body = '';
    const rest = bytes.subarray(end + HEAD_END.length);
    if (/transfer-encoding: *chunked/i.test(head)) {
      this.#readChunks(Buffer.from(rest));
      return;
    }
    this.#bodyLeft = lengthOf(head, this.#status);
    this.#readBody(rest);
  }

  /** Servers in Go send longer answers so. Trailers are not understood. @param {Buffer} bytes */
  #readChunks(bytes) {
    let at = 0;
    for (;;) {
      const lineEnd = bytes.indexOf('\r\n', at);
      if (lineEnd < 0) break;
      const size = parseInt(bytes.latin1Slice(at, lineEnd), 16);
      if (Number.isNaN(size)) throw new Error('a chunk without a size');
      const next = lineEnd + 2 + size + 2;
      if (bytes.length < next) break;
      if (size === 0) {
        this.#chunks = null;
        this.#answered(this.#status, this.#body);
        return;
      }
      if (this.#wantsBody) this.#body += bytes.latin1Slice(lineEnd + 2, lineEnd + 2 + size);
      at = next;
    }
    this.#chunks = bytes.subarray(at);
  }

  /** @param {Buffer} part */
  #readBody(part) {
    if (this.#wantsBody) this.#body += part.latin1Slice(0, part.length);
    this.#bodyLeft -= part.length;
    if (this.#bodyLeft < 0) throw new Error('the server sent more than one answer');
    if (this.#bodyLeft === 0) this.#answered(this.#status, this.#body);
  }
}

/**
 * @param {string} head
 * @param {number} status
 */
function lengthOf(head, status) {
  const found = /content-length: *(\d+)/i.exec(head);
  if (found) return Number(found[1]);
  if (status === 204 || status === 304) return 0;
  throw new Error(`an answer without Content-Length: ${head}`);
}

/**
 * The bytes of a request.
 *
 * @param {string} method
 * @param {string} path
 * @param {string} token
 * @param {string} [body] latin1; left out for methods without one
 * @param {string} [type] of the body
 * @param {string} [header] one more, as a line without its end
 */
export function requestBytes(method, path, token, body, type, header) {
  const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`;
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: bench\r\nX-Token: ${token}\r\n${typed}${header ? `${header}\r\n` : ''}${length}\r\n${body ?? ''}`;
}
