package main

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sleepers are functions of tests in which time passes that nothing ends earlier, and why.
var sleepers = map[string]string{
	"cmd/ccm-push-broker/broker..settle":         "the server has queues that nothing reports on",
	"cmd/ccm-push-broker/broker..loginWith":      "tries again until the server has read its new list",
	"e2e.TestFleetCertificates":                  "a certificate expires by the clock of the hosts",
	"e2e.TestFleetSemaphoreIsKept":               "a network is down for that long",
	"e2e.TestFleetArmedStaysVisible":             "a restart begins",
	"e2e.BenchmarkWatch":                         "measures what an idle controller does in a time",
	"e2e..requireIdle":                           "nothing happens in that time",
	"modules/engine/session_test.serveSession":   "another run holds the lock for that long",
	"modules/rooted.TestKilled":                  "kills a program at some moment",
	"modules/system.TestKilledProgram":           "is a program that is killed",
	"modules/system.TestCommandLogAtAnyMoment":   "kills a program at some moment",
	"playbooks.dyingFleet":                       "a host dies at some moment",
	"playbooks..stays":                           "nothing happens in that time",
	"playbooks.TestElsewhereIsDialledAgain":      "a connection is cut for that long",
	"playbooks.TestLostWhileAnotherHostWorks":    "another host works for that long",
	"playbooks.TestDeadBetweenPlays":             "a host is dead for that long",
	"playbooks.loseForGood":                      "a host is lost for that long",
	"playbooks/share.TestWayIn":                  "its table has functions that a bubble calls",
	"playbooks/workers.TestEndIsCopied":          "a server is down for that long",
	"playbooks/workers.TestDeletedLease":         "a lease is deleted at some moment",
	"playbooks/workers.TestWorkerLosesItsSite":   "no certificate is made in that time",
	"playbooks/workers.TestLostWorkerIsReported": "no worker is reported in that time",
	"playbooks/workers.TestStoppedAfterALoss":    "stops at some moment after a loss",
}

// TestNoSleep allows time.Sleep in tests only in bubbles of synctest, which have a clock of their own: elsewhere a test
// waits for a condition.
func TestNoSleep(t *testing.T) {
	var tests []source
	for _, s := range sources(t) {
		if strings.HasSuffix(s.name, "_test.go") {
			tests = append(tests, s)
		}
	}
	bubbles := map[ast.Node]bool{}  // calls that have a bubble in their arguments
	enters := map[string]bool{}     // functions that call synctest.Test
	inBubble := map[string]bool{}   // functions that bubbles call
	bodies := map[string][]string{} // calls of each function
	functions := func(s source, do func(name string, f *ast.FuncDecl)) {
		for _, decl := range s.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				name := s.pkg + "." + f.Name.Name
				if f.Recv != nil {
					name = s.pkg + ".." + f.Name.Name
				}
				do(name, f)
			}
		}
	}
	for _, s := range tests {
		functions(s, func(name string, f *ast.FuncDecl) {
			called := s.calls(f.Body)
			bodies[name] = append(bodies[name], called...)
			enters[name] = enters[name] || slices.Contains(called, "testing/synctest.Test")
		})
	}
	for more := true; more; { // functions that pass a function on to those
		more = false
		for name, called := range bodies {
			helper := !strings.Contains(name, ".Test") && !enters[name]
			if helper && slices.ContainsFunc(called, func(c string) bool { return enters[c] && !strings.Contains(c, "..") }) {
				enters[name], more = true, true
			}
		}
	}
	var reached []string
	for _, s := range tests {
		ast.Inspect(s.File, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, name := range s.calls(call.Fun) {
				if name == "testing/synctest.Test" || enters[name] {
					bubbles[call] = true
					for _, arg := range call.Args {
						reached = append(reached, s.calls(arg)...)
					}
				}
			}
			return true
		})
	}
	for len(reached) > 0 {
		name := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		if !inBubble[name] {
			inBubble[name] = true
			reached = append(reached, bodies[name]...)
		}
	}
	var found []string
	used := map[string]bool{}
	for _, s := range tests {
		functions(s, func(name string, f *ast.FuncDecl) {
			if inBubble[name] {
				return
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if bubbles[n] {
					return false
				}
				if call, ok := n.(*ast.CallExpr); ok && slices.Contains(s.calls(call.Fun), "time.Sleep") {
					short := strings.TrimPrefix(name, module+"/")
					if used[short] = true; sleepers[short] == "" {
						found = append(found, s.name+":"+strconv.Itoa(s.set.Position(n.Pos()).Line)+" "+short)
					}
				}
				return true
			})
		})
	}
	for name := range sleepers {
		require.True(t, used[name], "%s does not sleep any more: remove it from sleepers", name)
	}
	require.Empty(t, found, "wait for the condition, or test in a bubble of testing/synctest")
}
