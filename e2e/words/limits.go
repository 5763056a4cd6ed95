package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// A folder is a part of the repository with a limit for one kind.
type folder struct {
	kind kind
	path string
}

func (f folder) String() string { return string(f.kind) + " " + f.path }

// folderOf returns the folder that a text counts for: two levels of the path, so that a file may move within them. All pages of
// documentation are one folder.
func folderOf(t text) folder {
	dir := path.Dir(t.file)
	elements := strings.Split(dir, "/")
	depth := 2
	if t.kind == docs {
		depth = 1
	}
	return folder{t.kind, path.Join(elements[:min(depth, len(elements))]...)}
}

// counts holds the matching sentences of each folder.
type counts map[folder]int

func countFolders(found []finding) counts {
	c := counts{}
	for _, f := range found {
		c[folderOf(f.text)]++
	}
	return c
}

// encode returns the file of limits: a line for each folder, sorted.
func (c counts) encode() []byte {
	var b bytes.Buffer
	b.WriteString("# Matching sentences per folder. `make words UPDATE=1` writes this file; the numbers may only fall.\n")
	for _, f := range slices.SortedFunc(maps.Keys(c), func(a, b folder) int { return cmp.Compare(a.String(), b.String()) }) {
		fmt.Fprintf(&b, "%s %d\n", f, c[f])
	}
	return b.Bytes()
}

// decode reads a file of limits.
func decode(content []byte) (counts, error) {
	c := counts{}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for n := 1; lines.Scan(); n++ {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			var f folder
			var limit int
			if _, err := fmt.Sscanf(line, "%s %s %d", &f.kind, &f.path, &limit); err != nil {
				return nil, fmt.Errorf("line %d: write KIND FOLDER COUNT, not %q", n, line)
			}
			c[f] = limit
		}
	}
	return c, lines.Err()
}

// worse returns the folders that have more matches than their limits, sorted. A folder without a limit may have none.
func (c counts) worse(limits counts) []folder {
	var list []folder
	for f, n := range c {
		if n > limits[f] {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b folder) int { return cmp.Compare(a.String(), b.String()) })
	return list
}
