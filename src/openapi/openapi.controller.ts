import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answer } from '../http/answer.js';
import { expectNoBody } from '../http/body.js';
import { Describe } from '../http/describe.js';
import { exchangeOf } from '../http/exchange-of.js';
import { ApiDocument } from './api-document.js';
import { DocsPage, PAGE_HEADERS, type PageFileName } from './docs-page.js';

/** The API's document, and a page to read it. Both are open: they hold nothing but what the documentation says. */
@Controller()
export class V1OpenApiController {
  private readonly page = new DocsPage();

  constructor(@Inject(ApiDocument) private readonly document: ApiDocument) {}

  @Get('v1/openapi.json')
  @Describe({
    about: 'This document.',
    group: 'About',
    answers: { 200: { about: 'The document.', type: 'application/json' } },
    isOpen: true,
  })
  async openApi(@Req() request: FastifyRequest, @Res() response: FastifyReply): Promise<void> {
    const exchange = exchangeOf(request, response);
    exchange.context.gate?.enter(exchange, false);
    expectNoBody(request.raw);
    const json = await this.document.json();
    answer(exchange, 200, json, { headers: ['Cache-Control', 'no-cache'] });
  }

  @Get('docs')
  docs(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.send(request, response, 'page');
  }

  @Get('docs/page.js')
  script(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.send(request, response, 'page.js');
  }

  @Get('docs/swagger-ui.css')
  styles(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.send(request, response, 'swagger-ui.css');
  }

  @Get('docs/swagger-ui-bundle.js')
  bundle(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.send(request, response, 'swagger-ui-bundle.js');
  }

  private send(request: FastifyRequest, response: FastifyReply, name: PageFileName): void {
    const exchange = exchangeOf(request, response);
    exchange.context.gate?.enter(exchange, false);
    expectNoBody(request.raw);
    const { type, latin1 } = this.page.file(name);
    answer(exchange, 200, latin1, { type, headers: PAGE_HEADERS });
  }
}
