package main

import (
	"path"
	"slices"
	"strings"
)

const limitsComment = "Matching sentences per folder. `make words UPDATE=1` writes this file; the numbers may only fall."

// folderOf returns the key of the limit that a text counts for: its kind and two levels of its path, so that a file may move
// within them. All pages of documentation are one folder.
func folderOf(t text) string {
	elements := strings.Split(path.Dir(t.file), "/")
	depth := 2
	if t.kind == docs {
		depth = 1
	}
	return string(t.kind) + " " + path.Join(elements[:min(depth, len(elements))]...)
}

// countFolders returns the number of matching sentences of each folder.
func countFolders(found []finding) map[string]int {
	counts := map[string]int{}
	for _, f := range found {
		counts[folderOf(f.text)]++
	}
	return counts
}

// worse returns the folders that have more matches than their limits, sorted. A folder without a limit may have none.
func worse(counts, limits map[string]int) []string {
	var list []string
	for folder, n := range counts {
		if n > limits[folder] {
			list = append(list, folder)
		}
	}
	slices.Sort(list)
	return list
}
