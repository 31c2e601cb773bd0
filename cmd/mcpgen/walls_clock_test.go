package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// shortest is the shortest time limit that a test may set outside a bubble: a busy machine can stop
// a process for seconds.
const shortest = 5 // seconds

// clockUses are the functions of tests that may read the clock, sleep or set a short time limit
// outside a bubble, each with its reason. The key is the file and the function.
var clockUses = map[string]string{
	"cmd/mcpgen/script_test.go stopwatch":                                                            "to be converted",
	"cmd/mcpgen-openapi/stubs/hostile_test.go imported":                                              "to be converted",
	"cmd/mcpgen-openapi/stubs/stubs_test.go TestDeepAndCyclic":                                       "to be converted",
	"examples/conformance/conformance_test.go start":                                                 "to be converted",
	"examples/inventory/change_test.go awaitStream":                                                  "to be converted",
	"examples/inventory/change_test.go eventually":                                                   "to be converted",
	"examples/inventory/world_test.go newWorld":                                                      "to be converted",
	"examples/team/replicas_test.go connected":                                                       "to be converted",
	"generator/emit/permissions_test.go permissions":                                                 "to be converted",
	"generator/emit/services_test.go nameCollisions":                                                 "to be converted",
	"generator/emit/services_test.go relativeRoles":                                                  "to be converted",
	"generator/schemafile/hostile_test.go TestSchemasThatMultiplyAreRefused":                         "to be converted",
	"generator/toollist/toollist_test.go TestAServerThatDoesNotAnswerEndsWithTheContext":             "to be converted",
	"internal/loader/loader_test.go counting":                                                        "to be converted",
	"internal/systemtest/replicas_test.go updatesReachAnotherReplica":                                "to be converted",
	"internal/systemtest/capability/outage_test.go TestServerFollowsItsHost":                         "to be converted",
	"internal/systemtest/console/console_test.go TestConsoleOfAServer":                               "to be converted",
	"internal/systemtest/secrettest/secrettest_test.go asTasks":                                      "to be converted",
	"internal/systemtest/secrettest/value_test.go toolset":                                           "to be converted",
	"internal/systemtest/secrettest/value_test.go lateLine":                                          "to be converted",
	"internal/systemtest/testdata/howto/audit/trail/rotation_test.go TestKeyRotation":                "to be converted",
	"internal/uritemplate/uritemplate_test.go TestTimeDoesNotRevealATemplate":                        "to be converted",
	"runtime/adoptchanges_test.go waits":                                                             "to be converted",
	"runtime/adoptchanges_test.go TestChangesOfAnAdoptedServerReachThoseWhoSeeThem":                  "to be converted",
	"runtime/adoptchanges_test.go TestCopiesOfListedToolsAreNoChange":                                "to be converted",
	"runtime/adoptchanges_test.go TestAdoptedServersWithoutChangesReportNone":                        "to be converted",
	"runtime/advice_test.go TestErrorsThatTheModelCanFixAreAddressedToIt":                            "to be converted",
	"runtime/aware_test.go TestLostPermissionIsGoneWithinTheCachePeriod":                             "to be converted",
	"runtime/aware_test.go TestHostThatFailsDeniesAndIsReportedInLogAndAuditOnly":                    "to be converted",
	"runtime/awarestart_test.go TestPermissionAwareServersThatCannotWorkDoNotStart":                  "to be converted",
	"runtime/callervalue_test.go TestAbandonedHandlerHasNoCallerValue":                               "to be converted",
	"runtime/catalogs_test.go soon":                                                                  "to be converted",
	"runtime/doors_test.go settle":                                                                   "to be converted",
	"runtime/doors_traffic_test.go doorVerifier":                                                     "to be converted",
	"runtime/doors_traffic_test.go doorTools":                                                        "to be converted",
	"runtime/doors_traffic_test.go held":                                                             "to be converted",
	"runtime/emission_test.go emitted":                                                               "to be converted",
	"runtime/expiry_test.go shortLived":                                                              "to be converted",
	"runtime/expiry_test.go TestAdoptedToolsAnswerIsWithheldOnceTheCredentialHasEnded":               "to be converted",
	"runtime/expiry_test.go TestCallsGivenUpInMiddlewareShareNothingWithTheirAnswer":                 "to be converted",
	"runtime/faults_test.go TestActivityByEitherDoorKeepsASession":                                   "to be converted",
	"runtime/faults_test.go TestIdleSessionIsGivenUpForANewOneOfItsUser":                             "to be converted",
	"runtime/faults_test.go TestDroppedConnectionCancelsWithoutSessionsOnly":                         "to be converted",
	"runtime/faults_test.go TestEndOfInputCancelsDirectCalls":                                        "to be converted",
	"runtime/faults_test.go TestLongCallsBecomeStreams":                                              "to be converted",
	"runtime/faults_test.go TestRefusalsAreNeverStreams":                                             "to be converted",
	"runtime/faults_test.go TestEventsArriveBeforeTheAnswer":                                         "to be converted",
	"runtime/faults_test.go TestPanicBehindAnEventIsAnEvent":                                         "to be converted",
	"runtime/faults_test.go TestNothingLeavesADirectCallOnceItsTokenHasExpired":                      "to be converted",
	"runtime/faults_test.go TestUserWhoDoesNotReadIsBounded":                                         "to be converted",
	"runtime/faults_test.go TestPanicOfTheLogHandlerEndsNoSession":                                   "to be converted",
	"runtime/front_test.go TestShutdownWaitsForCallsAndClosesStreams":                                "to be converted",
	"runtime/front_test.go TestShutdownCancelsWhatDoesNotEndInTime":                                  "to be converted",
	"runtime/front_test.go TestCallsStillRunningAtTheEndOfTheGraceAreAnswered":                       "to be converted",
	"runtime/front_test.go TestIdleSessionsEnd":                                                      "to be converted",
	"runtime/front_test.go TestCallMayTakeLongerThanItsBodyMay":                                      "to be converted",
	"runtime/identity_test.go TestStreamEndsWithItsToken":                                            "to be converted",
	"runtime/intent_test.go eventually":                                                              "to be converted",
	"runtime/intent_test.go TestSlowIntentIsAnsweredAsASlowRefusal":                                  "to be converted",
	"runtime/killer_test.go TestTimedOutCallIsAnsweredAndItsContextCancelled":                        "to be converted",
	"runtime/killer_test.go TestLateSuccessIsStillAnAnswer":                                          "to be converted",
	"runtime/listen_test.go TestServeEndsAfterItsRunningCalls":                                       "to be converted",
	"runtime/listen_test.go TestSecondSignalEndsServeAtOnce":                                         "to be converted",
	"runtime/listen_test.go TestFailedHandshakesAreLoggedForDebugging":                               "to be converted",
	"runtime/logger_test.go TestLogsOfConcurrentCallersNeverCross":                                   "to be converted",
	"runtime/loginfailures_test.go failUntilRefused":                                                 "to be converted",
	"runtime/loginfailures_test.go TestAddressThatFailsTooOftenIsRefusedAndAValidCredentialIsNot":    "to be converted",
	"runtime/loginfailures_test.go TestUnknownUserIsByteForByteAWrongToken":                          "to be converted",
	"runtime/loginfailures_test.go TestFailureWhoseRecordCannotBeWrittenIsAnsweredAlike":             "to be converted",
	"runtime/noninterference_test.go get":                                                            "to be converted",
	"runtime/permission_test.go TestFilesOfACallAreClosedWhenItsHandlerEnds":                         "to be converted",
	"runtime/permission_test.go TestServerDoesNotStartWithoutWhatItsToolsWereDeclaredWith":           "to be converted",
	"runtime/permission_test.go TestGrantsOfACallAreRecordedHoweverItEnds":                           "to be converted",
	"runtime/progress_test.go TestProgressIsSentWhileTheCallLastsAndNotTooOften":                     "to be converted",
	"runtime/questionend_test.go TestQuestionsEndWithTheirSession":                                   "to be converted",
	"runtime/readiness_test.go TestChecksThatMisbehaveAreFailures":                                   "to be converted",
	"runtime/record_test.go TestRecordStandsBeforeTheAnswerLeaves":                                   "to be converted",
	"runtime/record_test.go TestSinkThatDoesNotComeBackRefusesInTime":                                "to be converted",
	"runtime/resume_test.go resume":                                                                  "to be converted",
	"runtime/resume_test.go TestCallGoesOnAfterItsConnectionAndIsResumed":                            "to be converted",
	"runtime/resume_test.go waitForResponse":                                                         "to be converted",
	"runtime/resume_test.go TestStockClientResumesACall":                                             "to be converted",
	"runtime/roundtrip_test.go TestHandlerInvokedAgainIsDecidedAgain":                                "to be converted",
	"runtime/roundtrip_test.go TestServerToClientRequestsAreDecidedAgainWhenTheyReturn":              "to be converted",
	"runtime/sdkresponse_test.go TestClientThatNeverReadsIsLetGo":                                    "to be converted",
	"runtime/session_test.go opensAgain":                                                             "to be converted",
	"runtime/session_test.go TestRoomOfAnEndedSessionIsGivenBack":                                    "to be converted",
	"runtime/start_test.go TestZeroTimeoutIsTheDefault":                                              "to be converted",
	"runtime/subscribe_test.go ready":                                                                "to be converted",
	"runtime/subscribe_test.go waitForSubscriptions":                                                 "to be converted",
	"runtime/subscribe_test.go TestRevokedPermissionEndsNotificationsOfUpdates":                      "to be converted",
	"runtime/subscribe_test.go TestNoUpdateIsSentOnceTheCredentialHasEnded":                          "to be converted",
	"runtime/subscribe_test.go TestAdoptedServersHaveTheirOwnSubscriptions":                          "to be converted",
	"runtime/subscribe_test.go waitFor":                                                              "to be converted",
	"runtime/switches_test.go silent":                                                                "to be converted",
	"runtime/switches_test.go receives":                                                              "to be converted",
	"runtime/switches_test.go TestChangeBetweenTwoTokensIsSent":                                      "to be converted",
	"runtime/switches_test.go TestManyChangesOfCatalogsAreLookedAtTogether":                          "to be converted",
	"runtime/task_test.go toolset":                                                                   "to be converted",
	"runtime/task_test.go until":                                                                     "to be converted",
	"runtime/task_test.go TestTaskIsReadUntilItHasItsResult":                                         "to be converted",
	"runtime/task_test.go TestCancelledTaskStopsItsHandler":                                          "to be converted",
	"runtime/task_test.go TestTaskIsUnknownAfterItsTimeToLive":                                       "to be converted",
	"runtime/task_test.go TestTaskEndsWithTheCredentialOfItsCaller":                                  "to be converted",
	"runtime/task_test.go TestShutdownFailsTasks":                                                    "to be converted",
	"runtime/task_test.go TestTaskStartsOnceItsCallIsRecorded":                                       "to be converted",
	"runtime/task_test.go TestTasksOnStdio":                                                          "to be converted",
	"runtime/visitor_test.go TestNobodyIsLetInBesideMCPWhileTheHostDoesNotAnswer":                    "to be converted",
	"runtime/watch_test.go ready":                                                                    "to be converted",
	"runtime/watch_test.go drain":                                                                    "to be converted",
	"runtime/watch_test.go TestRefreshedPermissionsThatDifferAreSent":                                "to be converted",
	"runtime/watch_test.go TestClientThatOnlyWaitsIsNotifiedAfterTheInterval":                        "to be converted",
	"runtime/watch_test.go TestHostIsNotQueriedWithoutRequests":                                      "to be converted",
	"runtime/watch_test.go TestRequestsFindRoomWhileEverybodyIsLookedAtAgain":                        "to be converted",
	"runtime/watch_test.go TestWhoIsGoneIsNotWatched":                                                "to be converted",
	"runtime/admin/admin_test.go TestFailuresOfAllDoorsAreCountedTogether":                           "to be converted",
	"runtime/admin/api/outage_test.go TestDatabaseThatHangsIsNotWaitedForInVain":                     "to be converted",
	"runtime/admin/api/slow_test.go TestBodyThatTricklesIsCutOff":                                    "to be converted",
	"runtime/admin/api/tools_test.go eventually":                                                     "to be converted",
	"runtime/admin/api/trail_test.go TestExportThatFailsOnItsWayIsCutOff":                            "to be converted",
	"runtime/admin/api/trail_test.go TestExportLeavesTheConnectionAsItWas":                           "to be converted",
	"runtime/admin/console/slow_test.go TestFormThatIsThereIsNotWaitedForAnyMore":                    "to be converted",
	"runtime/admin/console/why_test.go ends":                                                         "to be converted",
	"runtime/audit/rotating_test.go TestRecordIsSyncedBeforeItReturnsTogetherWithThoseThatWait":      "to be converted",
	"runtime/audit/sink_test.go TestWriterThatHangsHoldsOneEventOnly":                                "to be converted",
	"runtime/audit/chain/verify_test.go TestRecordsBeforeACheckpointMayBeGoneWhereThatIsStated":      "to be converted",
	"runtime/catalog/stored/bench_test.go BenchmarkResolve":                                          "to be converted",
	"runtime/grant/race_test.go TestMain":                                                            "to be converted",
	"runtime/grant/race_test.go TestNothingOutsideIsOpenedWhileASecondProcessSwapsLinks":             "to be converted",
	"runtime/grant/stored/laws_test.go TestSamePermissionIsRenewedUnderItsOldID":                     "to be converted",
	"runtime/identity/oidc/real_test.go TestTokensOfARealProviderHold":                               "to be converted",
	"runtime/internal/bridge/adopted_test.go TestAdoptedServerHasATimeToList":                        "to be converted",
	"runtime/internal/discovery/catalogs_test.go TestChangedSwitchesApplyOnceTheSourceCanBeRead":     "to be converted",
	"runtime/internal/discovery/catalogs_test.go TestChangesOfCatalogsAreGathered":                   "to be converted",
	"runtime/internal/discovery/catalogs_test.go TestSourceThatEndsItsChangesIsFollowedAgain":        "to be converted",
	"runtime/internal/discovery/catalogs_test.go TestClosedSourceIsNeitherLoggedNorQueriedAgain":     "to be converted",
	"runtime/internal/guard/guard_test.go newGuard":                                                  "to be converted",
	"runtime/internal/guard/guard_test.go TestEventReportsWhatBecameOfACall":                         "to be converted",
	"runtime/internal/invoke/grants_test.go TestGrantsOfACallAreReportedHoweverItEnds":               "to be converted",
	"runtime/internal/invoke/isolated_test.go TestWhatAnIsolatedCallComesTo":                         "to be converted",
	"runtime/internal/notify/child_test.go emitted":                                                  "to be converted",
	"runtime/internal/notify/client_test.go attached":                                                "to be converted",
	"runtime/internal/principal/authenticate_test.go TestAuthenticatedCallerHasItsHighestRole":       "to be converted",
	"runtime/internal/principal/cache_test.go hostOf":                                                "to be converted",
	"runtime/internal/principal/failures_test.go send":                                               "to be converted",
	"runtime/internal/principal/failures_test.go TestRetryAfterGrowsByAddressAndDecays":              "to be converted",
	"runtime/internal/principal/failures_test.go TestFewFailuresAreNotRefused":                       "to be converted",
	"runtime/internal/principal/failures_test.go TestRequestWithoutACredentialIsNoFailure":           "to be converted",
	"runtime/internal/principal/failures_test.go TestRequestsWithoutACredentialAreLoggedOnceAMinute": "to be converted",
	"runtime/internal/principal/failures_test.go TestFailuresAreReportedOnceAMinute":                 "to be converted",
	"runtime/internal/principal/failures_test.go TestSinkThatFailsChangesNoAnswerAndLosesNoCount":    "to be converted",
	"runtime/internal/principal/failures_test.go TestLogHandlerThatPanicsInTheBackgroundIsContained": "to be converted",
	"runtime/internal/principal/failures_test.go TestTableOfAddressesIsBounded":                      "to be converted",
	"runtime/internal/transport/conn_test.go SetWriteDeadline":                                       "to be converted",
	"runtime/internal/transport/conn_test.go TestDeadlinesReachTheConnectionOfAHeldResponse":         "to be converted",
	"runtime/internal/transport/reply_test.go TestReplies":                                           "to be converted",
	"runtime/internal/transport/unread_test.go SetWriteDeadline":                                     "to be converted",
	"runtime/internal/transport/unread_test.go Write":                                                "to be converted",
	"runtime/mcptest/assert_test.go office":                                                          "to be converted",
	"runtime/sandbox/emission_linux_test.go init":                                                    "to be converted",
	"runtime/sandbox/handler_test.go TestErrorsSayWhatPeopleNeed":                                    "to be converted",
	"runtime/sandbox/helper_linux_test.go init":                                                      "to be converted",
	"runtime/sandbox/helper_linux_test.go TestWhyAHelperEnded":                                       "to be converted",
	"runtime/sandbox/hostile_linux_test.go init":                                                     "to be converted",
	"runtime/sandbox/hostile_linux_test.go TestACancelledCallEnds":                                   "to be converted",
	"runtime/sandbox/pool_linux_test.go leavesNothing":                                               "to be converted",
	"runtime/sandbox/pool_linux_test.go TestMaxBoundsTheCallsThatRun":                                "to be converted",
	"runtime/sandbox/pool_linux_test.go TestWithoutPIDsOfItsOwn":                                     "to be converted",
	"runtime/sandbox/pool_linux_test.go until":                                                       "to be converted",
	"runtime/sandbox/pool_linux_test.go warm":                                                        "to be converted",
	"runtime/sandbox/pool_linux_test.go BenchmarkCall":                                               "to be converted",
	"runtime/sandbox/quota_linux_test.go init":                                                       "to be converted",
	"runtime/sandbox/quota_linux_test.go TestARefusedCallDoesNotKeepAWorkspace":                      "to be converted",
	"runtime/sandbox/sandbox_linux_test.go init":                                                     "to be converted",
	"runtime/sandbox/sandbox_linux_test.go TestVariablesThatDoNotFitAnyMoreFailTheCall":              "to be converted",
	"runtime/sandbox/sandbox_linux_test.go TestWhatACallPrintsIsLogged":                              "to be converted",
	"runtime/sandbox/sandbox_linux_test.go TestErrorsOfIsolatedCallsAreTheServers":                   "to be converted",
	"runtime/sandbox/sandbox_linux_test.go benchmarkCall":                                            "to be converted",
	"runtime/sandbox/sandbox_test.go TestARateIsSpelledAsItWasDeclared":                              "to be converted",
	"runtime/sandbox/server_linux_test.go TestAServerOutlivesHostileHandlers":                        "to be converted",
	"runtime/store/audit_test.go TestEveryChangeIsRecordedWithWhoAskedForIt":                         "to be converted",
	"runtime/store/contended_test.go TestChangeThatWaitsForAnotherHoldsUpNeitherEventsNorReaders":    "to be converted",
	"runtime/store/data_test.go TestEndedContextEndsAChangeAndAQuestion":                             "to be converted",
	"runtime/store/fault_test.go TestMigrationThatIsEndedHalfwayLeavesTheDatabaseAsItWas":            "to be converted",
	"runtime/store/store_test.go TestToolsAreSwitchedOffAndOn":                                       "to be converted",
	"runtime/store/taskreplica_test.go replicaOf":                                                    "to be converted",
	"runtime/store/taskreplica_test.go readUntil":                                                    "to be converted",
	"runtime/telemetry/bench_test.go BenchmarkCallOverHTTP":                                          "to be converted",
	"testdata/bench/catalog_test.go measured":                                                        "to be converted",
	"testdata/clients/go_test.go init":                                                               "to be converted",
	"testdata/decoderoracle/decoderoracle_test.go TestDecodersAgreeWithTheirSchemas":                 "to be converted",
}

// TestWallsNoTestDependsOnTime fails for a test that sleeps, compares elapsed time or sets a time
// limit below five seconds, outside a testing/synctest bubble. Such a test fails on a busy machine.
// Wait for an event, count the work, or use a bubble.
func TestWallsNoTestDependsOnTime(t *testing.T) {
	root := testrepo.Root(t)
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."),
			d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		packages[dir] = append(packages[dir], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		for _, use := range clockUsesOf(files, packages[dir]) {
			file, err := filepath.Rel(root, use.position.Filename)
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprintf("%s %s", filepath.ToSlash(file), use.function)
			if used[key] = true; clockUses[key] == "" {
				t.Errorf("%s:%d: %s %s", file, use.position.Line, use.function, use.what)
			}
		}
	}
	for key := range clockUses {
		if !used[key] {
			t.Errorf("clockUses lists %s, which does not use the clock", key)
		}
	}
}

// TestWallsFindUsesOfTheClock checks the rule itself.
func TestWallsFindUsesOfTheClock(t *testing.T) {
	const source = `package p
func TestA(t *testing.T) {
	time.Sleep(d)
	took := time.Since(start)
	context.WithTimeout(ctx, 4*time.Second)
	context.WithTimeout(ctx, wait)
	time.After(short)
	New(Options{CallTimeout: 20 * time.Millisecond, Name: "x"})
	for time.Now().Before(end) {
	}
}
func TestB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { time.Sleep(1); inside() })
	context.WithTimeout(ctx, 5*time.Second)
	context.WithTimeout(ctx, time.Minute)
	log(1500*time.Millisecond)
	both()
	never.Sleep(1)
}
func TestC(t *testing.T) { synctest.Test(t, func(t *testing.T) { both() }) }
func inside() { time.Sleep(1); deeper() }
func deeper() { time.Sleep(1) }
func both() { time.Sleep(1) }
const short, wait = 100 * time.Millisecond, 10 * time.Second
`
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "a_test.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, use := range clockUsesOf(files, []*ast.File{f}) {
		got = append(got, fmt.Sprint(use.position.Line, " ", use.function))
	}
	want := []string{"3 TestA", "4 TestA", "5 TestA", "7 TestA", "8 TestA", "9 TestA", "23 both"}
	if !slices.Equal(got, want) {
		t.Errorf("the uses are %q, want %q", got, want)
	}
}

// clockUse is one place that depends on the clock.
type clockUse struct {
	position       token.Position
	function, what string
}

// clockScan finds the uses of the clock in the tests of one package.
type clockScan struct {
	files     *token.FileSet
	constants map[string]constant.Value // of durations, in seconds
	uses      map[string][]clockUse     // outside bubbles, by function
	outside   map[string]map[string]bool
	inside    map[string]bool // names that a bubble uses
}

// clockUsesOf returns the uses of the clock outside bubbles. A function that only bubbles call, or
// functions of this kind, is inside.
func clockUsesOf(files *token.FileSet, tests []*ast.File) []clockUse {
	s := clockScan{files, map[string]constant.Value{}, map[string][]clockUse{},
		map[string]map[string]bool{}, map[string]bool{}}
	for _, f := range tests {
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.ValueSpec); ok {
				for i, name := range c.Names {
					if i < len(c.Values) {
						if seconds := s.seconds(c.Values[i]); seconds != nil {
							s.constants[name.Name] = seconds
						}
					}
				}
			}
			return true
		})
	}
	for _, f := range tests {
		for _, d := range f.Decls {
			name := "init"
			if fn, ok := d.(*ast.FuncDecl); ok {
				name = fn.Name.Name
			}
			s.read(name, d)
		}
	}
	// callers of each function, outside bubbles, without those that are inside themselves.
	inBubble := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for name := range s.uses {
			changed = s.bubbled(name, inBubble) || changed
		}
		for name := range s.outside {
			changed = s.bubbled(name, inBubble) || changed
		}
	}
	var all []clockUse
	for name, uses := range s.uses {
		if !inBubble[name] {
			all = append(all, uses...)
		}
	}
	slices.SortFunc(all, func(a, b clockUse) int {
		if by := strings.Compare(a.position.Filename, b.position.Filename); by != 0 {
			return by
		}
		return a.position.Offset - b.position.Offset
	})
	return all
}

// bubbled notes that a function is called by bubbles alone, and reports whether that is new.
func (s *clockScan) bubbled(name string, inBubble map[string]bool) bool {
	if inBubble[name] || strings.HasPrefix(name, "Test") {
		return false
	}
	called := s.inside[name]
	for caller, names := range s.outside {
		if caller == name || !names[name] {
			continue
		}
		if !inBubble[caller] {
			return false
		}
		called = true
	}
	if called {
		inBubble[name] = true
	}
	return called
}

// read notes what one declaration uses.
func (s *clockScan) read(function string, n ast.Node) {
	if s.outside[function] == nil {
		s.outside[function] = map[string]bool{}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		use := func(what string) {
			s.uses[function] = append(s.uses[function],
				clockUse{s.files.Position(n.Pos()), function, what})
		}
		switch n := n.(type) {
		case *ast.Ident:
			s.outside[function][n.Name] = true
		case *ast.KeyValueExpr:
			if name, ok := n.Key.(*ast.Ident); ok && s.short(n.Value) {
				use("sets a short " + name.Name)
			}
		case *ast.CallExpr:
			switch called := qualified(n.Fun); called {
			case "synctest.Test":
				ast.Inspect(n, func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok {
						s.inside[name.Name] = true
					}
					return true
				})
				return false
			case "time.Sleep":
				use("sleeps")
			case "time.Since", "time.Until":
				use("reads elapsed time")
			case "context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline",
				"time.After", "time.NewTimer", "time.NewTicker", "time.Tick", "time.AfterFunc":
				if slices.ContainsFunc(n.Args, s.short) {
					use("sets a short " + called)
				}
			default:
				of, isMethod := n.Fun.(*ast.SelectorExpr)
				if !isMethod || len(n.Args) == 0 {
					break
				}
				now := isNow(of.X) || isNow(n.Args[0])
				if slices.Contains([]string{"After", "Before", "Sub", "Compare"},
					of.Sel.Name) && now {
					use("compares the time")
				}
				if of.Sel.Name == "Add" && isNow(of.X) && s.short(n.Args[0]) {
					use("sets a short deadline")
				}
			}
		}
		return true
	})
}

func isNow(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && qualified(call.Fun) == "time.Now"
}

// qualified returns package.Name of a selector.
func qualified(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// short reports whether an expression is a duration below the shortest, and above zero.
func (s *clockScan) short(e ast.Expr) bool {
	seconds := s.seconds(e)
	return seconds != nil && constant.Sign(seconds) > 0 &&
		constant.Compare(seconds, token.LSS, constant.MakeInt64(shortest))
}

var units = map[string]constant.Value{
	"time.Nanosecond":  constant.MakeFloat64(1e-9),
	"time.Microsecond": constant.MakeFloat64(1e-6),
	"time.Millisecond": constant.MakeFloat64(1e-3),
	"time.Second":      constant.MakeInt64(1),
	"time.Minute":      constant.MakeInt64(60),
	"time.Hour":        constant.MakeInt64(3600),
}

// seconds returns the value of a constant duration, and nil for any other expression.
func (s *clockScan) seconds(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.Ident:
		return s.constants[e.Name]
	case *ast.SelectorExpr:
		return units[qualified(e)]
	case *ast.ParenExpr:
		return s.seconds(e.X)
	case *ast.BinaryExpr:
		x, y := s.seconds(e.X), s.seconds(e.Y)
		if x == nil && y == nil || e.Op != token.MUL && e.Op != token.QUO {
			return nil
		}
		if x == nil {
			x = number(e.X)
		}
		if y == nil {
			y = number(e.Y)
		}
		if x.Kind() == constant.Unknown || y.Kind() == constant.Unknown {
			return nil
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	return nil
}

// number returns the value of a literal, without which it is unknown.
func number(e ast.Expr) constant.Value {
	if l, ok := e.(*ast.BasicLit); ok && (l.Kind == token.INT || l.Kind == token.FLOAT) {
		return constant.MakeFromLiteral(l.Value, l.Kind, 0)
	}
	return constant.MakeUnknown()
}
