import { Controller, Get } from '@nestjs/common';
import { answer } from '../http/answer/answer.js';
import { Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import { Incoming } from '../http/incoming.js';
import { ApiDocument } from './api-document.js';
import { DocsPage, PAGE_HEADERS, type PageFileName } from './docs-page.js';

/** The API document and a page to read it. Both need no token: they contain only public documentation. */
@Controller()
export class V1OpenApiController {
  private readonly page = new DocsPage();

  constructor(private readonly document: ApiDocument) {}

  @Get('v1/openapi.json')
  @Describe({
    id: 'getOpenApiDocument',
    about: 'This document.',
    group: 'About',
    answers: { 200: { about: 'The document.', type: 'application/json' } },
    isOpen: true,
  })
  async openApi(@Incoming() context: RequestContext): Promise<void> {
    context.acquire(false);
    const json = await this.document.json();
    answer(context, 200, json, { headers: ['Cache-Control', 'no-cache'] });
  }

  @Get('docs')
  docs(@Incoming() context: RequestContext): void {
    this.send(context, 'page');
  }

  @Get('docs/page.js')
  script(@Incoming() context: RequestContext): void {
    this.send(context, 'page.js');
  }

  @Get('docs/swagger-ui.css')
  styles(@Incoming() context: RequestContext): void {
    this.send(context, 'swagger-ui.css');
  }

  @Get('docs/swagger-ui-bundle.js')
  bundle(@Incoming() context: RequestContext): void {
    this.send(context, 'swagger-ui-bundle.js');
  }

  private send(context: RequestContext, name: PageFileName): void {
    context.acquire(false);
    const { type, bytes } = this.page.file(name);
    answer(context, 200, bytes, { type, headers: PAGE_HEADERS });
  }
}
