import { Module } from '@nestjs/common';
import { ApiDocument } from './api-document.js';
import { V1OpenApiController } from './openapi.controller.js';

@Module({ controllers: [V1OpenApiController], providers: [ApiDocument] })
export class OpenApiModule {}
