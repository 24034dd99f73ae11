import { request as plainRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as tlsRequest, type RequestOptions } from 'node:https';

/** TLS settings of a call besides the system's; PEM texts. */
export interface TlsTrust {
  /** CA of the server's certificate; left out, the CAs that the system trusts. */
  readonly ca?: string;
  /** Client certificate and its key, if the server asks for one. */
  readonly cert?: string;
  readonly key?: string;
}

/** One HTTP call. */
export interface HttpCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly tls?: TlsTrust;
  readonly signal: AbortSignal;
}

/**
 * Makes a call and reads the whole answer. Does not follow redirects. Node's `fetch` cannot be given a CA.
 *
 * @throws {Error} the server does not answer, the signal aborts, or the server's certificate is not trusted by `tls`
 */
export function httpCall({
  method,
  url,
  headers,
  body,
  tls,
  signal,
}: HttpCall): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { method, headers, signal, ...tls };
    const take = (response: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    };
    const request: ClientRequest = (url.protocol === 'https:' ? tlsRequest : plainRequest)(
      url,
      options,
      take,
    );
    request.once('error', reject);
    request.end(body);
  });
}
