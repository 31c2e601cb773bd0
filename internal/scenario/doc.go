// Package scenario runs black-box tests of a server that are written as text: who calls, what is
// sent, what comes back, notifications, audit records and lines of the log. It is for tests alone,
// and knows nothing of the server but its HTTP handler and its stdio.
//
// A file is a txtar archive. Its first lines say what it proves. "server" configures the server,
// and all sections that begin with "steps" run in their order, in each protocol version and on each
// transport that the file lists. Each of these runs has a server of its own.
//
//	A caller cannot tell a hidden tool from one that does not exist.
//
//	-- server --
//	toolset: directory
//	versions: 2025-11-25 2026-07-28
//	transports: http stdio
//	show: audit
//	-- steps --
//	vera> tools/call (update|promote) {"id":"ada"}
//	< error -32602 unknown tool "$1"
//	audit: tool_called denied tool_name=$1 …
//	same: $1
//
// versions and transports are all of them by default; the quick run leaves some pairs out. "client"
// has the MCP capabilities that clients declare. "show" names what follows each answer: audit, log,
// debug, headers, or one header by its name. With "status" each HTTP status is shown, also 200 and
// 202. With "ids" the id of an answer is shown before its text, and with "comments" the comments of
// streams. The test reads all other lines and sections. "# " begins a comment.
//
// A step is "caller> method parameters". A caller is a name, which has one connection;
// "vera@two>" is another connection of vera. The forms of parameters are
//
//	tools/call NAME ARGUMENTS      also prompts/get
//	resources/read URI             also resources/subscribe and unsubscribe
//	tasks/get ID                   also tasks/update and tasks/cancel
//	completion/complete prompt NAME ARGUMENT VALUE     or resource URI
//	METHOD {"any":"parameters"}    as they are; "full METHOD" shows the whole result
//
// each followed by "with {…}" for further members. A request has the id 7; "as ID METHOD …" sends
// another one, as JSON. Other steps: "connect {capabilities}", "notify METHOD {…}", "send TEXT"
// for any bytes, "GET" and "DELETE". "eof" ends the input of a connection on stdio, waits until
// the server has ended its output, and shows the messages that belong to no request. "server> VERB
// TEXT" is for the test, and changes something. Lines with + after a step set a header ("+ Origin:
// x"; "a & b" sends it twice, no value removes it) or the query ("+ ?a=b"). "let NAME = TEXT"
// keeps a value for $NAME. Of a caller, $vera.session, $vera.state and $vera.cursor are the last
// ones, and so is $vera.task; of a stream, $s.event and $s.first are ids of events, and $s.stream
// is their part that names the stream.
//
// Alternatives in parentheses, (a|b), run the step once for each; $1 is the first choice. In the
// section "server" they make several servers, and [Access.Denial:forbid] limits a line to one of
// them.
//
// What a step expects follows it:
//
//	< TEXT            the answer in short: a text, JSON, "error CODE MESSAGE DATA", "tools: a b"
//	< ID: TEXT        the same with "show: ids"; the ID of an answer without one is "none"
//	* METHOD PARAMS   a notification before the answer
//	? METHOD PARAMS   a question of the server, in any version; the next line with > answers it
//	audit: … log: …   records, and lines of the log; debug: … are those of its lowest level
//	note: …           a note of the test, which is always shown
//	same: A           the step again with an unknown name in place of A, as long as A; "A -> B"
//	                  names one. The request changes, and all bytes of the answer are equal but for
//	                  the name and the ids of events.
//
// … stands for any text, and [2026-07-28], [sessions], [http] or [stdio] in front of a line limits
// it, also as [http 2026-07-28] and [!http]. A step with a tag does not wait:
// "vera#s> tools/call NAME" starts a call, and "vera#s> listen tools URI" opens a stream for
// notifications. "vera#s> status" waits for the HTTP status of the response, "next" for the next
// event, "rest" for all until the end, and "drop" ends the connection. Each run is in a bubble of
// testing/synctest: time passes while nothing else happens, and at "server> wait 10s".
//
// "go test -run TestScenarios -update" writes what came back into steps that fail.
package scenario
