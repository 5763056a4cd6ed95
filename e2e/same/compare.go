package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A difference is a script in which the programs differ.
type difference struct {
	script, text string
}

// differences compares the runs of all scripts. A command is equal if one of its outputs with the old program is one with
// the new program.
func differences(old, now logs) (all []difference) {
	for _, name := range names(old, now) {
		var text strings.Builder
		if len(old[name]) == 0 || len(now[name]) == 0 {
			fmt.Fprintf(&text, "%s: ran with one of the programs only\n", name)
		} else {
			compareScript(&text, name, old[name], now[name])
		}
		if text.Len() > 0 {
			all = append(all, difference{name, text.String()})
		}
	}
	return all
}

func compareScript(to *strings.Builder, name string, old, now []scriptLog) {
	for i := range longest(old, now) {
		before, after := at(old, i), at(now, i)
		if slices.ContainsFunc(before, func(r string) bool { return slices.Contains(after, r) }) {
			continue
		}
		longer := now[0]
		if i >= len(longer) {
			longer = old[0]
		}
		if i < len(longer) {
			fmt.Fprintf(to, "%s: %s\n", place(name, longer, i), longer[i].command)
		}
		writeMissing(to, "- ", before[0], after[0])
		writeMissing(to, "+ ", after[0], before[0])
	}
}

// writeMissing writes the lines of a text that another one lacks. The lines of both are sorted, so it need not be exact about
// their order.
func writeMissing(to *strings.Builder, sign, text, other string) {
	rest := strings.Split(other, "\n")
	for _, line := range strings.Split(text, "\n") {
		if i := slices.Index(rest, line); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		to.WriteString(sign + line + "\n")
	}
}

// place returns the file and the line of a command, or its test and its number if no file has the script.
func place(name string, log scriptLog, i int) string {
	for test, folder := range map[string]string{"TestScripts/": "script/", "TestFailures/scripts/": "failures/"} {
		base, is := strings.CutPrefix(name, test)
		path := "cmd/ccm-push/testdata/" + folder + base + ".txtar"
		text, err := os.ReadFile(path)
		if !is || err != nil {
			continue
		}
		same := 0 // commands with the same words so far
		for _, r := range log[:i+1] {
			if r.command == log[i].command {
				same++
			}
		}
		for number, line := range strings.Split(string(text), "\n") {
			if line == log[i].command {
				same--
			}
			if same == 0 {
				return fmt.Sprintf("%s:%d", path, number+1)
			}
		}
	}
	return fmt.Sprintf("%s: command %d", name, i+1)
}

// longest returns the number of commands of the longest run.
func longest(runs ...[]scriptLog) (n int) {
	for _, r := range slices.Concat(runs...) {
		n = max(n, len(r))
	}
	return n
}

// at returns the command with an index in each run, with its output.
func at(runs []scriptLog, i int) (all []string) {
	for _, r := range runs {
		text := ""
		if i < len(r) {
			text = r[i].command + "\n" + strings.Join(r[i].output, "\n")
		}
		all = append(all, text)
	}
	return all
}
