// A real OpenID provider on loopback for the tests: node provider.mjs PATH-OF-OIDC-PROVIDER
//
// It prints its issuer once it listens. Its client "agent" gets access tokens by its own credentials: a
// JWT for a resource that ends in an algorithm, an opaque one for a resource that ends in "opaque".
// Its client "server" may ask about tokens. Each line on standard input that says "rotate" replaces
// the keys, which is told by a line "rotated". It ends with its standard input.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { default: Provider } = await import(pathToFileURL(process.argv[2]));

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
  let callback;
  const renew = () => {
    callback = new Provider(issuer, {
      jwks: { keys: keys() },
      clients: [
        { client_id: 'agent', client_secret: 'agent-secret', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
        { client_id: 'server', client_secret: 'server secret/+', grant_types: [], redirect_uris: [], response_types: [] },
        { client_id: 'poster', client_secret: 'poster-secret', token_endpoint_auth_method: 'client_secret_post', grant_types: [], redirect_uris: [], response_types: [] },
      ],
      scopes: ['dns:read', 'devices:write'],
      clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
      extraTokenClaims: () => ({ sub_type: 'machine', realm: { roles: ['operator', 'unknown'] }, host_user: 'agent7', orgs: [{ name: 'acme', standing: 'lead' }] }),
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
    }).callback();
  };
  renew();
  server.on('request', (request, response) => callback(request, response));
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
