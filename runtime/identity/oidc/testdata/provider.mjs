// A real OpenID provider on loopback for the tests: node provider.mjs PATH-OF-OIDC-PROVIDER JWK
//
// It prints its issuer once it listens. Its client "agent" gets access tokens by its own credentials: a
// JWT for a resource that ends in an algorithm, an opaque one for a resource that ends in "opaque".
// A person who comes by it is whoever login_hint names, without being asked anything; the address of "eve"
// is not verified. Its client "server" may ask about tokens. Its clients "exchanger" and "signer", which has the
// key JWK, exchange opaque tokens of people for the audience "https://api.example" (RFC 8693). Each line on standard input that says "rotate" replaces
// the keys, which is told by a line "rotated". It ends with its standard input.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { default: Provider } = await import(pathToFileURL(process.argv[2]));

const accessToken = 'urn:ietf:params:oauth:token-type:access_token';
const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

let generation = 0;
function keys() {
  generation++;
  return [
    ['RS256', 'rsa', { modulusLength: 2048 }],
    ['PS256', 'rsa', { modulusLength: 2048 }],
    ['ES256', 'ec', { namedCurve: 'P-256' }],
    ['EdDSA', 'ed25519', {}],
  ].map(([alg, type, options]) => ({
    ...generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' }),
    use: 'sig', alg, kid: `${alg}-${generation}`,
  }));
}

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  let provider;
  let callback;
  const renew = () => {
    provider = new Provider(issuer, {
      jwks: { keys: keys() },
      clients: [
        { client_id: 'agent', client_secret: 'agent-secret', grant_types: ['client_credentials', 'authorization_code'], redirect_uris: ['https://client.example/cb'], response_types: ['code'] },
        { client_id: 'server', client_secret: 'server secret/+', grant_types: [], redirect_uris: [], response_types: [] },
        { client_id: 'exchanger', client_secret: 'exchanger secret/+', grant_types: [exchange], redirect_uris: [], response_types: [] },
        { client_id: 'signer', token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [JSON.parse(process.argv[3])] }, grant_types: [exchange], redirect_uris: [], response_types: [] },
        { client_id: 'poster', client_secret: 'poster-secret', token_endpoint_auth_method: 'client_secret_post', grant_types: [], redirect_uris: [], response_types: [] },
      ],
      scopes: ['dns:read', 'devices:write'],
      clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
      extraTokenClaims: (ctx, token) => (token.accountId ? { email: `${token.accountId}@corp.example`, email_verified: token.accountId !== 'eve' } : { sub_type: 'machine', realm: { roles: ['operator', 'unknown'] }, host_user: 'agent7', orgs: [{ name: 'acme', standing: 'lead' }] }),
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        revocation: { enabled: true },
        introspection: { enabled: true, allowedPolicy: (ctx, client) => client.clientId !== 'agent' },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (ctx, resource) => {
            const format = resource.split('/').pop();
            return {
              scope: 'dns:read devices:write', audience: resource, accessTokenTTL: 600,
              ...(format === 'opaque' ? { accessTokenFormat: 'opaque' } : { accessTokenFormat: 'jwt', jwt: { sign: { alg: format } } }),
            };
          },
        },
      },
    });
    // The provider authenticates the client. What RFC 8693 asks of the rest stands here.
    provider.registerGrantType(exchange, async (ctx) => {
      const { params, client } = ctx.oidc;
      const refuse = (error) => { ctx.status = 400; ctx.body = { error, error_description: `refused: ${params.subject_token}` }; };
      if (params.subject_token_type !== accessToken || params.requested_token_type !== accessToken) return refuse('invalid_request');
      if (params.audience !== 'https://api.example') return refuse('invalid_target');
      const subject = await provider.AccessToken.find(params.subject_token);
      if (!subject || !subject.isValid) return refuse('invalid_grant');
      const token = new provider.AccessToken({
        accountId: subject.accountId, client, gty: 'token_exchange',
        scope: params.scope, aud: params.audience, expiresIn: 300,
      });
      ctx.body = { access_token: await token.save(), issued_token_type: accessToken, token_type: 'Bearer', expires_in: token.expiration, scope: params.scope };
    }, ['subject_token', 'subject_token_type', 'requested_token_type', 'audience', 'scope'], []);
    callback = provider.callback();
  };
  renew();
  // What a person would do in the pages of a provider: log in, and consent to all that is asked for.
  const interact = async (request, response) => {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (prompt.name === 'login') {
      return provider.interactionFinished(request, response, { login: { accountId: params.login_hint } });
    }
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    grant.addResourceScope(params.resource, 'dns:read devices:write');
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  };
  server.on('request', (request, response) => {
    if (request.url.startsWith('/interaction/')) {
      interact(request, response).catch((error) => { console.error(error); response.writeHead(500).end(); });
    } else {
      callback(request, response);
    }
  });
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      if (line === 'rotate') {
        renew();
        console.log('rotated');
      }
    })
    .on('close', () => process.exit(0));
  console.log(issuer);
});
