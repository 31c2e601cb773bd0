// Drives servers with one JavaScript client: CLIENT ENDPOINTS, in the folder of the packages. It writes
// a JSON object: the protocol version, and what came of each feature, which is "works", "none" if the
// client has no such feature, or an error.
const [name, text] = process.argv.slice(-2);
const at = JSON.parse(text); // conformance, a URL or a command; the URLs team and inventory; and results by URL
const wait = 5000;

const sdk = part => import(`@modelcontextprotocol/sdk/${part}.js`);

// notices keeps the notifications of a session, by method.
class Notices {
	#waiting = {};
	#seen = {};
	add(method, params) {
		(this.#seen[method] ??= []).push(params);
		this.#waiting[method]?.();
	}
	all(method) { return this.#seen[method] ?? []; }
	async next(method, wait = 5000) {
		if (!this.#seen[method]) await new Promise((resolve, reject) => {
			this.#waiting[method] = resolve;
			setTimeout(() => reject(new Error(`no ${method}`)), wait).unref();
		});
	}
}

const watched = ['notifications/tools/list_changed', 'notifications/message', 'notifications/resources/updated'];

// answer is what the person at the client enters into a form.
const answer = request => ({action: 'accept', content: Object.fromEntries(
	Object.keys(request.params.requestedSchema.properties).map(key => [key, key === 'color' ? 'blue' : 'Ada']))});

// Each client has a func that connects to a URL, with the funcs of the features that it has.
const clients = {
	async 'sdk-1'(url, {headers, authProvider}) {
		const {Client} = await sdk('client/index');
		const {StreamableHTTPClientTransport} = await sdk('client/streamableHttp');
		const types = await sdk('types');
		const {StdioClientTransport} = await sdk('client/stdio');
		const transport = Array.isArray(url) ? new StdioClientTransport({command: url[0], args: url.slice(1), stderr: 'ignore'})
			: new StreamableHTTPClientTransport(new URL(url), {requestInit: {headers}, authProvider});
		const client = new Client({name: 'clients', version: '1'}, {capabilities: {elicitation: {}}});
		const notices = new Notices();
		for (const schema of [types.ToolListChangedNotificationSchema, types.LoggingMessageNotificationSchema, types.ResourceUpdatedNotificationSchema]) {
			client.setNotificationHandler(schema, note => notices.add(note.method, note.params));
		}
		client.setRequestHandler(types.ElicitRequestSchema, answer);
		let version;
		const set = transport.setProtocolVersion?.bind(transport);
		transport.setProtocolVersion = v => { version = v; set?.(v); };
		return {
			notices, transport, connect: () => client.connect(transport), close: () => client.close(), version: () => version,
			capabilities: () => client.getServerCapabilities(),
			tools: async () => (await client.listTools()).tools,
			call: (name, args, options) => client.callTool({name, arguments: args}, undefined, options),
			progress: true, cancel: true, elicit: true,
			listen: async () => {},
			log: () => client.setLoggingLevel('debug'),
			subscribe: uri => client.subscribeResource({uri}),
			complete: params => client.complete(params),
		};
	},
	async 'sdk-2'(url, options) { return this.second(url, options, 'legacy'); },
	async 'sdk-2-modern'(url, options) { return this.second(url, options, 'auto'); },
	async second(url, {headers, authProvider}, mode) {
		const {Client, StreamableHTTPClientTransport} = await import('@modelcontextprotocol/client');
		const {StdioClientTransport} = await import('@modelcontextprotocol/client/stdio');
		const transport = Array.isArray(url) ? new StdioClientTransport({command: url[0], args: url.slice(1), stderr: 'ignore'})
			: new StreamableHTTPClientTransport(new URL(url), {requestInit: {headers}, authProvider});
		const client = new Client({name: 'clients', version: '1'}, {capabilities: {elicitation: {form: {}}}, versionNegotiation: {mode}});
		const notices = new Notices();
		for (const method of watched) client.setNotificationHandler(method, note => notices.add(method, note.params));
		client.setRequestHandler('elicitation/create', answer);
		const modern = mode === 'auto';
		let meta;
		return {
			notices, transport, connect: () => client.connect(transport), close: () => client.close(),
			version: () => client.getNegotiatedProtocolVersion(), capabilities: () => client.getServerCapabilities(),
			tools: async () => (await client.listTools({}, {cacheMode: 'bypass'})).tools,
			call: (name, args, options) => client.callTool({name, arguments: args, ...meta}, options),
			progress: true, cancel: true, elicit: true,
			listen: async () => { if (modern) await client.listen({toolsListChanged: true}); },
			// In 2026-07-28 each request has the level of its messages.
			log: () => modern ? meta = {_meta: {'io.modelcontextprotocol/logLevel': 'debug'}} : client.setLoggingLevel('debug'),
			subscribe: uri => modern ? client.listen({resourceSubscriptions: [uri]}) : client.subscribeResource({uri}),
			complete: params => client.complete(params),
			task: modern && !Array.isArray(url) ? (...call) => callTask(client, url, headers, ...call) : undefined,
		};
	},
	async 'ai-sdk'(url, {headers, authProvider}) {
		const {createMCPClient, ElicitationRequestSchema} = await import('@ai-sdk/mcp');
		let client;
		return {
			async connect() {
				client = await createMCPClient({transport: {type: 'http', url, headers, authProvider}, capabilities: {elicitation: {}}});
				client.onElicitationRequest(ElicitationRequestSchema, answer);
			},
			close: () => client.close(), version: () => client.initializeResult.protocolVersion,
			capabilities: () => client.initializeResult.capabilities,
			tools: async () => (await client.listTools()).tools,
			call: (name, args, options = {}) => client.callTool({name, arguments: args, options}),
			cancel: true, elicit: true,
			complete: params => client.complete(params),
		};
	},
	async agents(url, {headers, authProvider}) {
		const {MCPServerStreamableHttp} = await import('@openai/agents');
		let version;
		const server = new MCPServerStreamableHttp({url, requestInit: {headers}, authProvider, fetch: (url, init) => {
			version = new Headers(init?.headers).get('mcp-protocol-version') ?? version;
			return fetch(url, init);
		}});
		return {
			connect: () => server.connect(), close: () => server.close(), version: () => version,
			tools: () => server.listTools(),
			call: (name, args, options) => server.callToolResult(name, args, null, options),
			cancel: true,
		};
	},
};

// callTask calls a tool with ext-tasks, whose requests of 2026-07-28 need a func that sends them.
async function callTask(client, url, headers, tool, args, onInputRequest, onStatus) {
	const {createTaskSessionFromClient} = await import('@modelcontextprotocol/ext-tasks/client');
	const protocolVersion = client.getNegotiatedProtocolVersion();
	let last = 0;
	const rawDispatch = async ({method, params}, {signal} = {}) => {
		const id = `task-${++last}`;
		const response = await fetch(url, {method: 'POST', signal, body: JSON.stringify({jsonrpc: '2.0', id, method, params}), headers: {
			...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': protocolVersion,
			'mcp-method': method, 'mcp-name': params.name ?? params.taskId}});
		const text = await response.text();
		const messages = response.headers.get('content-type').startsWith('text/event-stream')
			? [...text.matchAll(/^data: ?(.+)$/gm)].map(line => JSON.parse(line[1])) : [JSON.parse(text)];
		const {result, error} = messages.find(message => message.id === id);
		return error ? {kind: 'error', error} : {kind: 'result', result};
	};
	const tasks = createTaskSessionFromClient(client, {endpointId: 'clients', rawDispatch, onInputRequest, v2RequestFraming: {
		protocolVersion, clientInfo: {name: 'clients', version: '1'}, clientCapabilities: {elicitation: {form: {}}}}});
	try {
		const execution = await tasks.callTool(tool, args);
		const {outcome} = await execution.settle({onEvent: event => { if (event.type === 'task') onStatus(event.task.status); }});
		return {kind: execution.kind, outcome};
	} finally {
		await tasks.close();
	}
}

// Person is an OAuthClientProvider whose user signs in without a browser.
class Person {
	redirectUrl = 'http://127.0.0.1:9/callback';
	clientMetadata = {client_name: 'clients', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none',
		grant_types: ['authorization_code'], response_types: ['code']};
	clientInformation() { return this.client; }
	saveClientInformation(client) { this.client = client; }
	tokens() { return this.saved; }
	saveTokens(tokens) { this.saved = tokens; }
	codeVerifier() { return this.verifier; }
	saveCodeVerifier(verifier) { this.verifier = verifier; }
	redirectToAuthorization(url) { this.url = url; }
	// signIn follows the pages of the provider to the client's own address.
	async signIn() {
		const cookies = {};
		for (let url = new URL(this.url); ; ) {
			const response = await fetch(url, {redirect: 'manual', headers: {cookie: Object.entries(cookies).map(pair => pair.join('=')).join('; ')}});
			for (const cookie of response.headers.getSetCookie()) {
				const [pair] = cookie.split(';');
				cookies[pair.slice(0, pair.indexOf('='))] = pair.slice(pair.indexOf('=') + 1);
			}
			const to = response.headers.get('location');
			console.error(response.status, to);
			if (!to) throw new Error(`${response.status} ${await response.text()}`);
			url = new URL(to, url);
			if (url.href.startsWith(this.redirectUrl)) return url.searchParams;
		}
	}
}

const none = Symbol('none');

async function session(url, options, use) {
	const s = await clients[name](url, options);
	await s.connect();
	try {
		return await use(s);
	} finally {
		await s.close().catch(() => {});
	}
}
const bearer = user => ({headers: {Authorization: `Bearer demo-${user}`}});
const outcome = promise => promise.then(
	result => result.isError ? `result: ${result.content[0].text}` : 'success', error => `error: ${error.message}`);
function check(ok, found) { if (!ok) throw new Error(typeof found === 'string' ? found : JSON.stringify(found)); }

// callsAll lists and calls the tools with some results. Their values are those of results_test.go.
async function callsAll(some) {
	for (const [url, results] of Object.entries(at.results)) await session(url, {}, async s => {
		const listed = (await s.tools()).map(tool => tool.name);
		for (const result of results.filter(some)) {
			check(listed.includes(result.Tool), `${result.Tool} is not among ${listed}`);
			const content = s.version() === '2026-07-28' ? result.Content : result.InSession;
			const got = await s.call(result.Tool, {});
			const text = got.content[0].text;
			if (content) check(!got.isError && JSON.stringify(got.structuredContent) === content && text === (result.Text || content), {[result.Tool]: got});
			else check(got.isError && text.startsWith(`tool ${result.Tool} returned a nil result`), {[result.Tool]: got});
		}
	});
}

let version;
const features = {
	list: s => s.tools().then(tools => {
		version = s.version();
		check(tools.some(tool => tool.name === 'test_simple_text'), 'test_simple_text is not listed');
	}),
	call: s => s.call('test_simple_text', {}).then(res => check(res.content[0].text.startsWith('This is a simple text'), res)),
	results: () => callsAll(result => result.Content !== 'null'),
	null: () => callsAll(result => result.Content === 'null'),
	// A hidden tool and an unknown one have the same outcome.
	denied: () => session(at.team, bearer('vera'), async s => {
		const [hidden, unknown] = [await outcome(s.call('promote_to_manager', {id: 1})), await outcome(s.call('no_such_tool_now', {id: 1}))];
		check(hidden.replaceAll('promote_to_manager', 'x') === unknown.replaceAll('no_such_tool_now', 'x') && hidden !== 'success', `${hidden}, ${unknown}`);
	}),
	async list_changed(s) {
		if (!s.listen) return none;
		await s.listen();
		// A session client opens its stream after the connection, so the first change may be too early.
		let changes = 0;
		for (let noticed = false; !noticed && changes < 5; ) {
			await s.call('test_trigger_tool_change', {});
			changes++;
			noticed = await s.notices.next('notifications/tools/list_changed', 1000).then(() => true, () => false);
		}
		check(s.notices.all('notifications/tools/list_changed').length > 0, 'no notification');
		const listed = (await s.tools()).some(tool => tool.name === 'transient_tool');
		check(listed === (changes % 2 === 1), `after ${changes} changes, transient_tool is ${listed ? '' : 'not '}listed`);
	},
	async subscribe(s) {
		if (!s.subscribe) return none;
		check(s.capabilities().resources?.subscribe, 'the server does not declare resources.subscribe');
		await s.subscribe('test://watched-resource');
		// As in list_changed, the first update may be too early.
		for (let i = 0, noticed = false; !noticed; i++) {
			check(i < 5, 'no notification');
			await s.call('test_trigger_resource_update', {});
			noticed = await s.notices.next('notifications/resources/updated', 1000).then(() => true, () => false);
		}
		const {uri} = s.notices.all('notifications/resources/updated')[0];
		check(uri === 'test://watched-resource', uri);
	},
	async progress(s) {
		if (!s.progress) return none;
		const reports = [];
		await s.call('test_tool_with_progress', {}, {onprogress: p => reports.push(p.progress)});
		// The SDK drops a report that it reads together with the result, which can only be the last one.
		check(['0,50', '0,50,100'].includes(reports.join()), `progress ${reports}`);
		const quick = [];
		await s.call('test_quick_progress', {}, {onprogress: p => quick.push(p.progress)});
		check(quick.join() === '1,2,3,4', `quick progress ${quick}`);
	},
	async log(s) {
		if (!s.log) return none;
		await s.log();
		await s.call('test_tool_with_logging', {});
		await s.notices.next('notifications/message');
	},
	async cancel(s) {
		if (!s.cancel) return none;
		const abort = new AbortController();
		if (s.progress) {
			const ended = await s.call('test_wait', {}, {signal: abort.signal, onprogress: () => abort.abort()}).catch(error => error);
			check(ended instanceof Error, 'the cancelled call has a result');
		} else {
			setTimeout(() => abort.abort(), 300);
			const ended = await s.call('test_wait', {}, {signal: abort.signal, abortSignal: abort.signal}).catch(error => error);
			check(ended instanceof Error, 'the cancelled call has a result');
		}
		const waited = await Promise.race([s.call('test_waited', {}),
			new Promise((_, reject) => setTimeout(() => reject(new Error('the call is not cancelled on the server')), wait).unref())]);
		check(!waited.isError, waited);
	},
	async elicit(s) {
		if (!s.elicit) return none;
		const res = await s.call('test_input_required_result_elicitation', {});
		check(!res.isError && res.content[0]?.text.includes('Hello, Ada!'), res);
	},
	async 'two rounds'(s) {
		if (!s.elicit) return none;
		const res = await s.call('test_input_required_result_multi_round', {});
		check(!res.isError && res.content[0]?.text.includes('Hello, Ada! Your color is blue.'), res);
	},
	async complete(s) {
		if (!s.complete) return none;
		const {completion} = await s.complete({ref: {type: 'ref/prompt', name: 'test_prompt_with_arguments'}, argument: {name: 'arg2', value: 'b'},
			context: {arguments: {arg1: 'a'}}});
		check(completion.values.join() === 'ab', completion);
	},
	// A task requests a form while the client polls it.
	async task(s) {
		if (!s.task) return none;
		const polled = [];
		const {kind, outcome} = await s.task('confirm_delete', {filename: 'a.txt'}, async ({kind}) => {
			check(kind === 'elicitation', kind);
			return {action: 'accept', content: {confirm: true}};
		}, status => polled.push(status));
		check(kind === 'task' && polled.includes('input_required'), `${kind}, ${polled}`);
		check(outcome.status === 'completed' && outcome.result.content[0].text === 'a.txt was deleted.', outcome);
	},
	async bearer() {
		const refused = await session(at.team, bearer('nobody'), s => s.tools()).catch(error => error);
		check(refused instanceof Error, 'a wrong token is accepted');
		const tools = await session(at.team, bearer('vera'), s => s.tools());
		check(tools.some(tool => tool.name === 'get_all'), tools);
	},
	async OAuth() {
		const person = new Person();
		const first = await clients[name](at.inventory, {authProvider: person});
		const refused = await first.connect().then(() => first.tools()).catch(error => error);
		if (!person.url) throw refused instanceof Error ? refused : new Error('the client does not sign in');
		check(new URL(person.url).searchParams.get('resource') === at.inventory, person.url);
		const answered = await person.signIn();
		if (first.transport) {
			await first.transport.finishAuth(name === 'sdk-1' ? answered.get('code') : answered);
		} else {
			const {auth} = name === 'ai-sdk' ? await import('@ai-sdk/mcp') : await import('@modelcontextprotocol/client');
			await auth(person, {serverUrl: at.inventory, authorizationCode: answered.get('code'), callbackState: answered.get('state') ?? undefined, iss: answered.get('iss') ?? undefined});
		}
		const tools = await session(at.inventory, {authProvider: person}, s => s.tools());
		check(tools.some(tool => tool.name === 'list_devices'), tools);
	},
};

const cells = {};
for (const [feature, run] of Object.entries(features)) {
	if (!run.length && !at.team) continue; // only over HTTP
	try {
		const limit = new Promise((_, reject) => setTimeout(() => reject(new Error('no answer within 30 s')), 30000).unref());
		const own = run.length ? session(at.conformance, {}, run) : run();
		cells[feature] = await Promise.race([own, limit]) === none ? 'none' : 'works';
	} catch (error) {
		cells[feature] = `error: ${error.message}`.replaceAll(/\s+/g, ' ').slice(0, 300);
	}
}
process.stdout.write(`\n${JSON.stringify({version, cells})}\n`);
process.exit(0);
