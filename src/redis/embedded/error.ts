/** The embedded Redis cannot start, or cannot stop. The message says what to do; it holds no secret. */
export class EmbeddedRedisError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
