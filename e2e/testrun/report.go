package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// An event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// A report collects the events of go test, and prints a package when it ends.
type report struct {
	to      io.Writer
	verbose bool // print the output of tests that passed, too
	output  map[string][]event
	failed  map[string]bool     // "PACKAGE TEST"
	skipped map[string][]string // "PACKAGE TEST", by reason
	results []string            // the lines of CCM_RESULTS
}

// test runs go test with -json, and tests with a temporary folder in memory, if there is one. TMPDIR and GOTMPDIR of the caller have precedence.
func test(argv []string) error {
	r := &report{to: os.Stdout, verbose: slices.Contains(argv, "-v"), output: map[string][]event{}, failed: map[string]bool{}, skipped: map[string][]string{}}
	argv = slices.DeleteFunc(slices.Insert(slices.Clone(argv), 2, "-json"), func(arg string) bool { return arg == "-v" })
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	if os.Getenv("TMPDIR") == "" && os.Getenv("GOTMPDIR") == "" {
		if dir := inMemory(); dir != "" {
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			defer os.Remove(dir) // fails if another run has files in it
		}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.read(out)
	err = cmd.Wait()
	if err != nil && len(r.failed) == 0 {
		r.results = append(r.results, "broken "+strings.Join(argv, " "))
	}
	r.summary()
	user, system := cmd.ProcessState.UserTime().Seconds(), cmd.ProcessState.SystemTime().Seconds()
	defer fmt.Fprintf(r.to, "processor time: %.0f s (user %.0f s, system %.0f s)\n", user+system, user, system)
	if path := os.Getenv("CCM_RESULTS"); path != "" && len(r.results) > 0 {
		f, openErr := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if openErr != nil {
			return openErr
		}
		defer f.Close()
		for _, line := range r.results {
			fmt.Fprintln(f, line)
		}
	}
	return err
}

func (r *report) read(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(r.to, line)
			} else {
				r.add(e)
			}
		}
		if err != nil {
			return
		}
	}
}

// marks are lines of test2json's own that say nothing of a test that failed.
var marks = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) `)

// broken matches output of failures that a second run does not cure.
var broken = regexp.MustCompile(`(?m)^(panic: |fatal error: |WARNING: DATA RACE)`)

func (r *report) add(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.to, e.Output)
	case "output":
		r.output[e.Package] = append(r.output[e.Package], e)
		if r.verbose {
			fmt.Fprint(r.to, e.Output)
		}
	case "fail":
		r.failed[e.Package+" "+e.Test] = true
	}
	if e.Test == "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
		r.finish(e.Package, e.Action == "fail")
	}
}

// finish prints a package: the output of tests that failed, then its own last line.
func (r *report) finish(pkg string, failed bool) {
	var said strings.Builder
	for _, e := range r.output[pkg] {
		if reason, ok := strings.CutPrefix(afterPlace(e.Output), needs.Prefix); ok && e.Test != "" {
			reason = strings.TrimSpace(reason)
			r.skipped[reason] = append(r.skipped[reason], pkg+" "+e.Test)
			r.results = append(r.results, "lacks "+pkg+" "+name(e.Test))
		}
		if marks.MatchString(e.Output) {
			continue
		}
		if e.Test == "" && (failed || e.Output != "PASS\n") || r.failed[pkg+" "+e.Test] {
			said.WriteString(e.Output)
		}
	}
	if !r.verbose {
		fmt.Fprint(r.to, said.String())
	}
	delete(r.output, pkg)
	if !failed {
		return
	}
	tests := r.tests(pkg)
	if len(tests) == 0 || broken.MatchString(said.String()) {
		r.results = append(r.results, "broken "+pkg)
	}
	for _, test := range tests {
		r.results = append(r.results, "fail "+pkg+" "+test)
	}
}

// tests are the tests of a package that failed, each as what can be run alone.
func (r *report) tests(pkg string) (names []string) {
	for key := range maps.Keys(r.failed) {
		if test, ok := strings.CutPrefix(key, pkg+" "); ok && test != "" {
			names = append(names, name(test))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(n string) bool {
		return scripts[n] && slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, n+"/") })
	})
}

// scripts are tests whose subtests are scripts, of which one can be run without the others.
var scripts = map[string]bool{"TestScripts": true, "TestDocs": true, "TestCCMDesign": true}

// name shortens the name of a subtest to its test, or to its script.
func name(test string) string {
	parts := strings.SplitN(test, "/", 3)
	if len(parts) > 1 && scripts[parts[0]] {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// afterPlace removes "file_test.go:12: " from a line.
var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

func afterPlace(line string) string { return line[len(place.FindString(line)):] }

// summary prints the skipped tests, by reason.
func (r *report) summary() {
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		var list []string
		for _, key := range r.skipped[reason] {
			pkg, test, _ := strings.Cut(key, " ")
			list = append(list, pkg[strings.LastIndex(pkg, "/")+1:]+"."+name(test))
		}
		slices.Sort(list)
		list = slices.Compact(list)
		more := ""
		if len(list) > 6 {
			list, more = list[:6], fmt.Sprintf(" and %d more", len(list)-6)
		}
		fmt.Fprintf(r.to, "%s%s: %s%s\n", needs.Prefix, reason, strings.Join(list, " "), more)
	}
}

// again returns lines "PACKAGE PATTERN" for go test -run, from lines "lacks PACKAGE TEST". It omits the packages in without.
func again(results string, without []string) (lines []string) {
	tests := map[string][]string{}
	for line := range strings.Lines(results) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "lacks" && !slices.Contains(without, f[1]) {
			tests[f[1]] = append(tests[f[1]], f[2])
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(tests)) {
		lines = append(lines, pkg+" "+pattern(tests[pkg]))
	}
	return lines
}

// pattern returns the argument of go test -run for tests and scripts.
func pattern(tests []string) string {
	slices.Sort(tests)
	var parts []string
	for _, test := range slices.Compact(tests) {
		parts = append(parts, "^"+strings.ReplaceAll(test, "/", "$/^")+"$")
	}
	return strings.Join(parts, "|")
}
