import { request as plainRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as tlsRequest, type RequestOptions } from 'node:https';

/** What a call over TLS needs beyond what the system has; PEM texts. */
export interface TlsTrust {
  /** Who must have signed the server's certificate; left out, whom the system trusts. */
  readonly ca?: string;
  /** Our own certificate and its key, if the server asks for one. */
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
 * Makes a call and reads its answer whole. Redirects are answers. Node's `fetch` would do, if it could be told of a CA.
 *
 * @throws {Error} nobody answers, the signal aborts, or the server is not whom `tls` trusts
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
