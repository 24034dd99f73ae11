import { Controller, Get, Inject } from '@nestjs/common';
import { answer } from '../http/answer.js';
import { Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { Incoming } from '../http/incoming.js';
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
  async openApi(@Incoming() exchange: Exchange): Promise<void> {
    exchange.context.gate?.enter(exchange, false);
    const json = await this.document.json();
    answer(exchange, 200, json, { headers: ['Cache-Control', 'no-cache'] });
  }

  @Get('docs')
  docs(@Incoming() exchange: Exchange): void {
    this.send(exchange, 'page');
  }

  @Get('docs/page.js')
  script(@Incoming() exchange: Exchange): void {
    this.send(exchange, 'page.js');
  }

  @Get('docs/swagger-ui.css')
  styles(@Incoming() exchange: Exchange): void {
    this.send(exchange, 'swagger-ui.css');
  }

  @Get('docs/swagger-ui-bundle.js')
  bundle(@Incoming() exchange: Exchange): void {
    this.send(exchange, 'swagger-ui-bundle.js');
  }

  private send(exchange: Exchange, name: PageFileName): void {
    exchange.context.gate?.enter(exchange, false);
    const { type, latin1 } = this.page.file(name);
    answer(exchange, 200, latin1, { type, headers: PAGE_HEADERS });
  }
}
