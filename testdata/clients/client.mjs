// Drives a server with the TypeScript SDK: version 1 (package "sdk") or 2 (package "client").
// The other arguments are the URL of the server, or its command. Version 2 negotiates 2025-11-25
// by default; with mode auto it negotiates the newest version.
const [name, ...target] = process.argv.slice(2);
const v1 = name === 'sdk';
const load = part => import(`@modelcontextprotocol/${name}${v1 ? `/client/${part}.js` : part === 'stdio' ? '/stdio' : ''}`);
const {Client} = await load('index');
const {StreamableHTTPClientTransport} = await load('streamableHttp');
const {StdioClientTransport} = await load('stdio');

const transport = target.length === 1
	? new StreamableHTTPClientTransport(new URL(target[0]))
	: new StdioClientTransport({command: target[0], args: target.slice(1), stderr: 'ignore'});
const client = new Client({name: 'clients', version: '1'}, {versionNegotiation: {mode: 'auto'}});
const call = (name, options) => client.callTool({name, arguments: {}}, ...(v1 ? [undefined, options] : [options]));

let version = client.getNegotiatedProtocolVersion?.bind(client);
if (v1) {
	const set = transport.setProtocolVersion?.bind(transport);
	transport.setProtocolVersion = v => { version = () => v; set?.(v); };
}
await client.connect(transport);
console.log(version());

const {tools} = await client.listTools();
if (!tools.some(tool => tool.name === 'test_simple_text')) throw new Error('test_simple_text is not listed');
const {content} = await call('test_simple_text');
if (!content[0].text.startsWith('This is a simple text')) throw new Error(JSON.stringify(content));

const reports = [];
await call('test_tool_with_progress', {onprogress: p => reports.push(p.progress)});
// The SDK drops a report that it reads together with the result, which can only be the last one.
if (!['0,50', '0,50,100'].includes(reports.join())) throw new Error(`progress ${reports}`);

const abort = new AbortController();
const ended = await call('test_wait', {signal: abort.signal, onprogress: () => abort.abort()}).catch(error => error);
if (!(ended instanceof Error)) throw new Error('the cancelled call has a result');
if ((await call('test_waited', {timeout: 10000})).isError) throw new Error('the handler was not cancelled');
await client.close();
