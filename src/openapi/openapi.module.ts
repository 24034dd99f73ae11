import { type DynamicModule, Module } from '@nestjs/common';
import { ApiDocument } from './api-document.js';
import { AdminOpenApiController } from './admin-openapi.controller.js';
import { V1OpenApiController } from './openapi.controller.js';

@Module({})
export class OpenApiModule {
  /** @param build makes the document if there is no build of this server */
  static forRoot(build: () => Promise<object>): DynamicModule {
    return {
      module: OpenApiModule,
      controllers: [V1OpenApiController],
      providers: [{ provide: ApiDocument, useFactory: () => new ApiDocument(build) }],
    };
  }

  /** The document of the admin port. */
  static forAdmin(): DynamicModule {
    return { module: OpenApiModule, controllers: [AdminOpenApiController] };
  }
}
