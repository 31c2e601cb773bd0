// Reads a list of {pattern, texts} and writes, for each, whether the pattern matches each text, as
// a list of booleans, or the error of a pattern that JavaScript refuses with the flag u.
import fs from 'node:fs';

const verdicts = JSON.parse(fs.readFileSync(0, 'utf8')).map(({pattern, texts}) => {
	try {
		const compiled = new RegExp(pattern, 'u');
		return {matches: texts.map(text => compiled.test(text))};
	} catch (error) {
		return {error: error.message};
	}
});
process.stdout.write(JSON.stringify(verdicts));
