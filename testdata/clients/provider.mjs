// An OpenID provider on loopback, for the tests of OAuth: node provider.mjs, in the folder .tools.
// Clients register themselves. Each person who comes is the user ada, and is asked nothing. It prints
// its issuer, and ends with its standard input.
import {createServer} from 'node:http';
import {generateKeyPairSync} from 'node:crypto';
import Provider from 'oidc-provider';

const key = generateKeyPairSync('ec', {namedCurve: 'P-256'}).privateKey.export({format: 'jwk'});
const server = createServer();
server.listen(0, '127.0.0.1', () => {
	const issuer = `http://127.0.0.1:${server.address().port}`;
	const provider = new Provider(issuer, {
		scopes: ['openid', 'offline_access', 'tools'],
		jwks: {keys: [{...key, use: 'sig', alg: 'ES256', kid: 'test'}]},
		clientDefaults: {id_token_signed_response_alg: 'ES256'},
		findAccount: (ctx, id) => ({accountId: id, claims: () => ({sub: id})}),
		interactions: {url: (ctx, interaction) => `/interaction/${interaction.uid}`},
		extraTokenClaims: (ctx, token) => ({host_user: token.accountId, roles: ['Admin']}),
		features: {
			devInteractions: {enabled: false},
			registration: {enabled: true},
			resourceIndicators: {
				enabled: true,
				getResourceServerInfo: (ctx, resource) => ({
					scope: 'tools', audience: resource, accessTokenTTL: 600, accessTokenFormat: 'jwt', jwt: {sign: {alg: 'ES256'}},
				}),
			},
		},
	});
	const callback = provider.callback();
	const interact = async (request, response) => {
		const {prompt, params, session} = await provider.interactionDetails(request, response);
		if (prompt.name === 'login') {
			return provider.interactionFinished(request, response, {login: {accountId: 'ada'}});
		}
		const grant = new provider.Grant({accountId: session.accountId, clientId: params.client_id});
		grant.addOIDCScope(`openid ${params.scope ?? ''}`);
		grant.addResourceScope(params.resource, 'tools');
		return provider.interactionFinished(request, response, {consent: {grantId: await grant.save()}});
	};
	server.on('request', (request, response) => {
		// A client that asks for no scope gets the default one (RFC 6749, section 3.3).
		if (request.url.startsWith('/auth?') && !/[?&]scope=/.test(request.url)) request.url += '&scope=tools';
		if (request.url.startsWith('/interaction/')) {
			interact(request, response).catch(error => { console.error(error); response.writeHead(500).end(); });
		} else {
			callback(request, response);
		}
	});
	process.stdin.on('close', () => process.exit(0)).resume();
	console.log(issuer);
});
