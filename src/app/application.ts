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
  // Nest declares its options as a class by mistake; no instance is ever created.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
  return NestFactory.create<NestFastifyApplication>(module, adapter, { ...OPTIONS, preview });
}
