import { Controller, Get, NotFoundException, Param } from '@nestjs/common';
import { WithHeaders } from '../http/answer/with-headers.js';
import { CurrentRequest } from '../http/request/current-request.js';
import { Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import { ApiDocument } from './api-document.js';
import { DocsPage, PAGE_HEADERS, type PageFile } from './docs-page.js';

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
  async openApi(@CurrentRequest() context: RequestContext): Promise<WithHeaders> {
    context.acquire(false);
    return new WithHeaders(await this.document.json(), ['Cache-Control', 'no-cache']);
  }

  @Get('docs')
  docs(@CurrentRequest() context: RequestContext): WithHeaders {
    return this.send(context, this.page.file('page'));
  }

  @Get('docs/page.js')
  script(@CurrentRequest() context: RequestContext): WithHeaders {
    return this.send(context, this.page.file('page.js'));
  }

  @Get('docs/swagger-ui.css')
  styles(@CurrentRequest() context: RequestContext): WithHeaders {
    return this.send(context, this.page.file('swagger-ui.css'));
  }

  @Get('docs/swagger-ui-bundle.js')
  bundle(@CurrentRequest() context: RequestContext): WithHeaders {
    return this.send(context, this.page.file('swagger-ui-bundle.js'));
  }

  @Get('docs/guides/:name')
  async guide(@CurrentRequest() context: RequestContext, @Param('name') name: string): Promise<WithHeaders> {
    context.acquire(false);
    const file = await this.page.guide(name);
    if (file === undefined) throw new NotFoundException();
    return answerOf(file);
  }

  private send(context: RequestContext, file: PageFile): WithHeaders {
    context.acquire(false);
    return answerOf(file);
  }
}

function answerOf({ type, bytes }: PageFile): WithHeaders {
  return new WithHeaders(bytes, PAGE_HEADERS, { type });
}
