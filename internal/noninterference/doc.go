// Package noninterference looks for differences by which a caller can tell a server that hides
// something from it from a server that does not have it.
//
// A plan describes two servers. They are equal but for items that are hidden from the caller:
// tools, prompts, resources, templates and values of arguments. Such an item exists in one server
// alone, or has another description, schema or behaviour there. The same steps run against both
// servers in one bubble of testing/synctest. A step is a message of the caller, or an event such
// as a switch, a changed permission or the call of another caller. Events about hidden items may
// happen in one server alone. After each step the package waits until every goroutine waits, and
// compares all bytes that the caller has received.
//
// Package pgregory.net/rapid makes the plans and the steps, and shrinks a difference to a small
// plan with few steps. The test prints both as a scenario.
//
//	make noninterference TRACES=10000 SEED=1
package noninterference
