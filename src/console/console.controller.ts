import { Controller, Get, NotFoundException, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONSOLE_HEADERS, ConsoleFiles } from './console-files.js';

const A_YEAR_S = 31_536_000;

/**
 * The web console below `/ui/`. Its files have no secret, and need no account; its calls do. They are few and have hashed
 * names, so they are served from memory, without a package for it.
 */
@Controller()
export class ConsoleController {
  private readonly files = new ConsoleFiles();

  /** The bare address of the port: a browser goes to the console; a program gets the 404 that it gets from lmstfy. */
  @Get()
  open(@Req() { headers }: FastifyRequest, @Res() reply: FastifyReply): void {
    if (headers.accept?.includes('text/html') !== true) throw new NotFoundException();
    void reply.code(302).header('Location', 'ui/').header('Cache-Control', 'no-cache').send();
  }

  /** The address without its slash. The target is relative, so that it holds below the prefix of a proxy. */
  @Get('ui')
  redirect(@Res() reply: FastifyReply): void {
    void reply.code(308).header('Location', 'ui/').header('Cache-Control', 'no-cache').send();
  }

  @Get('ui/*')
  serve(@Param('*') name: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const file = this.files.file(name);
    void reply.headers(CONSOLE_HEADERS);
    if (file === undefined) {
      const text = this.files.isThere ? '404 page not found' : 'the console was not built: npm run build';
      void reply.code(404).type('text/plain; charset=utf-8').send(text);
      return;
    }
    const cache = file.isHashed ? `public, max-age=${String(A_YEAR_S)}, immutable` : 'no-cache';
    void reply.headers({ 'Cache-Control': cache, ETag: file.etag, Vary: 'Accept-Encoding' });
    if (request.headers['if-none-match'] === file.etag) void reply.code(304).send();
    else if (takesBrotli(request)) {
      void reply.type(file.type).header('Content-Encoding', 'br').send(file.brotli);
    } else void reply.type(file.type).send(file.bytes);
  }
}

function takesBrotli({ headers }: FastifyRequest): boolean {
  return /(?:^|[ ,])br(?:$|[ ,])/.test(headers['accept-encoding'] ?? '');
}
