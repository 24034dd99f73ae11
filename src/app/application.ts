import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';

/** No log of Nest's own, no body parsing by Nest; errors at the start are reported by the caller. */
const OPTIONS = { logger: false, bodyParser: false, abortOnError: false } as const;

/**
 * Creates a Nest application of this server.
 *
 * @param preview create no provider
 * @throws {Error} a provider cannot be created: a pool is unsuitable or unreachable
 */
export function createApplication(
  module: DynamicModule,
  adapter: FastifyAdapter,
  preview = false,
): Promise<NestFastifyApplication> {
  return NestFactory.create<NestFastifyApplication>(module, adapter, { ...OPTIONS, preview });
}
