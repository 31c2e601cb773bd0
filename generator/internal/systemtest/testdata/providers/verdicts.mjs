// Reads a list of {name, schema} and writes, for each, why the libraries of a provider cannot use the
// schema in strict mode, or "". The argument is the folder node_modules.
import fs from 'node:fs';
import {createRequire} from 'node:module';

const modules = process.argv[2];
const require = createRequire(`${modules}/x.js`);
const {toStrictJsonSchema} = require('openai/lib/transform');
const {transformJSONSchema} = require('@anthropic-ai/sdk/lib/transform-json-schema');
const {mcpToFunctionTool} = await import(`${modules}/@openai/agents-core/dist/mcp.mjs`);
const {GoogleGenAI, mcpToTool} = await import(`${modules}/@google/genai/dist/node/index.mjs`);
console.warn = console.error = () => {}; // the libraries log what they cannot convert

const object = value => typeof value === 'object' && value !== null && !Array.isArray(value);

function openai({name, schema}) {
	toStrictJsonSchema(schema);
	const tool = mcpToFunctionTool({name, inputSchema: schema}, {name: 'server'}, true);
	if (!tool.strict) throw new Error('agents: the conversion is not strict');
}

// The library closes each object. A schema of an object that is open on purpose is another then.
function anthropic({schema}) {
	transformJSONSchema(schema);
	(function visit(s) {
		if (!object(s)) return;
		if (s.additionalProperties !== undefined && s.additionalProperties !== false) throw new Error('an object is closed');
		if (s.additionalProperties === undefined && !Object.keys(s.properties ?? {}).length && s.type === 'object' &&
			s.$ref === undefined && s.const === undefined && !s.enum) throw new Error('an object without properties is closed');
		for (const one of [s.items, ...Object.values(s.properties ?? {}), ...Object.values(s.$defs ?? {}),
			...(s.anyOf ?? s.oneOf ?? s.allOf ?? [])]) visit(one);
	})(schema);
}

// The fields of the type Schema, from the declarations of the library.
const declared = fs.readFileSync(`${modules}/@google/genai/dist/node/node.d.ts`, 'utf8')
	.match(/export declare interface Schema \{([\s\S]*?)\n\}/)[1];
const fields = [...declared.matchAll(/^ {4}(\w+)\?: /gm)].map(field => field[1]);

async function gemini({name, schema}) {
	let sent;
	globalThis.fetch = async (url, options) => {
		sent = JSON.parse(options.body).tools[0].functionDeclarations[0];
		return new Response('{"candidates": []}', {headers: {'content-type': 'application/json'}});
	};
	await new GoogleGenAI({apiKey: 'key'}).models.generateContent({model: 'm', contents: 'text',
		config: {tools: [{functionDeclarations: [{name, parameters: schema}]}]}});
	if (sent.parametersJsonSchema) return;
	(function visit(s) {
		if (!object(s)) throw new Error('not an object');
		for (const key of Object.keys(s)) if (!fields.includes(key)) throw new Error(`Schema has no field ${key}`);
		if (s.enum?.some(value => typeof value !== 'string')) throw new Error('the enum has other values than strings');
		for (const one of [...(s.items === undefined ? [] : [s.items]), ...Object.values(s.properties ?? {}), ...(s.anyOf ?? [])]) visit(one);
	})(sent.parameters);
}

const tools = JSON.parse(fs.readFileSync(0, 'utf8'));
const verdicts = [];
for (const tool of tools) {
	const verdict = {name: tool.name};
	for (const check of [openai, anthropic, gemini]) {
		try {
			await check(structuredClone(tool));
			verdict[check.name] = '';
		} catch (error) {
			verdict[check.name] = String(error.message).slice(0, 200) || 'error';
		}
	}
	const client = {listTools: async () => ({tools: [{name: tool.name, inputSchema: tool.schema}]}), callTool() {}};
	const {functionDeclarations: [declaration]} = await mcpToTool(client).tool();
	verdict.mcpToTool = JSON.stringify(declaration.parametersJsonSchema) === JSON.stringify(tool.schema) ? '' : 'changed';
	verdicts.push(verdict);
}
process.stdout.write(JSON.stringify(verdicts));
