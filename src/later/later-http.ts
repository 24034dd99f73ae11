import type { IncomingMessage, ServerResponse } from 'node:http';
import { posix } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { LOG, type Log } from '../domain/log.js';
import { Drain } from '../http/request/drain.js';
import { hasForeignCoding, hasTwoHosts } from '../http/request/head.js';
import type { FieldsClass, Plain } from '../contract/fields/field.js';
import { readStruct } from './go-json.js';
import { createAnswer, CreateFields, IdFields } from './later-job.js';
import { LaterService } from './later.service.js';

/** An answer. Without a body there is no content type. */
interface Answer {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const BAD: Answer = { status: 400 };
/** The type that Go finds in the first bytes of a JSON text. */
const TEXT = 'text/plain; charset=utf-8';
const NO_SNIFF = { 'X-Content-Type-Options': 'nosniff' };
const NOT_FOUND: Answer = {
  status: 404,
  body: '404 page not found\n',
  headers: NO_SNIFF,
};

/** later's HTTP API, on a port of its own: its paths are at the root, and it knows no tokens. */
@Injectable()
export class LaterHttp {
  private readonly calls: ReadonlyMap<string, (body: Buffer) => Promise<Answer>>;
  /** Bytes of the request bodies in memory. */
  private bodyBytes = 0;

  constructor(
    private readonly config: Config,
    private readonly jobs: LaterService,
    private readonly drain: Drain,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.calls = new Map([
      ['/create', reading(CreateFields, (request) => this.create(request))],
      ['/delete', reading(IdFields, ({ id }) => this.delete(id))],
      ['/query', reading(IdFields, ({ id }) => this.query(id))],
    ]);
  }

  /** Serves a request. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    this.answerOf(request).then(
      (answer) => this.write(request, response, answer),
      (error: unknown) => {
        // The client went away before the end of its request.
        if (request.destroyed && !request.complete) return;
        this.log.warn({ err: error }, 'later: a call failed');
        this.write(request, response, { status: 500 });
      },
    );
  }

  private async answerOf(request: IncomingMessage): Promise<Answer> {
    // There are no tokens: a web page in a browser of this network must not be able to use the API.
    if (request.headers.origin !== undefined) return { status: 403 };
    if (hasForeignCoding(request)) return { status: 501 };
    const target = targetOf(request.url ?? '/');
    if (target === null || hasTwoHosts(request)) return BAD;
    if (target.clean !== target.path) return movedTo(target.clean + target.search, request.method);
    const call = this.calls.get(target.path);
    if (!call) return NOT_FOUND;
    if (request.method !== 'POST') return BAD;
    const body = await this.read(request);
    return Buffer.isBuffer(body) ? call(body) : body;
  }

  private async create(request: CreateFields): Promise<Answer> {
    const created = await this.jobs.create(request);
    // later has no such rules, and no texts for them.
    return 'id' in created
      ? { status: 200, body: createAnswer(created.id) }
      : { status: 400, body: `${created.rule}\n`, headers: NO_SNIFF };
  }

  private async delete(id: string): Promise<Answer> {
    if (id === '') return BAD;
    await this.jobs.delete(id);
    return { status: 200 };
  }

  private async query(id: string): Promise<Answer> {
    if (id === '') return BAD;
    const body = await this.jobs.query(id);
    return body === null ? { status: 404 } : { status: 200, body };
  }

  /** @returns the body, or the answer of a request whose body is too much */
  private async read(request: IncomingMessage): Promise<Buffer | Answer> {
    const { limits, server } = this.config;
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        this.bodyBytes += chunk.length;
        if (bytes > limits.max_body_bytes) return { status: 413 };
        if (this.bodyBytes > server.max_body_bytes_in_flight) return { status: 503 };
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    } finally {
      this.bodyBytes -= bytes;
    }
  }

  private write(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    const { status, body = '', headers } = answer;
    // The rest of a body that is not read would be taken for the next request's.
    if (this.drain.announced || !request.complete) response.shouldKeepAlive = false;
    response.writeHead(status, {
      ...(body === '' ? {} : { 'Content-Type': TEXT }),
      ...headers,
      'Content-Length': String(Buffer.byteLength(body)),
    });
    response.end(body);
  }
}

function reading<T extends object>(
  of: FieldsClass<T>,
  call: (fields: Plain<T>) => Promise<Answer>,
): (body: Buffer) => Promise<Answer> {
  return (body) => {
    const fields = readStruct(body, of);
    return fields === null ? Promise.resolve(BAD) : call(fields);
  };
}

interface RequestTarget {
  /** Decoded. */
  readonly path: string;
  /** Without empty and dotted parts. */
  readonly clean: string;
  /** With its question mark; empty if there is none. */
  readonly search: string;
}

/** @returns null if an escape in it is broken */
function targetOf(url: string): RequestTarget | null {
  const [, raw = '', search = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)(.*)$/s.exec(url) ?? [];
  try {
    const path = decodeURIComponent(raw === '' ? '/' : raw);
    return { path, clean: path.startsWith('/') ? posix.normalize(path) : `/${path}`, search };
  } catch {
    return null;
  }
}

/** Go's router leads to the clean path. */
function movedTo(location: string, method: string | undefined): Answer {
  const headers = { Location: encodeURI(location) };
  if (method !== 'GET' && method !== 'HEAD') return { status: 301, headers };
  const body = method === 'GET' ? `<a href="${encodeURI(location)}">Moved Permanently</a>.\n\n` : '';
  return { status: 301, body, headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' } };
}
