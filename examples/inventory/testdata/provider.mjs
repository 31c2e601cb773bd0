// A real OpenID provider on loopback for the tests: node provider.mjs PATH-OF-OIDC-PROVIDER CLIENTS
//
// CLIENTS is the JSON of an object: ids of clients, and the claims of their access tokens. Each gets tokens
// by its own credentials, its id with "-secret", for whatever resource it asks. The provider prints its issuer
// once it listens. A line of JSON on standard input changes it and is answered with "done": "ttl" is how
// many seconds tokens last, "claims" are those of further tokens, by client. It ends with its standard input.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { default: Provider } = await import(pathToFileURL(process.argv[2]));
const claims = JSON.parse(process.argv[3]);
let ttl = 600;

const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...key, use: 'sig', alg: 'ES256', kid: 'test' }] },
    clients: Object.keys(claims).map((id) => ({
      client_id: id, client_secret: `${id}-secret`, id_token_signed_response_alg: 'ES256', grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
    })),
    extraTokenClaims: (ctx, token) => claims[token.clientId],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (ctx, resource) => ({
          scope: '', audience: resource, accessTokenTTL: ttl, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  server.on('request', provider.callback());
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const change = JSON.parse(line);
      ttl = change.ttl ?? ttl;
      Object.assign(claims, change.claims);
      console.log('done');
    })
    .on('close', () => process.exit(0));
  console.log(issuer);
});
