// Package noninterference looks for differences by which a caller can tell a server that hides
// something from it from a server that does not have it.
//
// A plan describes two servers. They are equal but for items that are hidden from the caller:
// tools, prompts, resources, templates, values of arguments and guarded fields. Such an item exists
// in one server alone, or has another description, schema or behaviour there. The same steps run
// against both servers in one bubble of testing/synctest. A step is a message of the caller, or an
// event such as a switch, a changed permission or the call of another caller. Events about hidden
// items may happen in one server alone. After each step the package waits until every goroutine
// waits, and compares all bytes that the caller has received.
//
// A hidden field exists in the first server alone. A field that the caller may see and can lose is
// in both, and its value differs once the caller has lost the right to see the field. The values of
// all these fields are a marker. No byte that the caller receives has the marker, and no line of a
// log or an audit.
//
// Package pgregory.net/rapid makes the plans and the steps, and shrinks a difference to a small
// plan with few steps. The test prints both as a scenario.
//
//	make noninterference TRACES=10000 SEED=1
//
// In a difference, "[server 2]" stands before what one server alone has, or what happens in it
// alone. The lines "[rapid] draw" behind the difference repeat how it was drawn. A difference that
// rapid calls flaky depends on the order of goroutines: read its scenario, and run its seed again.
//
// A second property compares the work for a hidden name and for an unknown one: functions,
// allocations and queries. Its differences have no steps, and the two medians are the last lines.
//
// A plant is a fault that both have to find, in a file of its own: a sentence, an empty line, and
// the output of git diff. testdata/plants has some, and make plants PLANTS=/FOLDER runs others.
package noninterference
