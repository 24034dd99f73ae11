import { Controller, Get } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { version } from '../domain/version.js';
import { buildAdminDocument } from './admin-document.js';

/** The document of the admin port, behind its accounts like all of its calls. */
@Controller()
export class AdminOpenApiController {
  private document: object | undefined;

  constructor(private readonly modules: ModulesContainer) {}

  @Get('openapi.json')
  json(): object {
    this.document ??= buildAdminDocument(this.modules, version.number);
    return this.document;
  }
}
