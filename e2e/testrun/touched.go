package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// touched returns "./FOLDER PATTERN" for the tests that changed after a commit, in the work tree dir. A change outside
// of tests touches all tests of its file.
func touched(dir, commit string) (lines []string, err error) {
	cmd := exec.Command("git", "-C", dir, "diff", "-U0", "--no-ext-diff", "--no-renames", "--relative", commit, "--", "*_test.go", "*.txtar")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	file, changed := "", map[string][][2]int{}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			file = strings.TrimPrefix(name, "b/") // "/dev/null" has no tests
		} else if m := hunk.FindStringSubmatch(line); m != nil {
			from, _ := strconv.Atoi(m[1])
			count := 1
			if m[2] != "" {
				count, _ = strconv.Atoi(m[2])
			}
			changed[file] = append(changed[file], [2]int{from, from + max(count, 1) - 1})
		}
	}
	tests := map[string][]string{}
	for file, ranges := range changed {
		if script, ok := strings.CutSuffix(path.Base(file), ".txtar"); ok {
			if folder, ok := strings.CutSuffix(path.Dir(file), "/testdata/script"); ok {
				tests[folder] = append(tests[folder], "TestScripts/"+script)
			}
			continue
		}
		if path.Base(file) == "null" {
			continue
		}
		found, err := testsAt(filepath.Join(dir, file), ranges)
		if err != nil {
			return nil, err
		}
		tests[path.Dir(file)] = append(tests[path.Dir(file)], found...)
	}
	for _, folder := range slices.Sorted(maps.Keys(tests)) {
		if len(tests[folder]) > 0 {
			lines = append(lines, fmt.Sprintf("./%s %s", folder, pattern(tests[folder])))
		}
	}
	return lines, nil
}

// testsAt returns the tests of a file that have lines in the ranges, and all of them if a range has lines elsewhere.
func testsAt(file string, ranges [][2]int) (names []string, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []string
	hit := map[string]bool{}
	inside := make([]bool, len(ranges))
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
			continue
		}
		all = append(all, f.Name.Name)
		begin := f.Pos()
		if f.Doc != nil {
			begin = f.Doc.Pos()
		}
		from, to := set.Position(begin).Line, set.Position(f.End()).Line
		for i, r := range ranges {
			if r[1] >= from && r[0] <= to {
				hit[f.Name.Name], inside[i] = true, true
			}
		}
	}
	if slices.Contains(inside, false) {
		return all, nil
	}
	return slices.Sorted(maps.Keys(hit)), nil
}
