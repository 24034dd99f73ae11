import type { Configuration, IDToken, ServerMetadata, UserInfoResponse } from 'openid-client';
import { isSafeUrl } from '../../config/addresses.js';
import type { OidcConfig } from '../../config/config.js';
import type { Attempt } from './attempt-cookie.js';
import type { ProviderTokens } from './sealed-tokens.js';

/** Limit of one request to the provider, in seconds. */
const TIMEOUT_S = 5;
/** How long the addresses of the provider are kept, in milliseconds. */
const METADATA_MS = 3_600_000;
/** Pause after a discovery that failed, in milliseconds: strangers who begin sign-ins must not make requests at will. */
const RETRY_MS = 2_000;
const REASON = /^\w{1,60}$/;
/** Errors of the provider, or of the configuration, that say nothing about the user. */
const NOT_ABOUT_THE_USER: ReadonlySet<string> = new Set([
  ...['server_error', 'temporarily_unavailable', 'invalid_client', 'unauthorized_client'],
  ...['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_RESPONSE_IS_NOT_CONFORM'],
]);
/** From here on an answer is an error of the server; 429 is one too. */
const [SERVER_ERROR, TOO_MANY] = [500, 429];

type Library = typeof import('openid-client');

/** What the provider says about a user. */
export interface Identity {
  /** Never changes. */
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The result of asking for a user again. */
export interface Refreshed {
  /** To be stored: a provider may have replaced them, also if it did not answer after that. */
  readonly tokens: ProviderTokens;
  /** Null: the provider did not answer. */
  readonly claims: Readonly<Record<string, unknown>> | null;
}

/** The provider did not do what it was asked for. The message has no token, no code and no secret. */
export class ProviderError extends Error {
  /**
   * @param isAway it does not answer, or cannot; false: it refuses, or its answer cannot be trusted
   * @param reason its error code, or that of the network
   */
  constructor(
    readonly isAway: boolean,
    readonly reason: string,
  ) {
    super(`OpenID Connect: ${reason}`);
  }
}

/** A provider of OpenID Connect. The library is loaded at the first sign-in. */
export class OidcProvider {
  private metadata: { readonly found: Promise<ServerMetadata>; readonly untilMs: number } | undefined;

  /**
   * @param secret of the client
   * @param redirectUrl where the provider sends browsers back
   */
  constructor(
    private readonly config: OidcConfig,
    private readonly secret: string,
    private readonly redirectUrl: string,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Where a browser signs in. @throws {ProviderError} */
  async address({ state, nonce, verifier }: Attempt): Promise<URL> {
    return this.withClient(async (library, client) =>
      library.buildAuthorizationUrl(client, {
        redirect_uri: this.redirectUrl,
        scope: this.config.scopes.join(' '),
        code_challenge: await library.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...{ state, nonce },
      }),
    );
  }

  /**
   * Redeems the code that a browser has brought. Checks state, issuer, signature, audience, nonce and time.
   *
   * @param query of the redirect URL, as the browser has sent it
   * @throws {ProviderError}
   */
  async redeem(
    query: string,
    { state, nonce, verifier }: Attempt,
  ): Promise<{ readonly tokens: ProviderTokens; readonly user: Identity }> {
    return this.withClient(async (library, client) => {
      // guard: id-token-signature-is-checked
      library.enableNonRepudiationChecks(client);
      const url = new URL(this.redirectUrl + query);
      const answer = await library.authorizationCodeGrant(client, url, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const { access_token: access, refresh_token: refresh = '' } = answer;
      const own = answer.claims();
      if (own === undefined) throw new ProviderError(false, 'no_id_token');
      const claims = await this.complete(library, client, { subject: own.sub, access, own });
      return { tokens: { access, refresh }, user: { subject: own.sub, claims } };
    });
  }

  /** Asks for the claims of a user again. @throws {ProviderError} */
  async refresh(tokens: ProviderTokens, subject: string): Promise<Refreshed> {
    return this.withClient(async (library, client) => {
      if (tokens.refresh === '')
        return { tokens, claims: await this.userInfo(library, client, subject, tokens.access) };
      const answer = await library.refreshTokenGrant(client, tokens.refresh);
      const own = answer.claims();
      // guard: refreshed-subject-is-the-same
      if (own !== undefined && own.sub !== subject) throw new ProviderError(false, 'another_subject');
      const renewed = {
        access: answer.access_token,
        refresh: answer.refresh_token ?? tokens.refresh,
      };
      if (own?.[this.config.groups_claim] !== undefined) return { tokens: renewed, claims: own };
      try {
        return { tokens: renewed, claims: await this.userInfo(library, client, subject, renewed.access) };
      } catch (error) {
        const known = errorOf(error);
        if (known.isAway) return { tokens: renewed, claims: null };
        throw known;
      }
    });
  }

  /** Claims of the ID token, and those of the userinfo that are missing there. */
  private async complete(
    library: Library,
    client: Configuration,
    { subject, access, own }: { readonly subject: string; readonly access: string; readonly own: IDToken },
  ): Promise<Identity['claims']> {
    const { groups_claim, account_claim } = this.config;
    const isWhole = [groups_claim, account_claim].every((name) => own[name] !== undefined);
    return isWhole ? own : { ...(await this.userInfo(library, client, subject, access)), ...own };
  }

  private async userInfo(
    library: Library,
    client: Configuration,
    subject: string,
    access: string,
  ): Promise<UserInfoResponse> {
    return library.fetchUserInfo(client, access, subject);
  }

  /** Each call has a client of its own: it then fetches the signing keys anew, which may have been rotated. */
  private async withClient<T>(use: (library: Library, client: Configuration) => Promise<T>): Promise<T> {
    try {
      const library = await import('openid-client');
      return await use(library, this.client(library, await this.discover(library)));
    } catch (error) {
      throw errorOf(error);
    }
  }

  private client(library: Library, metadata: ServerMetadata): Configuration {
    const { client_id = '', issuer = '' } = this.config;
    const ways = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const way = ways.includes('client_secret_basic') ? library.ClientSecretBasic : library.ClientSecretPost;
    const client = new library.Configuration(metadata, client_id, undefined, way(this.secret));
    client.timeout = TIMEOUT_S;
    // oxlint-disable-next-line typescript/no-deprecated -- for a provider on this machine
    if (isPlain(issuer)) library.allowInsecureRequests(client);
    return client;
  }

  /** One request for all that ask at the same time. */
  private discover(library: Library): Promise<ServerMetadata> {
    const known = this.metadata;
    if (known !== undefined && this.now() < known.untilMs) return known.found;
    const { issuer = '', client_id = '' } = this.config;
    const options = {
      timeout: TIMEOUT_S,
      // oxlint-disable-next-line typescript/no-deprecated -- as above
      ...(isPlain(issuer) && { execute: [library.allowInsecureRequests] }),
    };
    const found = library
      .discovery(new URL(issuer), client_id, undefined, undefined, options)
      .then((client) => client.serverMetadata());
    this.metadata = { found, untilMs: this.now() + METADATA_MS };
    found.catch(() => {
      this.metadata = { found, untilMs: this.now() + RETRY_MS };
    });
    return found;
  }
}

/** The configuration accepts http only for a loopback address. */
function isPlain(issuer: string): boolean {
  return issuer.startsWith('http:') && isSafeUrl(issuer);
}

/** Errors of the library hold answers and parameters: none of them gets further than this. */
function errorOf(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const { code, error: named, status, cause } = Object(error) as Record<string, unknown>;
  const { code: inner } = Object(cause) as Record<string, unknown>;
  const reasons = [named, code, inner].filter(
    (one): one is string => typeof one === 'string' && REASON.test(one),
  );
  const [reason = 'failed'] = reasons;
  const isOfServer = typeof status === 'number' && (status >= SERVER_ERROR || status === TOO_MANY);
  // `fetch` throws a TypeError without a code of the library if there is no connection.
  const isOfNetwork = error instanceof TypeError && code === undefined;
  const isAway = isOfServer || isOfNetwork || reasons.some((one) => NOT_ABOUT_THE_USER.has(one));
  return new ProviderError(isAway, reason);
}
